"""Answers of a short while ago, for when there is no time to make new ones."""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TypeAlias

from navi.core.arrays import U32
from navi.core.candidates import Candidates
from navi.core.column import Column
from navi.core.ids import Ids, Key
from navi.core.query import Query
from navi.features.item_table import ItemTable
from navi.ops import top_k
from ranking.columns import SCORE

DEPTH = 200
"""How many ids of an answer are kept: more than are shown, for the second page is without what the first one had."""

_Asked: TypeAlias = tuple[Key | None, bytes]


@dataclass(frozen=True, slots=True, eq=False)
class RecentAnswer:
    """The best of a full answer, best first. sources: uint32 [n], who brought each. as_of: seconds since the epoch."""

    ids: Ids
    sources: U32
    as_of: float


class RecentAnswers:
    """The latest full answer for each user and set of request features. Safe to use from many threads.

    Ids only: what may be shown is decided anew each time. Bounded: at most `limit` answers, the least recently used
    goes first; older ones than `ttl_s`, by the `as_of` of both queries, are not given out, nor are newer ones.
    Queries that bring candidates of their own are not remembered: those are part of what was asked.
    """

    def __init__(self, limit: int, ttl_s: float) -> None:
        self._limit = limit
        self._ttl_s = ttl_s
        self._answers: OrderedDict[_Asked, RecentAnswer] = OrderedDict()
        self._lock = Lock()

    def remember(self, query: Query, candidates: Candidates, table: ItemTable) -> None:
        """Keep the best of `candidates` by `score`: those of a full answer."""
        if query.supplied is not None:
            return
        best = top_k(candidates.columns[SCORE], candidates.rows, DEPTH)
        answer = RecentAnswer(table.ids.take(candidates.rows[best]), candidates.sources[best], query.as_of)
        asked = _asked(query)
        with self._lock:
            self._answers[asked] = answer
            self._answers.move_to_end(asked)
            if len(self._answers) > self._limit:
                self._answers.popitem(last=False)

    def recall(self, query: Query) -> RecentAnswer | None:
        """What was answered to the same user with the same request features, where that is not too long ago."""
        if query.supplied is not None:
            return None
        asked = _asked(query)
        with self._lock:
            answer = self._answers.get(asked)
            if answer is None or not 0.0 <= query.as_of - answer.as_of <= self._ttl_s:
                return None
            self._answers.move_to_end(asked)
            return answer

    def __len__(self) -> int:
        return len(self._answers)


def _asked(query: Query) -> _Asked:
    return query.user, _digest(query.features) if query.features else b""


def _digest(features: Mapping[str, Column]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(features):
        row = features[name].row(0)
        text = "" if row is None else repr((row.dtype.str, row.tolist()))
        digest.update(repr((name, text)).encode())
    return digest.digest()
