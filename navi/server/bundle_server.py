"""The server of a bundle, with all that watches it."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from navi.bundle.live import Live, Observers
from navi.bundle.live_admin import LiveAdmin
from navi.bundle.live_models import LiveModels
from navi.core.clock import SystemClock
from navi.server.admin_service import AdminService
from navi.server.bundle_facts import LiveFacts
from navi.server.bundle_metrics import BundleMetrics
from navi.server.changing import Changing
from navi.server.inference.models import Models
from navi.server.live_engine import LiveEngine
from navi.server.metrics import Metrics
from navi.server.server import Server, Watch
from navi.server.settings import ServerSettings
from navi.server.shadow_metrics import ShadowMetrics
from navi.server.shadowing import Shadows
from navi.server.watchers import watching


@contextmanager
def bundle_server(bundle: Path, settings: ServerSettings, *, slot: int | None = None) -> Iterator[Server]:
    """A server that is still to be started; the bundle is open while the block runs.

    slot: the number of a worker among several, which share the port. Raises what `Live.open` and `watching` raise.
    """
    clock = SystemClock()
    started = clock.time()
    metrics = Metrics()
    watched = BundleMetrics(metrics)
    with (
        Live.open(bundle, clock=clock, observers=Observers(watched, watched)) as live,
        closing(Shadows(live, ShadowMetrics(metrics)).start()) as shadows,
        watching(settings, metrics, clock, "" if slot is None else str(slot)) as watchers,
    ):
        watched.attach(live.bundle)
        watch = Watch(metrics, watchers=watchers)
        server = Server(settings, live.bundle.pipelines, live.bundle.stores, clock, watch)
        models = LiveModels(live)
        changing = Changing(
            LiveEngine(live, shadows),
            AdminService(LiveAdmin(live), shadows.report),
            LiveFacts(live, settings, started),
        )
        yield server.serving(Models(models, models)).following(changing)
