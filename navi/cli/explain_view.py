"""What became of every candidate of a query, for a person and for programs."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from navi.core.ids import Key

if TYPE_CHECKING:
    from navi.core.explanation import Explanation
    from navi.core.ranking import Ranking


@dataclass(frozen=True, slots=True)
class _Told:
    """One candidate; drop: (stage, reason), None for an answered one."""

    key: Key
    sources: list[str]
    scores: dict[str, float]
    drop: tuple[str, str] | None


def explanation_tables(ranking: "Ranking", explanation: "Explanation", *, rows: int) -> list[Any]:
    """How many were dropped where and why, then the first `rows` candidates."""
    listed = len(explanation.ids)
    shown = f"{min(rows, listed):,} of {explanation.candidates:,} candidates"
    if listed < explanation.candidates:
        shown += f"; the server lists {listed:,}"
    return [_drops(ranking, explanation), f"explained: {shown}", _candidates(ranking, explanation, rows)]


def explanation_dict(ranking: "Ranking", explanation: "Explanation") -> dict[str, Any]:
    """An explanation in JSON's types; scores that are not finite become null, and answered items have no drop."""
    return {
        "candidates": explanation.candidates,
        "drops": [
            {"stage": stage, "reason": reason, "candidates": count}
            for (stage, reason), count in dropped_counts(ranking, explanation).items()
        ],
        "items": [
            {
                "id": one.key,
                "sources": one.sources,
                "scores": {name: score if math.isfinite(score) else None for name, score in one.scores.items()},
                "drop": None if one.drop is None else {"stage": one.drop[0], "reason": one.drop[1]},
            }
            for one in _listed(ranking, explanation)
        ],
    }


def dropped_counts(ranking: "Ranking", explanation: "Explanation") -> dict[tuple[str, str], int]:
    """How many candidates were dropped, by (stage, reason): all of them, where the list is bounded too."""
    counts: Counter[tuple[str, str]] = Counter()
    for stage in ranking.stages:
        counts.update({(stage.name, reason): count for reason, count in stage.dropped.items()})
    return {drop: counts[drop] for drop in explanation.drops}


def _listed(ranking: "Ranking", explanation: "Explanation") -> Iterator[_Told]:
    keys: Sequence[Key] = explanation.ids.tolist()
    names = list(enumerate(ranking.source_names))
    columns = {name: values.tolist() for name, values in explanation.scores.items()}
    drops = [None if at < 0 else explanation.drops[at] for at in explanation.drop.tolist()]
    for at, (key, mask) in enumerate(zip(keys, explanation.sources.tolist(), strict=True)):
        sources = [name for bit, name in names if mask >> bit & 1]
        scores = {name: values[at] for name, values in columns.items()}
        yield _Told(key, sources, scores, drops[at])


def _drops(ranking: "Ranking", explanation: "Explanation") -> Table:
    table = Table("dropped at", "reason", "candidates")
    for (stage, reason), count in dropped_counts(ranking, explanation).items():
        table.add_row(escape(stage), escape(reason), f"{count:,}")
    table.add_row("[green]answered[/]", "", f"{len(ranking.ids):,}")
    return table


def _candidates(ranking: "Ranking", explanation: "Explanation", rows: int) -> Table:
    table = Table("id", "sources", *map(escape, explanation.scores), "dropped at", "reason")
    for one in islice(_listed(ranking, explanation), rows):
        stage, reason = ("[green]answered[/]", "") if one.drop is None else map(escape, one.drop)
        numbers = ["-" if math.isnan(score) else f"{score:.4f}" for score in one.scores.values()]
        table.add_row(escape(str(one.key)), escape(", ".join(one.sources)), *numbers, stage, reason)
    return table
