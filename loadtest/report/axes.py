"""What the drawings have in common: margins in pixels, ticks that say their unit, and how a bar is labelled."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from loadtest.report.palette import sentinel
from loadtest.report.series import Floats
from loadtest.report.svg import UNIT
from loadtest.report.words import tick

LEFT, RIGHT, TOP, BOTTOM = 58, 20, 32, 42


def plain_axes(figure: Figure, *, left: int = LEFT, right: int = RIGHT, top: int = TOP, bottom: int = BOTTOM) -> Axes:
    """Axes with margins in pixels: drawings below each other then share their time axis."""
    width, height = (length * UNIT for length in figure.get_size_inches())
    box = (left / width, bottom / height, (width - left - right) / width, (height - top - bottom) / height)
    return figure.add_axes(box)


def unit_above(axes: Axes, unit: str) -> None:
    """What the upright axis counts, level, above it."""
    axes.annotate(
        unit, (0, 1), (4 - LEFT, 12), xycoords="axes fraction", textcoords="offset points", color=sentinel("muted")
    )


def legend_above(axes: Axes) -> None:
    """The legend in one row, to the right above the axes."""
    _, labels = axes.get_legend_handles_labels()
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1.03), ncols=max(len(labels), 1))


def time_axis(axes: Axes, edges: Floats) -> None:
    """Seconds of the schedule, or minutes where there are many."""
    first, last = float(edges[0]), float(edges[-1])
    name, unit = ("minutes", 60.0) if last - first > 900 else ("seconds", 1.0)
    locator = MaxNLocator(12 if axes.get_window_extent().width > 600 else 6, steps=[1, 2, 5, 10])
    places = np.asarray(locator.tick_values(first / unit, last / unit)) * unit
    axes.set_xlim(first, last)
    axes.set_xticks([place for place in places if first <= place <= last])
    axes.set_xlabel(f"{name} of the schedule")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{at / unit:g}"))


def number_axis(axis: Axis, text: Callable[[float], str], *, ticks: int = 5) -> None:
    """A linear axis from zero whose ticks are said by `text`."""
    axis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda at, _: text(at)))


def log_axis(axes: Axes, which: Literal["x", "y"], values: Sequence[Floats]) -> None:
    """A logarithmic axis of seconds that holds all finite `values`, ticks at round numbers."""
    numbers = np.concatenate(list(values))
    numbers = numbers[np.isfinite(numbers) & (numbers > 0)]
    middle = math.sqrt(float(numbers.min() * numbers.max()))
    low, high = min(float(numbers.min()) / 1.25, middle / 2), max(float(numbers.max()) * 1.25, middle * 2)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1,) if high / low > 3000 else (1, 3) if high / low > 100 else (1, 2, 5)
    places = [step * 10.0**decade for decade in decades for step in steps]
    axes.set(**{f"{which}scale": "log", f"{which}lim": (low, high)})
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_ticks([place for place in places if low <= place <= high])
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda at, _: tick(at)))


def labelled_rows(axes: Axes, labels: Sequence[tuple[str, str]]) -> None:
    """Rows from the top, each with its name and its numbers above its bar: no margin that depends on a name."""
    axes.set_ylim(len(labels) - 0.55, -0.7)
    axes.set_yticks([])
    axes.grid(visible=False, axis="both")
    for row, (name, numbers) in enumerate(labels):
        at: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points"}
        axes.annotate(name, (0, row), (0, 11), ha="left", color=sentinel("ink"), **at)
        axes.annotate(numbers, (1, row), (0, 11), ha="right", color=sentinel("muted"), **at)
