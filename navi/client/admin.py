"""What operators ask of a server's models."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from google.protobuf.message import Message

from navi.client.channel import Channel
from navi.core.model_state import ModelInfo
from navi.wire.admin_codec import decode_model
from navi.wire.v1 import admin_pb2

M = TypeVar("M", bound=Message)

_SERVICE = "/navi.v1.AdminService"


@dataclass(frozen=True, slots=True)
class Models:
    """The models of a server. timeout_s: what loading may take.

    Changes hold for all processes of the server, and outlive them; each gives the model as it is afterwards. Raises
    errors of the tree, as `Client` does: InvalidArgument, NotFound, and ModelError or BundleError with the reason for
    which a version cannot serve; nothing has changed then.
    """

    channel: Channel
    timeout_s: float = 120.0

    def list(self, model: str = "") -> list[ModelInfo]:
        """All models, or one."""
        reply = self._call("List", admin_pb2.ListRequest(model=model), admin_pb2.ListResponse)
        return [decode_model(each) for each in reply.models]

    def load(self, model: str, version: int = 0, *, aside: bool = False) -> ModelInfo:
        """Let a version serve (0: the newest), or keep it loaded aside."""
        return self._changed("Load", admin_pb2.LoadRequest(model=model, version=version, aside=aside))

    def unload(self, model: str, version: int) -> ModelInfo:
        return self._changed("Unload", admin_pb2.UnloadRequest(model=model, version=version))

    def set_label(self, model: str, label: str, version: int = 0) -> ModelInfo:
        """0 takes the label away."""
        return self._changed("SetLabel", admin_pb2.SetLabelRequest(model=model, label=label, version=version))

    def set_split(self, model: str, shares: Mapping[str, float]) -> ModelInfo:
        """Send shares of the keys to labelled versions."""
        return self._changed("SetSplit", admin_pb2.SetSplitRequest(model=model, shares=shares))

    def set_shadow(self, model: str, version: int = 0, share: float = 0.0) -> ModelInfo:
        """Let a version answer a share of the requests once more, for comparison; 0: none does."""
        return self._changed("SetShadow", admin_pb2.SetShadowRequest(model=model, version=version, share=share))

    def roll_back(self, model: str) -> ModelInfo:
        """Let the version serve again that served before."""
        return self._changed("Rollback", admin_pb2.RollbackRequest(model=model))

    def _changed(self, method: str, request: Message) -> ModelInfo:
        return decode_model(self._call(method, request, admin_pb2.ModelResponse).model)

    def _call(self, method: str, request: Message, reply: type[M]) -> M:
        return self.channel.call(f"{_SERVICE}/{method}", request, reply, self.timeout_s)
