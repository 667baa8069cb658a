"""The file of callers: who has which token or certificate, and what each may do."""

import tomllib
from collections.abc import Iterable
from pathlib import Path

from pydantic import AwareDatetime, Field, ValidationError, model_validator

from navi.core.errors import ConfigError
from navi.features.inputs import Strict
from navi.server.security.roles import Role

FIELD = "tokens_file"


class CallerEntry(Strict):
    """One `[[caller]]`. A caller may have several, as while a token is replaced by another."""

    name: str = Field(pattern=r"^[a-z0-9_.-]{1,40}$", description="What metrics and quotas know the caller by.")
    roles: frozenset[Role] = Field(min_length=1, description="What it may do.")
    token: str | None = Field(
        default=None,
        pattern=r"^sha256:[0-9a-f]{64}$",
        description="Digest of its token, as `navi token new` prints it. A token is long and random, so needs no salt.",
    )
    certificate: str | None = Field(
        default=None, min_length=1, description="A name (SAN; CN where there is none) of its client certificate."
    )
    expires: AwareDatetime | None = Field(default=None, description="When the entry stops to hold; absent: never.")

    @model_validator(mode="after")
    def _known_by_something(self) -> "CallerEntry":
        if (self.token is None) == (self.certificate is None):
            raise ValueError("needs `token` or `certificate`, one of them")
        return self


class CallersFile(Strict):
    """The whole file."""

    caller: tuple[CallerEntry, ...] = Field(min_length=1)


def read_callers(path: Path) -> tuple[CallerEntry, ...]:
    """The entries of a TOML file; ConfigError where it is not right, without a word of what stands in it."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(FIELD, f"{path} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(FIELD, f"{path} is no TOML") from error
    try:
        entries = CallersFile.model_validate(raw).caller
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ConfigError(FIELD, f"{path}: {place}: {first['msg']}") from None
    _check_distinct(path, (entry.token for entry in entries), "token")
    _check_distinct(path, (entry.certificate for entry in entries), "certificate")
    return entries


def _check_distinct(path: Path, values: Iterable[str | None], what: str) -> None:
    seen: set[str] = set()
    for position, value in enumerate(values):
        if value is not None and value in seen:
            raise ConfigError(FIELD, f"{path}: caller.{position}.{what}: is another caller's, too")
        seen.add(value or "")
