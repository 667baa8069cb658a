"""Numbers as a person reads them."""

from navi.server.page.histogram import Estimate

NOTHING = "\u2013"
"""Stands where there is no number, as opposed to a zero."""

_TIMES = ((60.0, 1.0, "s"), (1.0, 1.0, "s"), (1e-3, 1e3, "ms"), (0.0, 1e6, "µs"))
_SIZES = ("B", "KiB", "MiB", "GiB", "TiB")


def count(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if float(value).is_integer() or abs(value) >= 100 else f"{value:,.1f}"


def seconds(value: float | None) -> str:
    """A duration with three digits: 850 µs, 2.45 ms, 1.20 s."""
    if value is None:
        return NOTHING
    factor, unit = next((factor, unit) for least, factor, unit in _TIMES if value >= least)
    scaled = value * factor
    digits = max(0, 3 - len(str(int(scaled)))) if scaled else 0
    return f"{scaled:.{digits}f} {unit}"


def estimate(value: Estimate | None) -> str:
    if value is None:
        return NOTHING
    return f"> {seconds(value.value)}" if value.at_least else seconds(value.value)


def age(value: float) -> str:
    """A long time in its two largest units: 3 d 4 h, 12 min 5 s."""
    left, parts = int(max(value, 0)), list[str]()
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        whole, left = divmod(left, size)
        if whole or parts or unit == "s":
            parts.append(f"{whole} {unit}")
    return " ".join(parts[:2])


def span(value: float) -> str:
    """A short time in seconds, a long one in its largest units."""
    return f"{max(value, 1):.0f} s" if value < 600 else age(value)


def size(value: float | None) -> str:
    if value is None:
        return NOTHING
    step = 0
    while value >= 1024 and step < len(_SIZES) - 1:
        value, step = value / 1024, step + 1
    return f"{value:.{0 if step == 0 or value >= 100 else 1}f} {_SIZES[step]}"


def share(part: float, whole: float) -> str:
    """In percent; never a round 0 % or 100 % of what is not quite so."""
    if not whole:
        return NOTHING
    percent = 100 * part / whole
    if 0 < percent < 0.1:
        return "< 0.1 %"
    if 99.9 < percent < 100:
        return "> 99.9 %"
    return f"{percent:.0f} %" if percent in (0, 100) else f"{percent:.1f} %"


def ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
