"""Filters, applied one after the other to what is left."""

import numpy as np

from candidates.context import Context
from candidates.source import Filter
from navi.core.candidates import Candidates
from navi.core.errors import StageError
from ranking.runner import Outcome, Runner


def apply_filters(run: Runner, context: Context, candidates: Candidates, filters: tuple[Filter, ...]) -> Candidates:
    """The candidates that every filter keeps. A filter that fails ends the query: what it hides must not show."""

    def work() -> Outcome[Candidates]:
        kept = candidates
        dropped: dict[str, int] = {}
        for entry in filters:
            mask = _mask(entry, context, kept)
            lost = len(kept) - int(np.count_nonzero(mask))
            if lost:
                dropped[entry.reason] = dropped.get(entry.reason, 0) + lost
                before, kept = kept, kept.take(mask)
                run.follow("filters", entry.reason, before, kept)
        return Outcome(kept, len(kept), dropped)

    return run.required("filters", len(candidates), work)


def _mask(entry: Filter, context: Context, candidates: Candidates) -> np.ndarray:
    mask = entry.keep(context, candidates)
    if mask.dtype != np.bool_ or mask.shape != (len(candidates),):
        raise StageError(entry.reason, f"gave {mask.dtype} {mask.shape} for {len(candidates)} candidates")
    return mask
