"""The vocabulary: what every other room speaks in."""

from navi.core.candidates import Candidates
from navi.core.clock import Clock, ManualClock, SystemClock
from navi.core.column import Column, DType
from navi.core.deadline import Deadline
from navi.core.explanation import Explanation
from navi.core.ids import Ids, Key
from navi.core.pipeline import Pipeline
from navi.core.query import MAX_K, Operator, Predicate, Query, Supplied
from navi.core.ranking import Degradation, Ranking, RowStatus, Scores, Served, StageReport

__all__ = [
    "MAX_K",
    "Candidates",
    "Clock",
    "Column",
    "DType",
    "Deadline",
    "Degradation",
    "Explanation",
    "Ids",
    "Key",
    "ManualClock",
    "Operator",
    "Pipeline",
    "Predicate",
    "Query",
    "Ranking",
    "RowStatus",
    "Scores",
    "Served",
    "StageReport",
    "Supplied",
    "SystemClock",
]
