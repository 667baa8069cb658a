"""Turning words of a command line into keys and features."""

from collections.abc import Iterable

from navi.core.errors import InvalidArgument
from navi.core.ids import Key


def key_of(word: str) -> Key:
    """An integer where the word is one, otherwise the word; quote digits (`'"42"'`) to keep them text."""
    if len(word) >= 2 and word[0] == word[-1] == '"':
        return word[1:-1]
    try:
        return int(word)
    except ValueError:
        return word


def features_of(words: Iterable[str]) -> dict[str, bool | int | float | str]:
    """`name=value` words as features: true/false, whole numbers, numbers, otherwise text.

    InvalidArgument for a word of another form.
    """
    features: dict[str, bool | int | float | str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise InvalidArgument("feature", f"{word!r} is not of the form name=value")
        features[name] = _value(value)
    return features


def _value(word: str) -> bool | int | float | str:
    if word in ("true", "false"):
        return word == "true"
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return key_of(word)  # quoted text
