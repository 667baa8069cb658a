"""Turning words of a command line into keys, features and times."""

from datetime import UTC, datetime

import typer

from navi.core.ids import Key


def key_of(word: str) -> Key:
    """An integer where the word is one, otherwise the word; quote digits (`'"42"'`) to keep them text."""
    if len(word) >= 2 and word[0] == word[-1] == '"':
        return word[1:-1]
    try:
        return int(word)
    except ValueError:
        return word


def keys_of(words: str) -> list[Key]:
    """Comma-separated keys."""
    return [key_of(word.strip()) for word in words.split(",") if word.strip()]


def features_of(words: list[str]) -> dict[str, bool | int | float | str]:
    """`name=value` words as features: true/false, whole numbers, numbers, otherwise text."""
    features: dict[str, bool | int | float | str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{word!r} is not of the form name=value")
        features[name] = _value(value)
    return features


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


def _value(word: str) -> bool | int | float | str:
    if word in ("true", "false"):
        return word == "true"
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return key_of(word)  # quoted text
