"""The charts of the report, in their order, as figures of the page."""

from xml.etree.ElementTree import Element

from loadtest.report import summary
from loadtest.report.axes import BOTTOM, LEFT, RIGHT, TOP
from loadtest.report.chart import Chart
from loadtest.report.distributions import cdf_chart, connection_chart, generator_chart, stage_chart
from loadtest.report.elements import table, tag
from loadtest.report.over_time import latency_chart, outcome_chart, rate_chart
from loadtest.report.series import series_of
from loadtest.report.svg import drawn
from loadtest.result import Result

WIDTHS = {True: {"broad": 1140, "middle": 720, "narrow": 400}, False: {"broad": 560, "narrow": 400}}
"""Pixels, of charts over the whole width and of the others: the style sheet shows the one that fits the page."""


def figures(result: Result) -> list[Element]:
    """Charts along the schedule over the whole width, then the others, and the setting, two abreast."""
    series = series_of(result)
    wide = [latency_chart(series), rate_chart(series), outcome_chart(series)]
    left = [cdf_chart(result), connection_chart(result)]
    right = [stage_chart(result), generator_chart(result)]
    columns = [
        tag("div", *map(_figure, column), last, class_="half")
        for column, last in zip((left, right), summary.setting(result), strict=True)
    ]
    return [*map(_figure, wide), tag("div", *columns, class_="halves")]


def _figure(chart: Chart) -> Element:
    caption = tag("figcaption", tag("h2", chart.title), tag("p", chart.note))
    figure = tag("figure", caption, id=chart.name, class_="whole" if chart.wide else "part")
    if chart.wide:
        figure.set("data-edges", " ".join(f"{edge:.6g}" for edge in chart.edges))
        figure.set("data-margins", f"{LEFT} {RIGHT} {TOP} {BOTTOM}")
    if chart.draw is None:
        figure.append(tag("p", chart.text, class_="nothing muted"))
        return figure
    for kind, width in WIDTHS[chart.wide].items():
        name = f"{chart.name}-{kind}"
        svg = drawn(chart.draw, size=(width, chart.height), name=name, title=chart.title, text=chart.text)
        svg.set("class", kind)
        figure.append(svg)
    numbers = table(chart.header, chart.rows, label=f"{chart.title}: numbers")
    figure.append(tag("details", tag("summary", "Numbers"), numbers))
    return figure
