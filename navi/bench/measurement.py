"""What a benchmark found: values of paired runs with their spread, and the machine they are from."""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from navi.bench.environment import environment
from navi.core.errors import InvalidArgument
from navi.core.files import replacing

FORMAT = "navi-bench/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One yardstick. values: one a run. unit: `x` (a ratio), `share`, `us`, `ms`, `1/s`, ...

    group: what was measured, by what `name` says. aim: where we want it to be. headline: whether the README's table
    shows it.
    """

    group: str
    name: str
    unit: str
    values: tuple[float, ...]
    aim: str = ""
    headline: bool = False

    @property
    def median(self) -> float:
        return median(self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """All that one run of a benchmark found.

    command: what to type to see it again. settings: its options. notes: what a reader has to know, such as a core that
    server and load had to share.
    """

    name: str
    title: str
    command: str
    settings: Mapping[str, Any]
    measures: tuple[Measure, ...]
    notes: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    started: str = ""
    seconds: float = 0.0

    def write(self, path: Path) -> None:
        """As JSON, with medians and extremes beside the values; `path` is replaced by rename."""
        fields = {"format": FORMAT, **asdict(self)}
        fields["measures"] = [
            {**asdict(one), "median": one.median, "min": min(one.values), "max": max(one.values)}
            for one in self.measures
        ]
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(fields, indent=1) + "\n", encoding="utf-8")


def read_measurement(path: Path) -> Measurement:
    """What `Measurement.write` wrote; InvalidArgument naming the file where it is none, or from another version."""
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        if fields.pop("format") != FORMAT:
            raise InvalidArgument(str(path), f"is not of the format {FORMAT}: written by another version")
        measures = tuple(_measure(one) for one in fields.pop("measures"))
        return Measurement(**{**fields, "measures": measures, "notes": tuple(fields["notes"])})
    except OSError as error:
        raise InvalidArgument(str(path), f"cannot be read: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidArgument(str(path), f"is no result of `navi bench`: {error}") from error


def measured(
    found: Callable[[], tuple[Sequence[Measure], Sequence[str]]], *, name: str, title: str, settings: Mapping[str, Any]
) -> Measurement:
    """A benchmark, run: `found` does it, and gives its measures and notes.

    settings: its options, by the names that the command line has for them.
    """
    about, started, before = environment(), time.gmtime(), time.monotonic()
    measures, notes = found()
    words = [_words(option, value) for option, value in settings.items()]
    return Measurement(
        name=name,
        title=title,
        command=" ".join(["navi bench", name, *words]),
        settings=settings,
        measures=tuple(measures),
        notes=tuple(notes),
        environment=about,
        started=time.strftime("%Y-%m-%dT%H:%M:%SZ", started),
        seconds=round(time.monotonic() - before, 1),
    )


def _words(option: str, value: Any) -> str:
    """An option on the command line; a list is one that stands there repeatedly."""
    values = value if isinstance(value, list) else [value]
    return " ".join(f"--{option.replace('_', '-')} {one}" for one in values)


def of_runs(
    named: tuple[str, str], unit: str, values: Iterable[float], *, aim: str = "", headline: bool = False
) -> Measure:
    """A measure from one value a run. named: its group, and its name in it."""
    runs = tuple(float(value) for value in values)
    return Measure(group=named[0], name=named[1], unit=unit, values=runs, aim=aim, headline=headline)


def _measure(fields: dict[str, Any]) -> Measure:
    kept = {name: fields[name] for name in ("group", "name", "unit", "aim", "headline")}
    return Measure(values=tuple(map(float, fields["values"])), **kept)
