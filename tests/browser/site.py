"""A site of its own origin, with a page that has the client, and a server that allows it."""

import mimetypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients/js/dist/devote.js"
PAGE = b"""<!doctype html><meta charset="utf-8"><title>A shop</title><link rel="icon" href="data:,">
<script type="module">window.devote = await import("/clients/js/dist/devote.js")</script>"""
SERVED = (
    "clients/js/dist/",
    "clients/js/test/",
    "clients/openfeature-web/dist/",
    "clients/openfeature-web/node_modules/@openfeature/",
    "tests/vectors/",
    "tests/wire/tallies.mjs",
)


class Site(ThreadingHTTPServer):
    """Serves the page and the files that it loads; ``changed`` replaces some of them by a text."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.changed: dict[str, bytes] = {}

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Site
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].lstrip("/")
        body = self.server.changed.get(path, PAGE if path == "" else b"")
        if not body and path.startswith(SERVED) and ".." not in path and (ROOT / path).is_file():
            body = (ROOT / path).read_bytes()
        kind = "text/html; charset=utf-8" if path == "" else mimetypes.guess_type(path)[0]
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", kind or "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving_site() -> Iterator[Site]:
    with Site() as site:
        thread = threading.Thread(target=site.serve_forever, daemon=True)
        thread.start()
        try:
            yield site
        finally:
            site.shutdown()
            thread.join()
