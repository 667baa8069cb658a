"""What is asked under load, in the words of a command line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from loadtest.counts import Counts, counts_of
from loadtest.population import Population, population
from loadtest.target import Target
from loadtest.targets.kserve_infer import KServeInfer, discover_kserve
from loadtest.targets.navi_rank import NaviRank
from loadtest.targets.navi_score import NaviScore
from loadtest.targets.tensor_inputs import BELOW, TensorInputs, inputs_of
from loadtest.targets.tensorflow_predict import TensorFlowPredict, discover_tensorflow
from navi.core.errors import InvalidArgument
from navi.core.words import features_of
from navi.wire.tensors import TensorSpec

Protocol: TypeAlias = Literal["navi-rank", "navi-score", "kserve", "tfserving"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """users, items: see `population`; None where there are none. zipf: exponent of the users. candidates: see
    `counts_of`; None: Rank finds its own, other methods take the public profile; rows, of the tensor protocols. model,
    model_version, inputs, integers_below: of the tensor protocols."""

    protocol: str
    users: str | None = None
    zipf: float = 1.0
    items: str | None = None
    candidates: str | None = None
    k: int = 50
    pipeline: str = ""
    features: Sequence[str] = ()
    model: str = ""
    model_version: str = ""
    inputs: Sequence[str] = ()
    integers_below: int = BELOW


def target_of(workload: Workload, address: str) -> Target:
    """What sends the workload's calls. address: of a server that is asked for a model's inputs where none are given.

    InvalidArgument names the option that is wrong.
    """
    if workload.protocol == "navi-rank":
        return _rank(workload)
    if workload.protocol == "navi-score":
        return _score(workload)
    if workload.protocol == "kserve":
        return _kserve(workload, address)
    if workload.protocol == "tfserving":
        return _tfserving(workload, address)
    raise InvalidArgument("protocol", f"is {workload.protocol!r}, none of {', '.join(PROTOCOLS)}")


def _rank(workload: Workload) -> Target:
    if (workload.candidates is None) != (workload.items is None):
        raise InvalidArgument("candidates", "go with items: give both to supply candidates, or neither")
    return NaviRank(
        users=_users(workload),
        k=workload.k,
        pipeline=workload.pipeline,
        features=_features(workload),
        items=None if workload.items is None else population(workload.items, field="items"),
        counts=_counts(workload),
    )


def _score(workload: Workload) -> Target:
    if workload.items is None:
        raise InvalidArgument("items", "are not given: which items are to be scored?")
    return NaviScore(
        items=population(workload.items, field="items"),
        users=_users(workload),
        counts=_counts(workload),
        pipeline=workload.pipeline,
        features=_features(workload),
    )


def _kserve(workload: Workload, address: str) -> Target:
    model, version = _model(workload), workload.model_version
    specs = inputs_of(workload.inputs) or discover_kserve(address, model, version)
    return KServeInfer(model=model, version=version, inputs=_inputs(workload, specs))


def _tfserving(workload: Workload, address: str) -> Target:
    model, version = _model(workload), workload.model_version
    specs = inputs_of(workload.inputs) or discover_tensorflow(address, model, version)
    return TensorFlowPredict(model=model, version=version, inputs=_inputs(workload, specs))


def _inputs(workload: Workload, specs: tuple[TensorSpec, ...]) -> TensorInputs:
    return TensorInputs(specs, _counts(workload), workload.integers_below)


def _model(workload: Workload) -> str:
    if not workload.model:
        raise InvalidArgument("model", f"is not given: {workload.protocol} asks one model")
    return workload.model


def _users(workload: Workload) -> Population | None:
    if workload.users is None:
        return None
    return population(workload.users, field="users", exponent=workload.zipf)


def _counts(workload: Workload) -> Counts:
    return Counts() if workload.candidates is None else counts_of(workload.candidates)


def _features(workload: Workload) -> Mapping[str, object]:
    return features_of(workload.features)
