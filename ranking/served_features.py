"""The features behind an answer, looked up only where a request is logged."""

import numpy as np

from candidates.context import Context
from navi.core.arrays import F32
from navi.core.candidates import Candidates
from navi.core.column import Column
from navi.core.ranking import Served
from ranking.columns import PROPENSITY
from ranking.supplied_columns import supplied_columns


def served(context: Context, chosen: Candidates) -> Served:
    """What `chosen`, the answered candidates, were scored from: the query's own snapshots of user and items.

    items: every column of the item table, its key too, which a model may read; per-candidate columns that the caller
    supplied take the place of those of the same name, or stand beside them. Propensities are the column `propensity`,
    which a stage that draws at random writes (see `ranking.columns`); 1 without it.
    """
    table = context.table
    items: dict[str, Column] = {name: table.take(name, chosen.rows) for name in table.columns}
    items.update(supplied_columns(context.query.supplied, table, chosen.rows))
    return Served(user=context.user, items=items, propensities=_propensities(chosen))


def _propensities(chosen: Candidates) -> F32:
    written = chosen.columns.get(PROPENSITY)
    if written is None:
        return np.ones(len(chosen), dtype=np.float32)
    return written.astype(np.float32, copy=False)
