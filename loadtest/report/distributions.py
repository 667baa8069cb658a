"""The charts of the whole run: the latency distribution, the server's stages, and the clients' own share."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from loadtest.histogram import merged, quantile
from loadtest.report.axes import labelled_rows, legend_above, log_axis, number_axis, plain_axes, unit_above
from loadtest.report.chart import Chart
from loadtest.report.palette import sentinel
from loadtest.report.series import Floats, distribution
from loadtest.report.verdict import BUSY
from loadtest.report.words import count, duration, percent, printable, tick
from loadtest.result import Percentiles, Result

ROWS = 20
"""Bars drawn at most; the numbers beside have all of them up to `LISTED`."""

LISTED = 200
PITCH = 36
SHARES = (0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999)
LATENESS = ("p50", "p90", "p95", "p99", "p99.9", "max")


def cdf_chart(result: Result) -> Chart:
    """Share of answered calls by latency, the upright axis in nines."""
    both = {
        "due": merged(window.latency for window in result.windows),
        "sent": merged(window.service for window in result.windows),
    }
    labels = {"due": ("from due time", "first", "-"), "sent": ("from sending", "second", (0, (4, 1.5)))}
    calls = sum(both["due"].values())

    def draw(figure: Figure) -> None:
        axes = plain_axes(figure)
        curves = {name: distribution(histogram) for name, histogram in both.items() if histogram}
        log_axis(axes, "x", [seconds for seconds, _ in curves.values()])
        top = math.log10(calls) + 0.3
        for name, (seconds, shares) in curves.items():
            label, colour, dash = labels[name]
            nines = np.minimum(-np.log10(np.maximum(1 - shares, 1e-12)), top)
            axes.step(seconds, nines, where="post", color=sentinel(colour), ls=dash, lw=1.8, label=label)
        _nines(axes, top)
        axes.set_xlabel("latency (log scale)")
        unit_above(axes, "share of calls")
        legend_above(axes)

    return Chart(
        "cdf",
        "Latency distribution",
        "Share of answered calls that took no longer. The upright axis counts nines, so that the tail can be seen.",
        f"{count(calls)} answered calls; half within {duration(quantile(both['due'], 0.5))} of their due time."
        if calls
        else "Nothing to draw: no call was answered.",
        draw if calls else None,
        ("share", "from due time", "from sending"),
        [(percent(q), duration(quantile(both["due"], q)), duration(quantile(both["sent"], q))) for q in SHARES],
        height=320,
    )


def stage_chart(result: Result) -> Chart:
    """Mean and p99 of what the server said of its stages."""
    stages = result.stages[:ROWS]

    def draw(figure: Figure) -> None:
        axes = plain_axes(figure, left=14, top=24)
        rows = np.arange(len(stages))
        means, tails = (np.nan_to_num(values) for values in ([s.mean for s in stages], [s.p99 for s in stages]))
        axes.barh(rows, tails, height=0.3, color=sentinel("third"), alpha=0.3, label="p99")
        axes.barh(rows, means, height=0.3, color=sentinel("first"), label="mean")
        axes.plot(tails, rows, ls="", marker="|", ms=11, mew=2.5, color=sentinel("third"))
        axes.set_xlim(0, max(float(means.max()), float(tails.max()), 1e-6) * 1.02)
        number_axis(axes.xaxis, tick, ticks=4)
        numbers = [f"mean {duration(s.mean)} · p99 {duration(s.p99)}" for s in stages]
        labelled_rows(axes, [(printable(s.name, 24), text) for s, text in zip(stages, numbers, strict=True)])
        axes.set_xlabel("seconds inside the server, by its own account")

    longest = max(stages, key=lambda stage: np.nan_to_num(stage.mean), default=None)
    return Chart(
        "stages",
        "Stages of the server",
        f"Solid: mean. To the mark: p99.{_first(len(result.stages))}",
        f"Longest on average: {longest.name}, {duration(longest.mean)}."
        if longest
        else "Nothing to draw: the replies named no stage.",
        draw if stages else None,
        ("stage", "calls", "mean", "p50", "p99"),
        [(s.name, count(s.calls), *map(duration, (s.mean, s.p50, s.p99))) for s in result.stages[:LISTED]],
        height=_height(len(stages)),
    )


def connection_chart(result: Result) -> Chart:
    """Calls by connection, most first."""
    ranked = sorted(result.connections.items(), key=lambda pair: (-pair[1], pair[0]))
    calls = np.array([number for _, number in ranked], dtype=np.float64)

    def draw(figure: Figure) -> None:
        axes = plain_axes(figure)
        edges = np.arange(len(calls) + 1) + 0.5
        gap = sentinel("surface") if len(calls) <= 80 else sentinel("first")
        axes.stairs(calls, edges, fill=True, color=sentinel("first"), lw=0)
        if len(calls) <= 80:
            axes.vlines(edges, 0, float(calls.max()), color=gap, lw=2)
        axes.axhline(float(calls.mean()), color=sentinel("ink"), lw=1.4, ls=(0, (4, 2)), label="even split")
        axes.set_xlim(0.5, len(calls) + 0.5)
        axes.set_ylim(0, max(float(calls.max()), 1) * 1.1)
        number_axis(axes.yaxis, count)
        number_axis(axes.xaxis, count)
        axes.set_xlabel("connection, by its number of calls")
        unit_above(axes, "calls")
        legend_above(axes)

    return Chart(
        "connections",
        "Split over connections",
        "An uneven split means that one process of the server, or one connection's limit, was measured.",
        f"{count(len(calls))} connections, {count(calls.min())} to {count(calls.max())} calls each."
        if len(calls)
        else "Nothing to draw: no connection was counted.",
        draw if len(calls) else None,
        ("connection", "calls", "share"),
        [(name, count(number), percent(number / max(float(calls.sum()), 1))) for name, number in ranked[:LISTED]],
    )


def generator_chart(result: Result) -> Chart:
    """The clients' CPU, and how late they sent."""
    clients = result.generators[:ROWS]
    late = {name: result.lateness[name] for name in LATENESS if math.isfinite(result.lateness.get(name, math.nan))}
    split = 26 + PITCH * len(clients) + 62 if clients else 0
    height = split + (26 + PITCH * len(late) + 44 if late else 0)

    def draw(figure: Figure) -> None:
        if clients:
            _cpu(plain_axes(figure, left=14, top=24, bottom=height - split + 44), result)
        if late:
            _late(plain_axes(figure, left=14, top=split + 24), late)

    return Chart(
        "generators",
        "Generators",
        f"CPU of each client process, as a share of one core, and how late calls were sent."
        f"{_first(len(result.generators))}",
        f"Busiest: {percent(max(client.cpu_share for client in clients))} of a core. p99 lateness: "
        f"{duration(result.lateness.get('p99', math.nan))}."
        if clients
        else "No client process gave an account of itself.",
        draw if clients or late else None,
        ("process", "share of a core", "CPU time", "wall time", "connections", "calls"),
        [
            (
                str(g.pid),
                percent(g.cpu_share),
                duration(g.cpu_seconds),
                duration(g.wall_seconds),
                count(g.connections),
                count(g.calls),
            )
            for g in result.generators[:LISTED]
        ],
        height=max(height, 120),
    )


def _cpu(axes: Axes, result: Result) -> None:
    clients = result.generators[:ROWS]
    shares = np.array([client.cpu_share for client in clients])
    colours = [sentinel("first" if share <= BUSY else "deadline") for share in shares]
    axes.barh(np.arange(len(shares)), shares, height=0.3, color=colours)
    axes.axvline(BUSY, color=sentinel("ink"), lw=1.4, ls=(0, (4, 2)))
    axes.set_xlim(0, max(1.0, float(shares.max()) * 1.02))
    number_axis(axes.xaxis, percent)
    labelled_rows(axes, [(f"process {g.pid}", f"{percent(g.cpu_share)} of a core") for g in clients])
    axes.set_xlabel(f"CPU, share of one core (dashed: {percent(BUSY)})")


def _late(axes: Axes, late: Percentiles) -> None:
    values: Floats = np.array(list(late.values()))
    axes.barh(np.arange(len(values)), values, height=0.3, color=sentinel("second"))
    axes.set_xlim(0, max(float(values.max()), 1e-6) * 1.02)
    number_axis(axes.xaxis, tick, ticks=4)
    labelled_rows(axes, [(name, duration(value)) for name, value in late.items()])
    axes.set_xlabel("lateness of sending against the schedule")


def _nines(axes: Axes, top: float) -> None:
    ticks: Sequence[float] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999]
    places = {share: -math.log10(1 - share) for share in ticks}
    kept = {share: place for share, place in places.items() if place <= top}
    axes.set_ylim(0, top * 1.02)
    axes.set_yticks(list(kept.values()), [percent(share) for share in kept])


def _height(rows: int) -> int:
    return max(24 + PITCH * rows + 44, 120)


def _first(number: int) -> str:
    return f" The first {ROWS} of {count(number)} are drawn." if number > ROWS else ""
