"""The server's certificates: read from files, checked, and read again when they change."""

import ssl
from functools import partial
from pathlib import Path
from threading import Lock

import grpc

from navi.core.clock import Clock
from navi.core.errors import ConfigError
from navi.server.metrics import Metrics
from navi.server.security.reloaded import Reloaded
from navi.server.settings import ServerSettings


def server_credentials(settings: ServerSettings, clock: Clock, metrics: Metrics) -> grpc.ServerCredentials | None:
    """What the gRPC port is opened with; None where the settings name no certificate.

    Files are looked at for each new connection; open connections keep what they began with. Raises ConfigError where
    the files do not do.
    """
    if not settings.tls_certificate:
        return None
    paths = [Path(name) for name in (settings.tls_certificate, settings.tls_key, settings.tls_client_ca) if name]
    heard = partial(metrics.reloaded, "tls")
    read = partial(_read, settings)
    fetched = _Fetched(Reloaded(paths, read, clock, heard=heard, every_s=0.0))
    return grpc.dynamic_ssl_server_credentials(
        fetched.first,
        fetched,  # type: ignore[arg-type]  # None is not in its stubs, but in its documentation
        require_client_authentication=bool(settings.tls_client_ca),
    )


class _Fetched:
    """What gRPC asks at each new connection, on threads of its own; it takes None for "as before"."""

    def __init__(self, source: Reloaded[grpc.ServerCertificateConfiguration]) -> None:
        self._source = source
        self._lock = Lock()
        self._given = self.first = source.get()

    def __call__(self) -> grpc.ServerCertificateConfiguration | None:
        found = self._source.get()
        with self._lock:
            if found is self._given:
                return None
            self._given = found
        return found


def _read(settings: ServerSettings) -> grpc.ServerCertificateConfiguration:
    certificate = _bytes("tls_certificate", settings.tls_certificate)
    key = _bytes("tls_key", settings.tls_key)
    authorities = _bytes("tls_client_ca", settings.tls_client_ca) if settings.tls_client_ca else None
    _check(settings)
    return grpc.ssl_server_certificate_configuration([(key, certificate)], authorities)


def _bytes(field: str, name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise ConfigError(field, f"{name} cannot be read: {error.strerror}") from error


def _check(settings: ServerSettings) -> None:
    """What gRPC would only find out at the first connection."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(settings.tls_certificate, settings.tls_key, password="")
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        problem = f"{settings.tls_certificate} and {settings.tls_key} are no certificate (PEM) and its unencrypted key"
        raise ConfigError("tls_certificate", problem) from error
    if settings.tls_client_ca:
        try:
            context.load_verify_locations(settings.tls_client_ca)
        except (OSError, ValueError) as error:
            raise ConfigError("tls_client_ca", f"{settings.tls_client_ca} holds no certificates (PEM)") from error
