"""From a token or a certificate to who has it."""

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from navi.core.clock import Clock
from navi.core.errors import PermissionDenied, Unauthenticated
from navi.server.security.callers_file import CallerEntry, read_callers
from navi.server.security.reloaded import Heard, Reloaded, ignored
from navi.server.security.roles import Role
from navi.server.settings import ServerSettings

_BUCKET = len("sha256:") + 8


@dataclass(frozen=True, slots=True)
class Identity:
    """Who calls, as shown by a token or a certificate. name: empty for a certificate that stands for no caller."""

    name: str
    roles: frozenset[Role]

    def check(self, role: Role, what: str) -> None:
        """PermissionDenied where the role is not among this caller's. what: what it wants to do, for the message."""
        if role not in self.roles:
            who = f"caller {self.name!r}" if self.name else "a caller by certificate alone"
            raise PermissionDenied(f"{who} may not use {what}: it needs the role {role!r}")


@dataclass(frozen=True, slots=True)
class KnownCallers:
    """Immutable. tokens: entries by the first digits of their digests."""

    tokens: Mapping[str, Sequence[CallerEntry]]
    certificates: Mapping[str, CallerEntry]

    @classmethod
    def of(cls, entries: Iterable[CallerEntry]) -> "KnownCallers":
        tokens: dict[str, list[CallerEntry]] = {}
        certificates = {}
        for entry in entries:
            if entry.token is not None:
                tokens.setdefault(entry.token[:_BUCKET], []).append(entry)
            if entry.certificate is not None:
                certificates[entry.certificate] = entry
        return cls(tokens, certificates)

    def by_token(self, token: str, now: float) -> Identity:
        """Whose token it is; Unauthenticated for one that nobody has, or whose time is over. now: since the epoch.

        Digests are compared in constant time; their first digits, by which they are found, tell nothing of a token.
        """
        digest = digest_of(token)
        for entry in self.tokens.get(digest[:_BUCKET], ()):
            if hmac.compare_digest(entry.token or "", digest):
                return _current(entry, now, "the token")
        raise Unauthenticated("authorization: the token is not known here")

    def by_certificate(self, names: Iterable[str], now: float) -> Identity:
        """Whom a verified certificate's names stand for; Unauthenticated where it is nobody."""
        for name in names:
            entry = self.certificates.get(name)
            if entry is not None:
                return _current(entry, now, "the right to come by this certificate")
        raise Unauthenticated(
            "authorization: no token was given (`authorization: Bearer TOKEN`), and the certificate is no caller's"
        )


def known_callers(settings: ServerSettings, clock: Clock, heard: Heard = ignored) -> Reloaded[KnownCallers] | None:
    """Those of the settings' file, read again when it changes; None where the settings name none."""
    if not settings.tokens_file:
        return None
    path = Path(settings.tokens_file)
    return Reloaded([path], lambda: KnownCallers.of(read_callers(path)), clock, heard=heard)


def bearer(authorization: str | bytes) -> str:
    """The token of an `authorization` value; Unauthenticated for one of another scheme."""
    scheme, _, token = str(authorization).partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("authorization: is not of the form `Bearer TOKEN`")
    return token.strip()


def digest_of(token: str) -> str:
    """What the file holds in place of a token."""
    return "sha256:" + hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def _current(entry: CallerEntry, now: float, what: str) -> Identity:
    if entry.expires is not None and entry.expires.timestamp() <= now:
        raise Unauthenticated(f"authorization: {what} has expired")
    return Identity(entry.name, entry.roles)
