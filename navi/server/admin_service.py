"""`navi.v1.AdminService`: an operator's wishes, in and out of messages."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from navi.bundle.live_admin import LiveAdmin
from navi.core.errors import InvalidArgument
from navi.core.model_state import ModelInfo, ShadowInfo
from navi.server.call import Call, Handler
from navi.wire.admin_codec import encode_model
from navi.wire.buffers import parse
from navi.wire.v1 import admin_pb2

SERVICE = admin_pb2.DESCRIPTOR.services_by_name["AdminService"].full_name


@dataclass(frozen=True, slots=True)
class AdminService:
    """shadow: how the answers of a model's shadow compare; None where it has none."""

    admin: LiveAdmin
    shadow: Callable[[str], ShadowInfo | None]

    @property
    def methods(self) -> dict[str, Handler]:
        return {
            "List": self.list,
            "Load": self.load,
            "Unload": self.unload,
            "SetLabel": self.set_label,
            "SetSplit": self.set_split,
            "SetShadow": self.set_shadow,
            "Rollback": self.roll_back,
        }

    def list(self, request: bytes, call: Call) -> bytes:  # noqa: ARG002 - as every handler
        message = parse(admin_pb2.ListRequest, request)
        models = [encode_model(self._whole(model)) for model in self.admin.models(message.model)]
        return admin_pb2.ListResponse(models=models, mode=self.admin.mode).SerializeToString()

    def load(self, request: bytes, call: Call) -> bytes:
        message = parse(admin_pb2.LoadRequest, request)
        self.admin.load(message.model, message.version or None, call.deadline, aside=message.aside)
        return self._now(message.model)

    def unload(self, request: bytes, call: Call) -> bytes:
        message = parse(admin_pb2.UnloadRequest, request)
        if not message.version:
            raise InvalidArgument("version", "is missing: a version is unloaded, not a model")
        self.admin.unload(message.model, message.version, call.deadline)
        return self._now(message.model)

    def set_label(self, request: bytes, call: Call) -> bytes:
        message = parse(admin_pb2.SetLabelRequest, request)
        self.admin.set_label(message.model, message.label, message.version or None, call.deadline)
        return self._now(message.model)

    def set_split(self, request: bytes, call: Call) -> bytes:
        message = parse(admin_pb2.SetSplitRequest, request)
        self.admin.set_split(message.model, dict(message.shares), call.deadline)
        return self._now(message.model)

    def set_shadow(self, request: bytes, call: Call) -> bytes:
        message = parse(admin_pb2.SetShadowRequest, request)
        self.admin.set_shadow(message.model, message.version or None, message.share, call.deadline)
        return self._now(message.model)

    def roll_back(self, request: bytes, call: Call) -> bytes:
        message = parse(admin_pb2.RollbackRequest, request)
        self.admin.roll_back(message.model, call.deadline)
        return self._now(message.model)

    def _now(self, name: str) -> bytes:
        [model] = self.admin.models(name)
        return admin_pb2.ModelResponse(model=encode_model(self._whole(model))).SerializeToString()

    def _whole(self, model: ModelInfo) -> ModelInfo:
        return replace(model, shadow=self.shadow(model.name))
