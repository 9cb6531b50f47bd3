"""The application and its routes, each of which is here once.

``openapi.json`` describes them, and schemathesis tests this against it.
"""

from importlib.resources import files

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from devote.boards.store import SqliteStore
from devote.errors import DevoteError
from devote.server import devices, operator
from devote.server.http import Endpoint, Front, Handler, error
from devote.server.service import Service
from devote.server.settings import Settings


async def read_openapi(service: Service, request: Request) -> Response:
    """The description of all routes but this one."""
    text = files("devote.server").joinpath("openapi.json").read_bytes()
    return Response(text, media_type="application/json")


ROUTES: dict[str, dict[str, Handler]] = {
    "/experiments/{name}/tally": {"GET": devices.read_tally},
    "/experiments/{name}/messages": {"GET": devices.read_messages, "POST": devices.post_message},
    "/experiments/{name}/log/{board}/{page}": {"GET": devices.read_page},
    "/experiments/{name}/stream": {"GET": devices.read_stream},
    "/experiments/{name}/join": {"POST": devices.join},
    "/experiments/{name}/enrolments": {"GET": devices.read_voters, "POST": devices.enrol},
    "/experiments/{name}": {"GET": devices.read_experiment, "DELETE": operator.delete_experiment},
    "/experiments/{name}/standing": {
        "GET": devices.read_standing,
        "POST": operator.change_standing,
    },
    "/experiments/{name}/invites": {
        "POST": operator.create_invites,
        "DELETE": operator.revoke_all_invites,
    },
    "/experiments/{name}/revocations": {"POST": operator.revoke},
    "/experiments/{name}/withdrawals": {"POST": operator.withdraw},
    "/experiments": {"GET": devices.list_experiments, "POST": operator.create_experiment},
    "/overview": {"GET": operator.read_overview},
    "/health": {"GET": devices.read_health},
    "/metrics": {"GET": operator.read_metrics},
    "/openapi.json": {"GET": read_openapi},
}
"""What is answered, by path and method; what devices ask most often is looked up first."""


def create_app(store: SqliteStore, settings: Settings | None = None) -> Starlette:
    """A server over a store.

    ``app.state.service`` holds its parts, among them the settings with the operator's token.
    """
    service = Service(store, settings or Settings())
    app = Starlette(
        routes=[
            Route(path, Endpoint(service, path, handlers)) for path, handlers in ROUTES.items()
        ],
        middleware=[Middleware(Front, service=service)],
        exception_handlers=dict.fromkeys((DevoteError, HTTPException, ClientDisconnect), error),
    )
    app.router.redirect_slashes = False
    app.state.service = service
    return app
