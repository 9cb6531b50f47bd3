"""The shop's backend: its page, and one invite for each visitor it knows by a cookie of its own.

This is all that a site adds to take part. The operator's token stays here; a browser gets an
invite, which is good for one device in one experiment.
"""

import json
import secrets
from collections.abc import Mapping
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock

from devote.boards.board import BoardRefused, BoardUnavailable
from devote.boards.operator import Operator

HERE = Path(__file__).parent
FILES = {
    "/": (HERE / "site/page.html", "text/html; charset=utf-8"),
    "/page.css": (HERE / "site/page.css", "text/css; charset=utf-8"),
    "/delivery.svg": (HERE / "site/delivery.svg", "image/svg+xml"),
    "/harvest.svg": (HERE / "site/harvest.svg", "image/svg+xml"),
    "/tea.svg": (HERE / "site/tea.svg", "image/svg+xml"),
    "/banner.js": (HERE / "site/banner.js", "text/javascript; charset=utf-8"),
    "/offer": (HERE / "site/offer.html", "text/html; charset=utf-8"),
    "/offer.js": (HERE / "site/offer.js", "text/javascript; charset=utf-8"),
    "/devote.js": (HERE.parents[1] / "clients/js/dist/devote.js", "text/javascript; charset=utf-8"),
}
YEAR = 365 * 24 * 3600


class Invites:
    """One invite per visitor. A real shop keeps them with its customers, not in memory."""

    def __init__(self, operator: Operator, name: str) -> None:
        self._operator = operator
        self._name = name
        self._of: dict[str, str] = {}
        self._lock = Lock()

    def of(self, visitor: str) -> str:
        """The visitor's invite, the same one every time."""
        with self._lock:
            if visitor not in self._of:
                (self._of[visitor],) = self._operator.invites(self._name, 1)
            return self._of[visitor]


class Shop(ThreadingHTTPServer):
    """Serves the page at ``origin``; its banners are the arms of an experiment on ``server``."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Visit)
        self.invites: Invites
        self.words: dict[bytes, bytes] = {}
        self.policy = ""

    @property
    def origin(self) -> str:
        """Where its pages come from, which the devote server must allow."""
        return f"http://127.0.0.1:{self.server_port}"

    def take_part(self, operator: Operator, name: str) -> None:
        """Name the experiment to the page, and hand out its invites."""
        self.invites = Invites(operator, name)
        url, watch = f"{operator.server}/experiments/{name}", f"{operator.server}/#{name}"
        self.words = {b"EXPERIMENT": url.encode(), b"WATCH": watch.encode()}
        self.policy = (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
            f"connect-src 'self' {operator.server}"
        )


class _Visit(BaseHTTPRequestHandler):
    server: Shop
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path not in FILES:
            self._answer(404, b"Not here.", {"Content-Type": "text/plain"})
            return
        file, kind = FILES[self.path]
        body = file.read_bytes()
        headers = {"Content-Type": kind, "Content-Security-Policy": self.server.policy}
        if self.path == "/":
            for word, meaning in self.server.words.items():
                body = body.replace(word, meaning)
            visitor = self._visitor() or secrets.token_urlsafe(16)
            cookie = f"visitor={visitor}; Max-Age={YEAR}; Path=/; HttpOnly; SameSite=Strict"
            headers["Set-Cookie"] = cookie
        self._answer(200, body, headers)

    def do_POST(self) -> None:
        """``/invite``: for a visitor of this very page."""
        visitor, status = self._visitor(), 403
        told = {"error": "Open the page first."}
        if self.path == "/invite" and visitor and self.headers["Origin"] == self.server.origin:
            try:
                told, status = {"invite": self.server.invites.of(visitor)}, 200
            except (BoardUnavailable, BoardRefused):
                told, status = {"error": "No invites just now."}, 503
        self._answer(status, json.dumps(told).encode(), {"Content-Type": "application/json"})

    def _visitor(self) -> str | None:
        found = SimpleCookie(self.headers.get("Cookie", "")).get("visitor")
        return None if found is None else found.value

    def _answer(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-cache")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """No address is logged."""
