"""A sample of the answers, written to Parquet as they were served, so that training can read them back."""

import logging
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from navi.core.clock import Clock
from navi.core.errors import ConfigError
from navi.core.files import replacing
from navi.core.query import Query
from navi.core.ranking import Ranking
from navi.server.background import Background
from navi.server.call import Call, Ending
from navi.server.metrics import Metrics
from navi.server.served_rows import item_rows, request_row
from navi.server.settings import ServerSettings

_LOG = logging.getLogger(__name__)

KIND = "log"
_WAITING = 256
"""Answers that wait to be taken in."""

_GROUP = 64
"""Answers that are spread to rows at once: what a request knows is repeated for each of its items only there."""


@dataclass(frozen=True, slots=True)
class _Taken:
    """One answer: what is known of the request (a row), and of its items (a row each)."""

    request: pa.RecordBatch
    items: pa.RecordBatch

    @property
    def schema(self) -> pa.Schema:
        return pa.unify_schemas([self.request.schema, self.items.schema])


@dataclass(slots=True)
class _File:
    """The rows of one pipeline that wait to be written. schema: of all its files, as far as it is known."""

    schema: pa.Schema = field(default_factory=lambda: pa.schema([]))
    taken: list[_Taken] = field(default_factory=list)
    rows: int = 0
    since: float = 0.0


class RequestLog:
    """A watcher: logs a share of the answers to `Rank`, chosen by a hash of their request's id, that never waits.

    Files are `DIRECTORY/PIPELINE/TIME-SLOT-NUMBER.parquet`, and appear whole. A pipeline's files have one schema, which
    grows by columns that were not seen before (null where a call has none); where a column changes its type, a file
    ends and the next one has the new schema. What cannot be taken in or written is counted.
    """

    def __init__(self, directory: Path, settings: ServerSettings, metrics: Metrics, clock: Clock, slot: str) -> None:
        self._directory = directory
        self._settings = settings
        self._metrics = metrics
        self._clock = clock
        self._slot = slot
        self._files: dict[str, _File] = {}
        self._written = 0
        self._failing = False
        self._writer: Background[Call] = Background(
            "request log", self._take, limit=_WAITING, failed=lambda _: metrics.unrecorded(KIND), idle=self._write_due
        ).start()

    @classmethod
    def open(cls, directory: Path, settings: ServerSettings, metrics: Metrics, clock: Clock, slot: str) -> "RequestLog":
        """ConfigError where the directory cannot be made."""
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError("request_log", f"cannot make {directory}: {error.strerror}") from error
        return cls(directory, settings, metrics, clock, slot)

    def ended(self, call: Call, ending: Ending) -> None:
        if ending.code != "OK" or not isinstance(call.answer, Ranking):
            return
        if chosen(call.request_id, self._settings.request_log_share) and not self._writer.put(call):
            self._metrics.unrecorded(KIND)

    def close(self) -> None:
        if self._writer.close():
            for pipeline in self._files:
                self._write(pipeline)

    def _take(self, call: Call) -> None:
        query, answer = call.query, call.answer
        assert isinstance(query, Query)
        assert isinstance(answer, Ranking)
        request = request_row(call, query, answer, self._settings.request_log_share)
        user, items = item_rows(answer)
        for name in user.schema.names:
            request = request.append_column(name, user.column(name))
        self._add(call.pipeline, _Taken(request, items))

    def _add(self, pipeline: str, taken: _Taken) -> None:
        file = self._files.setdefault(pipeline, _File())
        try:
            file.schema = pa.unify_schemas([file.schema, taken.schema])
        except pa.ArrowException:  # a column changed its type
            self._write(pipeline)
            file.schema = taken.schema
        if not file.taken:
            file.since = self._clock.monotonic()
        file.taken.append(taken)
        file.rows += taken.items.num_rows
        if file.rows >= self._settings.request_log_rows:
            self._write(pipeline)

    def _write_due(self) -> None:
        now = self._clock.monotonic()
        for pipeline, file in self._files.items():
            if file.taken and now - file.since >= self._settings.request_log_s:
                self._write(pipeline)

    def _write(self, pipeline: str) -> None:
        """Write what waits; never raises: what cannot be written is given up, or memory would fill."""
        file = self._files[pipeline]
        taken, file.taken, file.rows = file.taken, [], 0
        if not taken:
            return
        try:
            _write_file(self._path(pipeline), taken, file.schema)
        except (OSError, pa.ArrowException) as error:
            if not self._failing:
                _LOG.error("answers of %r cannot be logged: %s", pipeline, error)
            self._failing = True
            self._metrics.unrecorded(KIND, len(taken))
            return
        self._failing = False
        self._metrics.recorded(KIND, len(taken))

    def _path(self, pipeline: str) -> Path:
        self._written += 1
        at = datetime.fromtimestamp(self._clock.time(), UTC).strftime("%Y%m%dT%H%M%S.%f")
        return self._directory / quote(pipeline, safe="") / f"{at}-{self._slot or '0'}-{self._written}.parquet"


def chosen(request_id: str, share: float) -> bool:
    """Whether a request is among this share of them: the same answer everywhere and every time."""
    if share >= 1.0:
        return True
    return int.from_bytes(blake2b(request_id.encode(), digest_size=8).digest(), "big") < share * 2**64


def _write_file(path: Path, taken: list[_Taken], schema: pa.Schema) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
        for at in range(0, len(taken), _GROUP):
            writer.write_table(_spread(taken[at : at + _GROUP], schema))


def _spread(taken: list[_Taken], schema: pa.Schema) -> pa.Table:
    """A row an item, with what is known of its request; null in columns of the schema that are not there."""
    requests, items = (
        pa.concat_tables([pa.Table.from_batches([batch]) for batch in batches], promote_options="default")
        for batches in ([one.request for one in taken], [one.items for one in taken])
    )
    owner = np.repeat(np.arange(len(taken)), [one.items.num_rows for one in taken])
    once = requests.take(owner)
    columns = {table.column_names[at]: table.column(at) for table in (once, items) for at in range(table.num_columns)}
    return pa.concat_tables([schema.empty_table(), pa.table(columns)], promote_options="default")
