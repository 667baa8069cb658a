"""The Grafana dashboard asks for what a server exports, and for all of it."""

import itertools
import json
import os
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
import tiny_model
from prometheus_client import CollectorRegistry

from navi.batching.batch_policy import BatchPolicy
from navi.batching.scorer import Scorer
from navi.bundle.bundle import Bundle
from navi.bundle.config import BundleConfig, PipelineConfig
from navi.cli import config
from navi.core import Degradation, StageReport
from navi.core.clock import ManualClock
from navi.features.cache import FeatureCache
from navi.features.item_table import ItemTable
from navi.features.item_table_writer import write_item_table
from navi.features.memory_store import MemoryStore
from navi.features.schema import FeatureSchema, Field
from navi.models.loader import load_model
from navi.models.options import ModelOptions
from navi.server.bundle_metrics import BundleMetrics
from navi.server.dashboard import dashboard_json
from navi.server.shadow_metrics import ShadowMetrics
from navi.server.worker_metrics import WorkerMetrics

ADDED_BY_PROMETHEUS = {"instance", "job"}
FUNCTIONS = {"histogram_quantile", "increase", "max", "min", "rate", "sum"}
WORDS = {"by", "offset"}

Exported = dict[str, set[str]]


@dataclass(frozen=True)
class Query:
    """What a PromQL expression names: metrics with the labels of their matchers, and the labels that it groups by."""

    metrics: tuple[tuple[str, frozenset[str]], ...]
    groups: frozenset[str]

    @classmethod
    def of(cls, expression: str) -> "Query":
        text = re.sub(r'"[^"]*"', '""', expression)
        text = re.sub(r"\[[^\]]*\]", "", text)
        groups = re.findall(r"\bby\s*\(([^)]*)\)", text)
        text = re.sub(r"\bby\s*\([^)]*\)", "", text)
        named = re.findall(r"(?<!\w)([a-zA-Z_:][\w:]*)\s*(\{[^}]*\}|\(|)", text)
        metrics = [(name, rest) for name, rest in named if rest != "(" and name not in WORDS]
        unknown = {name for name, rest in named if rest == "("} - FUNCTIONS
        assert not unknown, f"{expression}: is {unknown} a function?"
        matched = [(name, frozenset(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", rest))) for name, rest in metrics]
        labels = {label.strip() for group in groups for label in group.split(",")}
        return cls(tuple(matched), frozenset(labels))


def dashboard() -> dict[str, Any]:
    return json.loads(dashboard_json())


def panels() -> list[dict[str, Any]]:
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def queries() -> list[tuple[str, str, str]]:
    """(panel, expression, legend) of every query; Grafana's variables filled in."""
    found = [(panel["title"], each["expr"], each["legendFormat"]) for panel in panels() for each in panel["targets"]]
    return [(title, expression.replace("$__rate_interval", "1m"), legend) for title, expression, legend in found]


def exported_by(registry: CollectorRegistry) -> Exported:
    """Labels by the name of every sample."""
    found: Exported = defaultdict(set)
    for family in registry.collect():
        for sample in family.samples:
            if not sample.name.endswith("_created"):
                found[sample.name] |= sample.labels.keys()
    return dict(found)


def a_bundle(root, metrics: BundleMetrics) -> Bundle:
    """With a model that was run and a store whose cache was asked."""
    bundle = Bundle(root, BundleConfig(name="t", pipelines={"home": PipelineConfig(factory="no:one")}), ManualClock())
    model = load_model(tiny_model.write_version(root / "tiny"), ModelOptions())
    items = pa.table({"id": [1], "kind": ["news"], "price": pa.array([1.0], pa.float32())})
    write_item_table(items, root / "items.arrow", key="id")
    table = ItemTable.open(root / "items.arrow")
    bundle.scorers = {"tiny": Scorer(model, table, BatchPolicy(max_rows=10), metrics)}
    store = MemoryStore(FeatureSchema({"age": Field(dtype="float32")}), key="int64")
    bundle.stores = {"users": FeatureCache(store, max_bytes=10_000, ttl_s=60, clock=bundle.clock)}
    return bundle


def everything_happens(at, metrics: BundleMetrics) -> None:
    at.client.rank()
    metrics.ran("tiny", 3, 0.001, [0.002])
    counted = at.server._metrics
    counted.unexpected("Rank")
    counted.refused("Rank", "", "deadline")
    counted.skipped("Rank", "cancelled")
    counted.recorded("slow")
    counted.reloaded("tls", went_well=True)
    counted.unrecorded("slow")


@pytest.fixture(scope="module")
def exported(navi, tmp_path_factory) -> Exported:
    """What a server exports once everything that it counts has happened."""
    source = StageReport(name="source.popular", rows_in=0, rows_out=5, microseconds=10)
    broken = Degradation(stage="rerank", reason="non_finite", detail="", rows=1)

    def rank(query):
        plain = navi.ranking(query)
        return replace(plain, stages=(*plain.stages, source), degradations=(broken,))

    with navi.serve(navi.pipeline(rank), latency_target_ms=60_000) as at:
        metrics = BundleMetrics(at.server._metrics)
        bundle = a_bundle(tmp_path_factory.mktemp("bundle"), metrics)
        metrics.attach(bundle)
        metrics.loaded(bundle.scorers["tiny"])
        metrics.swapped("tiny", "swapped")
        ShadowMetrics(at.server._metrics).compared("tiny", mean=0.1, largest=0.2, correlation=0.9)
        everything_happens(at, metrics)
        navi.eventually(at.idle)
        bundle.scorers["tiny"].close()
        of_one = exported_by(at.server.registry)
    return of_one | exported_by(workers(tmp_path_factory.mktemp("metrics")))


def workers(metrics: Path) -> CollectorRegistry:
    """What a supervisor exports beside the sum of its workers; this process stands for the only one."""
    registry = CollectorRegistry()
    registry.register(WorkerMetrics([SimpleNamespace(number=0, ready=True, restarts=0, pid=os.getpid())], metrics))
    return registry


def labels_of(exported: Exported, query: Query) -> set[str]:
    return ADDED_BY_PROMETHEUS.union(*(exported.get(name, set()) for name, _ in query.metrics))


@pytest.mark.parametrize(("panel", "expression", "legend"), queries(), ids=itertools.count())
def test_every_query_asks_for_what_a_server_exports(exported, panel, expression, legend):
    query = Query.of(expression)
    assert query.metrics, f"{panel}: {expression} asks for no metric"
    for name, labels in query.metrics:
        assert name in exported, f"{panel}: no server exports {name}"
        assert labels <= exported[name] | ADDED_BY_PROMETHEUS, f"{panel}: {name} has only {sorted(exported[name])}"
    known = labels_of(exported, query)
    assert query.groups <= known, f"{panel}: {expression} groups by {sorted(query.groups - known)}"
    kept = query.groups or known
    in_legend = set(re.findall(r"\{\{(\w+)\}\}", legend))
    assert in_legend <= kept, f"{panel}: the legend names {sorted(in_legend - kept)}, the result has {sorted(kept)}"


def test_everything_that_a_server_counts_is_in_some_panel(exported):
    asked = {family_of(name) for _, expression, _ in queries() for name, _ in Query.of(expression).metrics}
    counted = {family_of(name) for name in exported if name.startswith("navi_")}
    assert counted - asked == set()


def family_of(name: str) -> str:
    return re.sub("_(bucket|sum|count)$", "", name)


def test_variables_ask_for_what_a_server_exports(exported):
    variables = {each["name"]: each for each in dashboard()["templating"]["list"]}
    assert set(variables) == {"datasource", "instance", "pipeline"}
    for name in ("instance", "pipeline"):
        asked = re.fullmatch(r"label_values\((.*), (\w+)\)", variables[name]["definition"])
        ((metric, labels),) = Query.of(asked[1]).metrics
        assert {*labels, asked[2]} <= exported[metric] | ADDED_BY_PROMETHEUS


def test_every_panel_says_what_it_shows():
    for panel in panels():
        assert panel["title"]
        assert panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert panel["datasource"]["uid"] == "${datasource}", panel["title"]
        assert all(each["legendFormat"] for each in panel["targets"]), panel["title"]


def test_panels_have_ids_of_their_own_and_do_not_cover_each_other():
    everything = dashboard()["panels"]
    assert len({panel["id"] for panel in everything}) == len(everything)
    taken: set[tuple[int, int]] = set()
    for panel in everything:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert at["x"] + at["w"] <= 24, panel["title"]
        assert not cells & taken, panel["title"]
        taken |= cells


def test_the_command_prints_the_dashboard(capsys):
    config.run(dashboard=True)
    assert json.loads(capsys.readouterr().out)["title"] == "Navi"
