"""The README's performance table, from the files of `navi bench`."""

from collections.abc import Sequence
from pathlib import Path

from navi.bench.measurement import Measure, Measurement, read_measurement
from navi.bench.measurement_table import number, spread
from navi.core.errors import InvalidArgument
from navi.core.files import replacing

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"


def markdown(paths: Sequence[Path]) -> str:
    """One table of the headline measures of all files, in the order given, and under it how they were made."""
    found = [read_measurement(path) for path in paths]
    lines = ["| | median | min .. max | aim |", "| --- | --- | --- | --- |"]
    for one in found:
        lines.append(f"| **{one.title}** | | | |")
        lines += [_row(measure) for measure in one.measures if measure.headline]
    return "\n".join([*lines, "", *map(_made, found)]) + "\n"


def replace_in(readme: Path, text: str) -> None:
    """Put `text` between the two marks of a file; InvalidArgument where it does not have both, once and in order."""
    before, begin, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in after or END in after:
        raise InvalidArgument("readme", f"{readme} does not have {BEGIN} and {END}, once each and in this order")
    with replacing(readme) as temporary:
        temporary.write_text(f"{before}{BEGIN}\n{text}{END}{after}", encoding="utf-8")


def block_of(readme: Path) -> str | None:
    """What stands between the marks; None where there are none."""
    _, begin, rest = readme.read_text(encoding="utf-8").partition(f"{BEGIN}\n")
    block, end, _ = rest.partition(END)
    return block if begin and end else None


def _row(measure: Measure) -> str:
    unit = "" if measure.unit == "share" else f" {measure.unit}"
    cells = (f"{measure.group}: {measure.name}", f"{number(measure.median, measure.unit)}{unit}", spread(measure))
    return f"| {' | '.join((*cells, measure.aim))} |"


def _made(one: Measurement) -> str:
    runs = max(len(measure.values) for measure in one.measures)
    about = one.environment
    words = [f"`{one.command}`, {one.started[:10]}, {about['cpu']}, {about['cores']} cores, {runs} runs", *one.notes]
    return f"- {one.title}: {'; '.join(words)}."
