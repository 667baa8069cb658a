"""Scores for one query's candidates: from features to a model's inputs, through its batcher, to scores by task."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from navi.batching.batch_policy import BatchPolicy
from navi.batching.batcher import Batcher
from navi.batching.batcher_stats import BatcherStats
from navi.batching.item_inputs import ItemInputs
from navi.batching.observer import BatchObserver
from navi.batching.score_call import ScoreCall
from navi.batching.task_scores import task_scores
from navi.core.arrays import F32, F64, I64, Array
from navi.core.column import Column
from navi.core.deadline import Deadline
from navi.core.errors import InvalidArgument, ModelError
from navi.core.priority import Priority
from navi.features.item_table import ItemTable
from navi.features.store import Row
from navi.models.loader import LoadedModel

_NO_COLUMNS: Mapping[str, Column] = {}


@dataclass(frozen=True, slots=True, eq=False)
class ScoringRequest:
    """What one query knows beside its candidates.

    user: the user's features, empty for an unknown user. features: of the request, one row each. as_of: seconds since
    the epoch. priority: whose rows go first.
    """

    user: Row
    features: Mapping[str, Column]
    as_of: float
    deadline: Deadline
    priority: Priority = Priority.ORGANIC


class Scorer:
    """One model with its batcher and its item table. Safe to call from many threads.

    Inputs of item scope are encoded once for the whole table; those of request scope once a call.
    """

    def __init__(
        self, model: LoadedModel, table: ItemTable | None, policy: BatchPolicy, observer: BatchObserver | None = None
    ) -> None:
        """Encodes the table and starts the batcher; ModelError where the table lacks what the model reads."""
        spec, encoder = model.spec, model.encoder
        self.name = spec.name
        self.version = str(spec.version)
        self.tasks = spec.tasks
        self.digest = model.digest
        self.provider = model.provider
        self.row_independent = model.row_independent
        self.load_s = model.load_s
        self.model = model
        self.table = table
        self._outputs = spec.outputs
        self._encoder = encoder
        self._read = encoder.features("request") | encoder.features("item") | encoder.features("pair")
        self._user = _of_origin(self._read, "user")
        self.request_features = frozenset(_of_origin(self._read, "request"))
        self._items = ItemInputs.of(encoder, table)
        shared = policy.shared and model.row_independent
        policy = replace(policy, shared=shared)
        self.max_rows = policy.max_rows if shared else 0
        self._batcher = Batcher(model.backend.run, policy, name=spec.name, observer=observer).start()

    def score(self, request: ScoringRequest, rows: I64, columns: Mapping[str, Column] = _NO_COLUMNS) -> dict[str, F32]:
        """Every task's probabilities (of logits) or scores, float32 [n], in the order of `rows`.

        rows: int64 [n], of the item table; -1 for an item of which nothing is known. columns: per-candidate features, n
        rows each; one named like an item feature of the model replaces the table's, any other is a `pair` feature.
        Request features that the model does not read are ignored: another model of the pipeline may read them.
        Raises InvalidArgument naming a column or feature that does not fit, and what `Batcher.run` raises.
        """
        named = self._named(columns, len(rows))
        if not len(rows):
            return {task: np.empty(0, dtype=np.float32) for task in self.tasks}
        outputs = self._batcher.run(self._call(request, rows, named), request.deadline, request.priority)
        return task_scores(self._outputs, outputs)

    def vector(self, request: ScoringRequest) -> F32:
        """The user's vector float32 [D]; ModelError where the model needs candidates, or has no `vector` output."""
        name = next((output.name for output in self._outputs if output.kind == "vector"), None)
        if name is None or self._encoder.features("item") or self._encoder.features("pair"):
            raise ModelError(f"model {self.name!r} makes no vector of a request alone")
        call = self._call(request, np.full(1, -1), _NO_COLUMNS)
        vector: F32 = self._batcher.run(call, request.deadline, request.priority)[name][0]
        return vector

    @property
    def batcher(self) -> Batcher:
        return self._batcher

    @property
    def items(self) -> ItemInputs:
        return self._items

    @property
    def stats(self) -> BatcherStats:
        return self._batcher.stats

    def close(self) -> None:
        """Finish the calls that wait, and stop; later calls raise Unavailable."""
        self._batcher.close()

    def _call(self, request: ScoringRequest, rows: I64, columns: Mapping[str, Column]) -> ScoreCall:
        as_of: F64 = np.full(1, request.as_of)
        known = {**self._user_columns(request.user), **self._request_columns(request.features)}
        overrides = {name: column for name, column in columns.items() if name in self._encoder.features("item")}
        inputs: dict[str, Array] = self._items.at(rows, overrides)
        if self._encoder.features("pair"):
            pairs = self._items.pairs.take(rows)
            inputs |= self._encoder.pairs({**known, **columns}, len(rows), as_of, pairs)
        return ScoreCall(self._encoder.request(known, 1, as_of), inputs, len(rows))

    def _named(self, columns: Mapping[str, Column], n: int) -> dict[str, Column]:
        """Per-candidate columns under the names by which the encoder knows them."""
        named = {}
        for name, column in columns.items():
            feature = next((full for full in (f"item.{name}", f"pair.{name}") if full in self._read), None)
            if feature is None:
                raise InvalidArgument(f"columns.{name}", f"model {self.name!r} reads no feature of this name")
            if len(column) != n:
                raise InvalidArgument(f"columns.{name}", f"has {len(column)} rows for {n} candidates")
            named[feature] = column
        return named

    def _user_columns(self, user: Row) -> dict[str, Column]:
        return {full: _one_row(user[name]) for name, full in self._user.items() if name in user}

    def _request_columns(self, features: Mapping[str, Column]) -> dict[str, Column]:
        named = {f"request.{name}": column for name, column in features.items() if name in self.request_features}
        for name, column in named.items():
            if len(column) != 1:
                field = f"features.{name.removeprefix('request.')}"
                raise InvalidArgument(field, f"has {len(column)} rows, where a request has one")
        return named


def _of_origin(features: frozenset[str], origin: str) -> dict[str, str]:
    """Bare name -> full name of the features from one origin."""
    prefix = f"{origin}."
    return {feature.removeprefix(prefix): feature for feature in features if feature.startswith(prefix)}


def _one_row(values: Array) -> Column:
    """A stored feature as a column of one row; a list is as wide as it is long."""
    return Column(values if len(values) == 1 else values[None, :])
