"""The facts of a server, from the bundle that it serves."""

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from navi import __version__
from navi.batching.scorer import Scorer
from navi.bundle.bundle import Bundle
from navi.bundle.live import Live
from navi.ops.native import native
from navi.server.facts import ModelFacts, ServerFacts
from navi.server.settings import ServerSettings

_PACKAGES = {"grpc": "grpcio", "numpy": "numpy", "onnxruntime": "onnxruntime", "torch": "torch"}
"""By the module that tells whether the package is in use."""


def bundle_facts(bundle: Bundle, settings: ServerSettings, started: float) -> ServerFacts:
    """What is to be said of a server of an opened bundle. started: seconds since the epoch."""
    return ServerFacts(
        bundle=bundle.config.name,
        digest=bundle.digest,
        started=started,
        pipelines=tuple(sorted(bundle.pipelines)),
        stores=tuple(sorted(bundle.stores)),
        tables={name: len(table.ids) for name, table in sorted(bundle.tables.items())},
        models=tuple(_model(scorer) for _, scorer in sorted(bundle.scorers.items())),
        settings={name: str(value) for name, value in settings.model_dump().items()},
        build=build_facts(),
    )


class LiveFacts:
    """The facts of a server whose models come and go: the same object until another version of one serves."""

    def __init__(self, live: Live, settings: ServerSettings, started: float) -> None:
        self._live = live
        self._settings = settings
        self._started = started
        self._last: tuple[Bundle, ServerFacts] | None = None

    def __call__(self) -> ServerFacts:
        bundle, last = self._live.bundle, self._last
        if last is None or last[0] is not bundle:
            self._last = last = (bundle, bundle_facts(bundle, self._settings, self._started))
        return last[1]


def build_facts() -> dict[str, str]:
    """Versions of what runs here; packages that are installed but not in use are left out."""
    found = {"navi": __version__, "python": platform.python_version(), "kernels": native.instruction_sets()[0].name}
    return found | {name: _version(package) for name, package in _PACKAGES.items() if name in sys.modules}


def _model(scorer: Scorer) -> ModelFacts:
    return ModelFacts(
        name=scorer.name,
        version=scorer.version,
        digest=scorer.digest,
        provider=scorer.provider,
        row_independent=scorer.row_independent,
        tasks=tuple(scorer.tasks),
        load_s=scorer.load_s,
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # onnxruntime-gpu and others bring the module under a name of their own
        return "?"
