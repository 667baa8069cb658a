"""The door before what the second port tells: metrics and the status page."""

import base64
import binascii
from dataclasses import dataclass
from http import HTTPStatus

from navi.core.clock import Clock
from navi.core.errors import PermissionDenied, Unauthenticated
from navi.server.security.callers import KnownCallers, bearer, known_callers
from navi.server.security.reloaded import Reloaded
from navi.server.settings import ServerSettings

CHALLENGE = ("WWW-Authenticate", 'Basic realm="navi", charset="UTF-8"')
"""Browsers ask for a name and a password by it: the token is the password."""


@dataclass(frozen=True, slots=True)
class SiteDoor:
    """callers: None where anyone may look. Safe to use from many threads."""

    callers: Reloaded[KnownCallers] | None
    clock: Clock

    @classmethod
    def of(cls, settings: ServerSettings, clock: Clock) -> "SiteDoor":
        """ConfigError where the file of callers cannot be read."""
        return cls(None if settings.http_open else known_callers(settings, clock), clock)

    def refusal(self, authorization: str) -> tuple[HTTPStatus, str] | None:
        """Why who sends this `Authorization` header may not look; None where they may."""
        if self.callers is None:
            return None
        try:
            identity = self.callers.get().by_token(_token(authorization), self.clock.time())
            identity.check("observe", "metrics and the status page")
        except Unauthenticated as error:
            return HTTPStatus.UNAUTHORIZED, str(error)
        except PermissionDenied as error:
            return HTTPStatus.FORBIDDEN, str(error)
        return None


def _token(authorization: str) -> str:
    scheme, _, rest = authorization.partition(" ")
    if scheme.lower() != "basic":
        return bearer(authorization)
    try:
        return base64.b64decode(rest, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError) as error:
        raise Unauthenticated("authorization: is damaged") from error
