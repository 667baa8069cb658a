"""The pages of the second port: metrics, health, a status page."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from http import HTTPStatus

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest

from navi.core.clock import Clock
from navi.server.facts import ServerFacts
from navi.server.page.recent import Recent
from navi.server.page.status_page import policy, render
from navi.server.security.site_door import CHALLENGE, SiteDoor


@dataclass(frozen=True, slots=True)
class Page:
    """What a GET of a path answers. headers: beside the type and length of its body."""

    status: HTTPStatus
    content_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Site:
    """The pages by path.

    facts: None as long as nobody knows them, since nothing has been loaded. door: before metrics and the status page.
    """

    registry: CollectorRegistry
    ready: Callable[[], bool]
    facts: Callable[[], ServerFacts | None]
    clock: Clock
    recent: Recent
    door: SiteDoor | None = None

    @classmethod
    def of(
        cls,
        registry: CollectorRegistry,
        ready: Callable[[], bool],
        facts: Callable[[], ServerFacts | None],
        clock: Clock,
    ) -> "Site":
        """Made when the server starts: nothing has been counted."""
        return cls(registry, ready, facts, clock, Recent(registry.collect, clock))

    def behind(self, door: SiteDoor) -> "Site":
        return replace(self, door=door)

    def page(self, path: str, authorization: str = "") -> Page:
        """authorization: the header of that name."""
        makers = {"/": self._index, "/metrics": self._metrics, "/healthz": self._alive, "/readyz": self._ready}
        name = path.partition("?")[0]
        maker = makers.get(name)
        if maker is None:
            return text(HTTPStatus.NOT_FOUND, "no such page")
        refusal = self.door.refusal(authorization) if self.door is not None and name in _BEHIND_THE_DOOR else None
        if refusal is None:
            return maker()
        return replace(text(*refusal), headers=(CHALLENGE,) if refusal[0] is HTTPStatus.UNAUTHORIZED else ())

    def tick(self) -> None:
        """Remember now and then what was counted; from one thread."""
        self.recent.tick()

    def _metrics(self) -> Page:
        return Page(HTTPStatus.OK, CONTENT_TYPE_PLAIN_0_0_4, generate_latest(self.registry))

    def _alive(self) -> Page:
        return text(HTTPStatus.OK, "alive")

    def _ready(self) -> Page:
        return text(HTTPStatus.OK, "ready") if self.ready() else text(HTTPStatus.SERVICE_UNAVAILABLE, "not ready")

    def _index(self) -> Page:
        facts = self.facts()
        if facts is None:
            return text(HTTPStatus.SERVICE_UNAVAILABLE, "loading")
        families, now = self.registry.collect(), self.clock.time()
        body = render(facts, families, ready=self.ready(), now=now, recent=self.recent)
        return Page(HTTPStatus.OK, "text/html; charset=utf-8", body, (("Content-Security-Policy", policy()),))


_BEHIND_THE_DOOR = frozenset({"/", "/metrics"})


def text(status: HTTPStatus, words: str) -> Page:
    """One line for a machine to read."""
    return Page(status, "text/plain; charset=utf-8", words.encode() + b"\n")
