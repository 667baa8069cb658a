"""Turning words of a command line into keys, features and times."""

from datetime import UTC, datetime

import typer

from navi.core.ids import Key
from navi.core.words import features_of, key_of

__all__ = ["features_of", "key_of", "keys_of", "time_of"]


def keys_of(words: str) -> list[Key]:
    """Comma-separated keys."""
    return [key_of(word.strip()) for word in words.split(",") if word.strip()]


def time_of(word: str | None) -> float | None:
    """Seconds since the epoch from seconds, or from an ISO 8601 time (UTC where it names no zone)."""
    if word is None:
        return None
    try:
        return float(word)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(word)
    except ValueError:
        raise typer.BadParameter(f"{word!r} is neither seconds since the epoch nor an ISO 8601 time") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
