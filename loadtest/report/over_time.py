"""The charts along the schedule: latency, rates and outcomes, one below the other on the same axis."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from loadtest.report.axes import legend_above, log_axis, number_axis, plain_axes, time_axis, unit_above
from loadtest.report.chart import Chart
from loadtest.report.palette import sentinel
from loadtest.report.series import Floats, Series
from loadtest.report.verdict import BREAKOUT
from loadtest.report.words import duration, rate
from loadtest.result import OUTCOMES

LINES = {"p50": ("first", "-", 1.6), "p95": ("second", (0, (4, 1.5)), 1.6), "p99": ("third", "-", 2.0)}
"""Colour, dash and width of a percentile: told apart without colour as well."""

NOTHING = "Nothing to draw: the result holds no window."


def latency_chart(series: Series) -> Chart:
    """p50, p95 and p99 from due time, on a logarithmic axis."""
    worst = series.latency["p99"]
    answered = bool(np.isfinite(worst).any())
    text = "Nothing to draw: no call was answered."
    if answered:
        at = int(np.nanargmax(worst))
        text = (
            f"Median of the p99: {duration(float(np.nanmedian(worst)))}. "
            f"Highest p99: {duration(float(worst[at]))}, at {duration(float(series.edges[at]))}."
        )

    def draw(figure: Figure) -> None:
        axes = plain_axes(figure)
        for name, (colour, dash, width) in LINES.items():
            _steps(axes, series, series.latency[name], color=sentinel(colour), ls=dash, lw=width, label=name)
        time_axis(axes, series.edges)
        log_axis(axes, "y", list(series.latency.values()))
        unit_above(axes, "latency (log scale)")
        _worst(axes, series)
        legend_above(axes)

    return Chart(
        "latency",
        "Latency over time",
        f"From due time, of answered calls, by when they were due{_merged(series)}. A gap: none was answered.",
        text,
        draw if answered else None,
        ("due", *LINES),
        [
            (when, *(duration(float(series.latency[name][at])) for name in LINES))
            for at, when in enumerate(_times(series))
        ],
        edges=series.edges.tolist(),
    )


def rate_chart(series: Series) -> Chart:
    """Calls due against calls answered."""

    def draw(figure: Figure) -> None:
        axes = plain_axes(figure)
        axes.stairs(series.served, series.edges, fill=True, color=sentinel("first"), alpha=0.16, lw=0)
        _steps(axes, series, series.served, color=sentinel("first"), lw=1.6, label="served")
        _steps(axes, series, series.offered, color=sentinel("ink"), lw=1.4, ls=(0, (2, 1.5)), label="offered")
        _rates_below(axes, series)

    return Chart(
        "rates",
        "Offered and served rate",
        f"Calls due in each window, and how many of them were answered, whenever that was{_merged(series)}.",
        f"At most {rate(series.offered.max())} calls/s offered and {rate(series.served.max())} calls/s served."
        if len(series)
        else NOTHING,
        draw if len(series) else None,
        ("due", "offered", "served"),
        [
            (when, f"{rate(float(series.offered[at]))}/s", f"{rate(float(series.served[at]))}/s")
            for at, when in enumerate(_times(series))
        ],
        height=230,
        edges=series.edges.tolist(),
    )


def outcome_chart(series: Series) -> Chart:
    """Outcomes, stacked; those that never happened are left out of the drawing."""
    seen = [name for name in OUTCOMES if series.outcomes[name].any()]

    def draw(figure: Figure) -> None:
        axes = plain_axes(figure)
        below = np.zeros(len(series))
        for name in seen:
            above = below + series.outcomes[name]
            colour = sentinel(name)
            axes.stairs(above, series.edges, baseline=below, fill=True, facecolor=colour, lw=0, label=name)
            below = above
        _rates_below(axes, series)

    return Chart(
        "outcomes",
        "Outcomes over time",
        f"Calls by when they were due, stacked{_merged(series)}.",
        f"Outcomes seen: {', '.join(seen)}." if seen else NOTHING,
        draw if seen else None,
        ("due", *OUTCOMES),
        [
            (when, *(f"{rate(float(series.outcomes[name][at]))}/s" for name in OUTCOMES))
            for at, when in enumerate(_times(series))
        ],
        height=230,
        edges=series.edges.tolist(),
    )


def _steps(axes: Axes, series: Series, values: Floats, **style: Any) -> None:
    """A line with a level stretch for each window: what was measured, and one window is enough."""
    axes.stairs(values, series.edges, baseline=None, **style)


def _worst(axes: Axes, series: Series) -> None:
    """Names the highest p99 where it stands out."""
    values = series.latency["p99"]
    at = int(np.nanargmax(values))
    if values[at] < BREAKOUT * np.nanmedian(values):
        return
    middle = float(series.edges[at] + series.edges[at + 1]) / 2
    right = middle > float(series.edges[0] + series.edges[-1]) / 2
    axes.annotate(
        f"p99 {duration(float(values[at]))}",
        (float(series.edges[at] if right else series.edges[at + 1]), float(values[at])),
        (-6 if right else 6, -8),
        textcoords="offset points",
        ha="right" if right else "left",
        color=sentinel("third"),
    )


def _rates_below(axes: Axes, series: Series) -> None:
    time_axis(axes, series.edges)
    axes.set_ylim(0, max(float(series.offered.max()), float(series.served.max()), 1e-9) * 1.08)
    number_axis(axes.yaxis, rate)
    unit_above(axes, "calls/s")
    legend_above(axes)


def _times(series: Series) -> list[str]:
    return [f"{start:.6g} to {end:.6g} s" for start, end in zip(series.edges, series.edges[1:], strict=False)]


def _merged(series: Series) -> str:
    return f"; each point is {series.windows} windows put together" if series.windows > 1 else ""
