"""The offline run: chunks of requests through a pipeline, each kept as soon as it is done, so that a run can resume."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from navi.bundle.bundle import Bundle
from navi.cli.answer_table import answer_schema, answers_as_table
from navi.cli.request_table import BadRequest, Defaults, queries_of, read_chunks
from navi.core.errors import ConfigError, InvalidArgument, NaviError, NotFound
from navi.core.files import replacing, sha256_of
from navi.core.query import Query
from navi.core.ranking import Ranking

CHUNK = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """After a chunk: requests done in all, and how many of them failed in this run."""

    done: int
    failed: int


@dataclass(frozen=True, slots=True)
class Run:
    """One offline run: `requests` in, `out` out, finished chunks in `out`.parts until all are there."""

    bundle: Bundle
    requests: Path
    out: Path
    defaults: Defaults

    @property
    def parts(self) -> Path:
        return self.out.with_name(self.out.name + ".parts")

    def execute(self) -> Iterator[Progress]:
        """Do what is not done yet, chunk by chunk, and put `out` in place at the end."""
        schema = answer_schema(text_ids=any(table.ids.is_text for table in self.bundle.tables.values()))
        done = failed = 0
        for number, chunk in enumerate(read_chunks(self.requests, CHUNK)):
            part = self.parts / f"{number:08}.parquet"
            if not part.exists():
                table = self._answer(chunk, schema, first=done)
                failed += table.num_rows - table.column("error").null_count
                with replacing(part) as temporary:
                    pq.write_table(table, temporary)
            done += chunk.num_rows
            yield Progress(done=done, failed=failed)
        self._join(schema)

    def _answer(self, chunk: pa.RecordBatch, schema: pa.Schema, *, first: int) -> pa.Table:
        asked = queries_of(chunk, self.defaults, first=first)
        queries = [query for query in asked if isinstance(query, Query)]
        ranked = iter(self._rank(queries))
        answers = [entry.error if isinstance(entry, BadRequest) else next(ranked) for entry in asked]
        return answers_as_table([entry.request_id for entry in asked], answers, schema)

    def _rank(self, queries: list[Query]) -> list[Ranking | NaviError]:
        answers: dict[int, Ranking | NaviError] = {}
        for name in {query.pipeline for query in queries}:
            at = [position for position, query in enumerate(queries) if query.pipeline == name]
            pipeline = self.bundle.pipelines.get(name)
            if pipeline is None:
                answers.update({position: NotFound("pipeline", name, tuple(self.bundle.pipelines)) for position in at})
                continue
            answers.update(zip(at, pipeline.rank_many([queries[position] for position in at]), strict=True))
        return [answers[position] for position in range(len(queries))]

    def _join(self, schema: pa.Schema) -> None:
        """All parts, in order, as the one file."""
        with replacing(self.out) as temporary, pq.ParquetWriter(temporary, schema) as writer:
            for part in sorted(self.parts.glob("*.parquet")):
                writer.write_table(pq.read_table(part, schema=schema))
        shutil.rmtree(self.parts)


def prepare(run: Run, *, restart: bool) -> Run:
    """The run to execute: a new one, or the one whose parts are there, with its own `as_of`.

    Raises InvalidArgument where the parts are of other requests, another bundle or other options.
    """
    if restart and run.parts.exists():
        shutil.rmtree(run.parts)
    state_file = run.parts / "state.json"
    identity = {"requests": sha256_of(run.requests), "bundle": run.bundle.digest}
    if not state_file.exists():
        run.parts.mkdir(parents=True, exist_ok=True)
        state_file.write_text(json.dumps({**identity, "defaults": asdict(run.defaults)}), encoding="utf-8")
        return run
    state = json.loads(state_file.read_text(encoding="utf-8"))
    begun = Defaults(**state.pop("defaults"))
    same = state == identity and (begun.pipeline, begun.k) == (run.defaults.pipeline, run.defaults.k)
    if not same:
        raise InvalidArgument("--out", f"{run.parts} holds parts of a different run; --restart throws them away")
    return Run(run.bundle, run.requests, run.out, begun)


def default_pipeline(bundle: Bundle, name: str | None) -> str:
    """The pipeline that requests go to which name none."""
    if name is None and len(bundle.pipelines) == 1:
        return next(iter(bundle.pipelines))
    if name is None or name not in bundle.pipelines:
        raise ConfigError("--pipeline", f"must be one of: {', '.join(sorted(bundle.pipelines))}")
    return name
