"""How a client shows who it is, and knows whom it talks to."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import grpc

from navi.core.errors import InvalidArgument

Options: TypeAlias = Sequence[tuple[str, str | int]]

_TOKEN = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """token: what `navi token new` printed. ca: PEM file of the authorities that the server's certificate may be of.

    certificate, key: PEM files of the client's own, for servers that ask for one. tls: whether calls are encrypted even
    where no file is named: the server's certificate is then of an authority that gRPC knows. InvalidArgument for a
    token that cannot be one.
    """

    token: str = field(default="", repr=False)
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    tls: bool = False

    def __post_init__(self) -> None:
        if self.token and not _TOKEN.fullmatch(self.token):
            raise InvalidArgument("token", "is not of printable ASCII without spaces")

    @classmethod
    def of_environment(cls) -> "Credentials":
        """From NAVI_TOKEN, NAVI_CA, NAVI_CERTIFICATE and NAVI_KEY, and NAVI_TLS where it is not empty."""
        paths = {name: Path(found) for name in ("ca", "certificate", "key") if (found := _environment(name))}
        return cls(token=_environment("token"), tls=bool(_environment("tls")), **paths)

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What goes along with each call."""
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()

    def channel(self, target: str, options: Options) -> grpc.Channel:
        """InvalidArgument where a file cannot be read."""
        secure = self._secure()
        return grpc.secure_channel(target, secure, options) if secure else grpc.insecure_channel(target, options)

    def aio_channel(self, target: str, options: Options) -> grpc.aio.Channel:
        """The same for asyncio."""
        secure = self._secure()
        if secure is None:
            return grpc.aio.insecure_channel(target, options=options)
        return grpc.aio.secure_channel(target, secure, options=options)

    def _secure(self) -> grpc.ChannelCredentials | None:
        if (self.certificate is None) != (self.key is None):
            raise InvalidArgument("certificate", "belongs together with its key")
        if not (self.tls or self.ca or self.certificate):
            return None
        return grpc.ssl_channel_credentials(
            _read("ca", self.ca), _read("key", self.key), _read("certificate", self.certificate)
        )


def _environment(name: str) -> str:
    return os.environ.get(f"NAVI_{name.upper()}", "")


def _read(field_name: str, path: Path | None) -> bytes | None:
    try:
        return None if path is None else path.read_bytes()
    except OSError as error:
        raise InvalidArgument(field_name, f"{path} cannot be read: {error.strerror}") from error
