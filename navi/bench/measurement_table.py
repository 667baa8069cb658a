"""A benchmark's result as a person reads it."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from navi.bench.measurement import Measure, Measurement


def number(value: float, unit: str) -> str:
    """Three digits that count; shares in per cent."""
    if value == 0:
        return "0"
    if unit == "share":
        return f"{value * 100:.1f} %"
    if abs(value) < 0.001:
        return f"{value:.1e}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1 else f"{value:.3f}"


def spread(measure: Measure) -> str:
    """The least and the greatest of the runs."""
    return f"{number(min(measure.values), measure.unit)} .. {number(max(measure.values), measure.unit)}"


def table(measurement: Measurement) -> Table:
    """Every measure with its median and spread, and under it what a reader has to know."""
    runs = max(len(one.values) for one in measurement.measures)
    shown = Table("measure", title=f"{measurement.title}: medians of {runs} runs")
    for column in ("median", "min .. max"):
        shown.add_column(column, justify="right")
    for column in ("unit", "aim"):
        shown.add_column(column)
    group = ""
    for one in measurement.measures:
        if one.group != group:
            group = one.group
            shown.add_section()
            shown.add_row(f"[bold]{group}[/]")
        unit = "" if one.unit == "share" else one.unit
        shown.add_row(f"  {one.name}", number(one.median, one.unit), spread(one), unit, one.aim)
    about = measurement.environment
    shown.caption = "\n".join(
        [
            f"{about['cpu']}, {about['cores']} cores, load before {about['load before']}; {measurement.seconds:.0f} s",
            *measurement.notes,
        ]
    )
    return shown


def report(measurement: Measurement, out: Path) -> None:
    """Print the table and write the JSON file."""
    console = Console()
    console.print(table(measurement))
    measurement.write(out)
    console.print(f"written to {out}", highlight=False, soft_wrap=True)
