"""What a request uses from its beginning to its end: one version of each model, and all that was made from them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from navi.bundle.bundle import Bundle
from navi.bundle.loaded import Loaded, number_of
from navi.bundle.shared import Shared
from navi.core.deadline import Deadline
from navi.core.errors import CallerError, ModelError, NaviError
from navi.core.pipeline import Pipeline
from navi.core.query import Query
from navi.features.item_vectors import ItemVectors

_PROBE_S = 10.0
_PROBE_K = 10
_BROKEN = ("failed", "crashed")
"""Reasons of a degradation that tell of a fault, and not of want of time."""


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """A pipeline, and the models that it depends on."""

    pipeline: Shared[Pipeline]
    models: frozenset[str]


@dataclass(slots=True, eq=False)
class Generation:
    """Immutable but for its count of calls; whoever counts holds `Live`'s lock.

    versions: by model. built: pipelines by name. calls: in flight. retired: new calls do not come here any more.
    """

    bundle: Bundle
    versions: Mapping[str, int]
    models: Mapping[str, Shared[Loaded]]
    built: Mapping[str, Built]
    calls: int = 0
    retired: bool = False

    @property
    def pipelines(self) -> Mapping[str, Pipeline]:
        return self.bundle.pipelines

    def close(self) -> None:
        """Let go of everything: what only this generation used is closed."""
        for built in self.built.values():
            built.pipeline.let_go()
        for model in self.models.values():
            model.let_go()


def build_generation(base: Bundle, models: Mapping[str, Shared[Loaded]], others: Iterable[Generation]) -> Generation:
    """A generation of these models over the tables and stores of `base`, which holds on to them for itself.

    What does not depend on a model that differs is shared with `others`. Raises SetupError where something that was
    made from a model is missing or of another version, and where a pipeline cannot be built or breaks on a query.
    """
    others = list(others)
    bundle = base.with_models({name: model.thing for name, model in models.items()})
    bundle.item_vectors = {
        name: _vectors(bundle, name, models, others)
        for name, config in base.config.vectors.items()
        if config.model in models
    }
    built: dict[str, Built] = {}
    try:
        for name in base.config.pipelines:
            built[name] = _kept(name, models, others) or _built(bundle, name, others)
        bundle.pipelines = {name: each.pipeline.thing for name, each in built.items()}
    except BaseException:
        for each in built.values():
            each.pipeline.let_go()
        raise
    versions = {name: number_of(model.thing) for name, model in models.items()}
    return Generation(bundle, versions, {name: model.hold() for name, model in models.items()}, built)


def _vectors(
    bundle: Bundle, name: str, models: Mapping[str, Shared[Loaded]], others: Iterable[Generation]
) -> ItemVectors:
    model = bundle.config.vectors[name].model
    for other in others:
        if other.models.get(model) is models[model]:
            return other.bundle.item_vectors[name]
    return bundle.open_vectors(name)


def _kept(name: str, models: Mapping[str, Shared[Loaded]], others: Iterable[Generation]) -> Built | None:
    for other in others:
        built = other.built[name]
        if all(model in models and other.models[model] is models[model] for model in built.models):
            return Built(built.pipeline.hold(), built.models)
    return None


def _built(bundle: Bundle, name: str, others: Iterable[Generation]) -> Built:
    pipeline, asked = bundle.build(name)
    try:
        for other in others:
            _compare(bundle, name, pipeline, other.pipelines[name])
            break
    except BaseException:
        pipeline.close()
        raise
    return Built(Shared(pipeline, _close), asked & set(bundle.config.models))


def _compare(bundle: Bundle, name: str, pipeline: Pipeline, other: Pipeline) -> None:
    """ModelError where a first query breaks something that it does not break in a pipeline that serves."""
    broken = _broken(bundle, name, pipeline)
    if broken and broken.keys() - _broken(bundle, name, other).keys():
        raise ModelError(f"pipeline {name!r} breaks with it: {'; '.join(broken.values())}")


def _broken(bundle: Bundle, name: str, pipeline: Pipeline) -> dict[str, str]:
    """What is broken when it ranks for an anonymous caller, by stage; nothing where a caller has to send more."""
    query = Query(
        pipeline=name,
        user=None,
        k=_PROBE_K,
        deadline=Deadline.after(_PROBE_S, bundle.clock),
        as_of=bundle.clock.time(),
    )
    (answer,) = pipeline.rank_many([query])
    if isinstance(answer, CallerError):
        return {}
    if isinstance(answer, NaviError):
        return {"": str(answer)}
    return {entry.stage: f"{entry.stage}: {entry.detail}" for entry in answer.degradations if entry.reason in _BROKEN}


def _close(pipeline: Pipeline) -> None:
    pipeline.close()
