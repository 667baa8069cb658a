"""The second port, for people and machines that watch."""

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from navi.core.errors import ConfigError
from navi.server.settings import split_address
from navi.server.site import Page, Site, text

_POLL_S = 0.1
"""How soon the server notices that it is to stop."""


_REFUSAL = replace(text(HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD"), headers=(("Allow", "GET, HEAD"),))


class HttpServer:
    """Serves a site from threads of its own; bound once made, which raises OSError where the address is taken."""

    def __init__(self, host: str, port: int, site: Site) -> None:
        self._server = _TickingServer((host, port), _handler(site))
        self._server.tick = site.tick
        self._thread = Thread(target=self._server.serve_forever, args=(_POLL_S,), name="navi-http", daemon=True)

    @classmethod
    def bound(cls, address: str, site: Site) -> "HttpServer | None":
        """At `host:port`; None where the address is empty. ConfigError where it cannot be had."""
        if not address:
            return None
        try:
            return cls(*split_address(address), site)
        except OSError as error:
            raise ConfigError("http_address", f"cannot listen on {address}: {error}") from error

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


class _TickingServer(ThreadingHTTPServer):
    """Calls `tick` between requests, and every `_POLL_S` at the latest."""

    tick: Callable[[], None]

    def service_actions(self) -> None:
        self.tick()


def _handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10  # seconds that a silent peer can hold a thread
        server_version = "navi"
        sys_version = ""

        def do_GET(self) -> None:
            self._send(site.page(self.path, self.headers["Authorization"] or ""))

        def do_HEAD(self) -> None:
            self.do_GET()

        def __getattr__(self, name: str) -> Callable[[], None]:
            if name.startswith("do_"):  # every other method that there is
                return self._refuse
            raise AttributeError(name)

        def _refuse(self) -> None:
            self._send(_REFUSAL)

        def _send(self, page: Page) -> None:
            self.send_response(page.status)
            self.send_header("Content-Type", page.content_type)
            self.send_header("Content-Length", str(len(page.body)))
            for name, value in page.headers:
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(page.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Probes and scrapes are not worth a line each."""

    return Handler
