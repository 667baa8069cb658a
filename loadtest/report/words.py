"""Numbers as a reader says them: three digits and a unit, a dash where there is none."""

import math

NONE = "\u2013"
SPACE = "\u00a0"
"""Between a number and its unit, so that no line ends there."""


def duration(seconds: float, *, short: bool = False) -> str:
    """Seconds as `850 µs`, `5.02 ms` or `1.00 s`, and `1 s` where `short`; a dash for NaN."""
    if not math.isfinite(seconds):
        return NONE
    size = abs(seconds)
    unit, scale = ("s", 1.0) if size >= 0.9995 or not size else ("ms", 1e3) if size >= 0.0009995 else ("µs", 1e6)
    text = _three(seconds * scale)
    return f"{_short(text) if short else text}{SPACE}{unit}"


def tick(seconds: float) -> str:
    """Seconds at a round place of an axis."""
    return duration(seconds, short=True) if seconds else "0"


def count(number: float) -> str:
    """Whole, with commas between thousands."""
    return f"{number:,.0f}" if math.isfinite(number) else NONE


def rate(number: float) -> str:
    """Calls a second."""
    if not math.isfinite(number):
        return NONE
    return f"{number:,.0f}" if abs(number) >= 100 else _short(_three(number))


def percent(share: float) -> str:
    """A share of one. Digits are kept where a rare error, or a last missing call, would be rounded away."""
    if not math.isfinite(share):
        return NONE
    rest = min(abs(share), abs(1 - share)) * 100
    digits = 1 - min(math.floor(math.log10(rest) + 1e-6), 0) if 0 < rest < 1 else 1
    return f"{_short(f'{share * 100:,.{digits}f}')}{SPACE}%"


def printable(text: str, limit: int) -> str:
    """One line of at most `limit` characters, without control characters: what may stand in a drawing."""
    clean = "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
    return clean if len(clean) <= limit else f"{clean[: limit - 1]}…"


def _three(number: float) -> str:
    if number == 0:
        return "0"
    rounded = float(f"{number:.3g}")
    digits = max(2 - math.floor(math.log10(abs(rounded)) + 1e-9), 0)
    return f"{number:,.{digits}f}"


def _short(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
