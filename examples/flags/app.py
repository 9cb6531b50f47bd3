"""A shop that knows only OpenFeature: ``python examples/flags/app.py`` beside ``devote serve``.

``/`` is a page for which this backend decides: each visitor, known by a cookie, is a user with a
device in ``devices/``, all behind one client. ``/page`` is one whose browser decides, and then this
backend learns nothing of a click. Both need an experiment ``banner`` with the arms of ``TEXTS``,
and the second one ``make client`` and a server that allows this origin.
"""

import argparse
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn
from openfeature.evaluation_context import EvaluationContext
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from devote.openfeature import DevoteProvider, Flag
from openfeature import api

HERE = Path(__file__).parent
CLIENTS = HERE.parents[1] / "clients"
TEXTS = {"red": "Half price!", "green": "New teas are in", "blue": "Free delivery"}


def user_of(request: Request) -> str:
    """Who visits: the cookie, or a new name."""
    return request.cookies.get("visitor") or secrets.token_urlsafe(16)


async def front(request: Request) -> Response:
    """The banner of this visitor."""
    user = user_of(request)
    context = EvaluationContext(targeting_key=user)
    arm = await api.get_client().get_string_value_async("banner", "green", context)
    page = f'<form method="post" action="/click"><button>{TEXTS[arm]}</button></form>'
    response = HTMLResponse(f"<!doctype html><title>A shop</title>{page}")
    response.set_cookie("visitor", user, httponly=True, samesite="strict")
    return response


def click(request: Request) -> Response:
    """The visitor clicks. It is stored at once, and sent with the visitor's answer."""
    api.get_client().track("banner-clicked", EvaluationContext(targeting_key=user_of(request)))
    return RedirectResponse("/", status_code=303)


def make_app(server: str, folder: str | Path) -> Starlette:
    """The shop; its users' devices are kept in ``folder``."""

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        flags = {"banner": Flag(rewards={"banner-clicked": 1.0})}
        api.set_provider(DevoteProvider(server, folder, flags=flags))
        yield
        api.shutdown()

    def page(_: Request) -> Response:
        text = (HERE / "page.html").read_text(encoding="utf-8")
        return HTMLResponse(text.replace("SERVER", server))

    routes = [
        Route("/", front),
        Route("/click", click, methods=["POST"]),
        Route("/page", page),
        Mount("/clients", StaticFiles(directory=CLIENTS)),
    ]
    return Starlette(routes=routes, lifespan=running)


def main() -> None:
    """Serve it on port 8000."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", default="http://127.0.0.1:8600")
    given = parser.parse_args()
    uvicorn.run(make_app(given.server, "devices"), host="127.0.0.1", port=8000)


if __name__ == "__main__":
    main()
