"""The gate before every gRPC method: who calls, and whether they may."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from inspect import isasyncgen
from typing import Any, TypeAlias, cast

import grpc

from navi.core.clock import Clock
from navi.core.errors import CallerError, Unauthenticated
from navi.server.metrics import Metrics
from navi.server.security.callers import Identity, KnownCallers, bearer, known_callers
from navi.server.security.reloaded import Reloaded
from navi.server.security.roles import role_of
from navi.server.settings import ServerSettings, is_loopback
from navi.server.status import refusal_of

_LOG = logging.getLogger(__name__)

Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]
Admit: TypeAlias = Callable[[Context], Identity | None]
"""Who calls, None where nobody is asked; Unauthenticated or PermissionDenied for who may not."""

_CERTIFIED = Identity("", frozenset({"call"}))
"""Who has a certificate of the right authority, where no file says who is who."""


@dataclass(frozen=True, slots=True)
class Gate:
    """callers: None where no file names them. certified: whether every connection has shown a certificate."""

    callers: Reloaded[KnownCallers] | None
    certified: bool
    clock: Clock
    metrics: Metrics

    @classmethod
    def of(cls, settings: ServerSettings, clock: Clock, metrics: Metrics) -> "Gate":
        """ConfigError where the file of callers cannot be read."""
        heard = partial(metrics.reloaded, "tokens")
        if settings.tokens_file and not settings.tls_certificate and not is_loopback(settings.address):
            _LOG.warning(
                "tokens travel in the clear to %s: set tls_certificate, or put TLS before it", settings.address
            )
        return cls(known_callers(settings, clock, heard), bool(settings.tls_client_ca), clock, metrics)

    @property
    def closed(self) -> bool:
        """Whether callers have to show who they are."""
        return self.certified or self.callers is not None

    def admit(self, path: str) -> Admit:
        """What to ask of the calls of a method, `/package.Service/Method`."""
        role, method = role_of(path), path.rpartition("/")[2]
        if role == "" or not self.closed:
            return lambda _context: None

        def admit(context: Context) -> Identity:
            identity = self._identity(context)
            identity.check(role, method)
            return identity

        return admit

    def stream(self, path: str, handler: "grpc.RpcMethodHandler[Any, Any]") -> "grpc.RpcMethodHandler[Any, Any]":
        """A bidirectional method behind the gate: a stream of who may not is ended before any of it is read."""
        if not self.closed:
            return handler
        admit, behave = self.admit(path), cast("Callable[..., Any]", handler.stream_stream)
        method = path.rpartition("/")[2]

        async def guarded(requests: Any, context: Context) -> None:
            try:
                admit(context)
            except CallerError as error:
                refusal = refusal_of(error)
                self.metrics.turned_away(method, refusal.code.name)
                await context.abort(refusal.code, refusal.message, refusal.metadata)
            answers: Any = behave(requests, context)
            if isasyncgen(answers):
                async for answer in answers:
                    await context.write(answer)
            else:
                await answers

        return grpc.stream_stream_rpc_method_handler(guarded, handler.request_deserializer, handler.response_serializer)

    def _identity(self, context: Context) -> Identity:
        if self.callers is None:
            return _CERTIFIED
        given = next((value for name, value in context.invocation_metadata() or () if name == "authorization"), None)
        if given is not None:
            return self.callers.get().by_token(bearer(given), self.clock.time())
        if self.certified:
            return self.callers.get().by_certificate(_names(context), self.clock.time())
        raise Unauthenticated("authorization: no token was given; send one as `authorization: Bearer TOKEN`")


def _names(context: Context) -> Iterable[str]:
    """The names of the client's verified certificate."""
    found = context.auth_context()
    names = found.get("x509_subject_alternative_name") or found.get("x509_common_name") or ()
    return [name.decode("utf-8", "replace") for name in names]
