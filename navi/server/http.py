"""The second port, for people and machines that watch: metrics, health, a status page."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TypeAlias

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest

from navi import __version__

_POLL_S = 0.1
"""How soon the server notices that it is to stop."""

Facts: TypeAlias = Callable[[], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Page:
    """What a GET of a path answers."""

    status: HTTPStatus
    content_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Site:
    """The pages by path."""

    registry: CollectorRegistry
    ready: Callable[[], bool]
    facts: Facts

    def page(self, path: str) -> Page:
        makers = {"/": self._index, "/metrics": self._metrics, "/healthz": self._alive, "/readyz": self._ready}
        maker = makers.get(path.partition("?")[0])
        return _text(HTTPStatus.NOT_FOUND, "no such page") if maker is None else maker()

    def _metrics(self) -> Page:
        return Page(HTTPStatus.OK, CONTENT_TYPE_PLAIN_0_0_4, generate_latest(self.registry))

    def _alive(self) -> Page:
        return _text(HTTPStatus.OK, "alive")

    def _ready(self) -> Page:
        return _text(HTTPStatus.OK, "ready") if self.ready() else _text(HTTPStatus.SERVICE_UNAVAILABLE, "not ready")

    def _index(self) -> Page:
        facts = {"version": __version__, "ready": "yes" if self.ready() else "no", **self.facts()}
        rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in facts.items())
        links = " ".join(f'<a href="{path}">{path}</a>' for path in ("/metrics", "/healthz", "/readyz"))
        html = f"<!doctype html><title>Navi</title><h1>Navi</h1><table>{rows}</table><p>{links}</p>\n"
        return Page(HTTPStatus.OK, "text/html; charset=utf-8", html.encode())


class HttpServer:
    """Serves a site from threads of its own; bound once made, which raises OSError where the address is taken."""

    def __init__(self, host: str, port: int, site: Site) -> None:
        self._server = ThreadingHTTPServer((host, port), _handler(site))
        self._thread = Thread(target=self._server.serve_forever, args=(_POLL_S,), name="navi-http", daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()


def _text(status: HTTPStatus, text: str) -> Page:
    return Page(status, "text/plain; charset=utf-8", text.encode() + b"\n")


def _handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10  # seconds that a silent peer can hold a thread
        server_version = "navi"
        sys_version = ""

        def do_GET(self) -> None:
            self._send(site.page(self.path))

        def do_HEAD(self) -> None:
            self._send(site.page(self.path))

        def __getattr__(self, name: str) -> Callable[[], None]:
            if name.startswith("do_"):  # every other method that there is
                return self._refuse
            raise AttributeError(name)

        def _refuse(self) -> None:
            self._send(_text(HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD"))

        def _send(self, page: Page) -> None:
            self.send_response(page.status)
            self.send_header("Content-Type", page.content_type)
            self.send_header("Content-Length", str(len(page.body)))
            if page.status is HTTPStatus.METHOD_NOT_ALLOWED:
                self.send_header("Allow", "GET, HEAD")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(page.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Probes and scrapes are not worth a line each."""

    return Handler
