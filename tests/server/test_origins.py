"""Pages of other sites get what a device needs if the operator names them, and nothing if not."""

import asyncio

import httpx
import pytest
from tests.server.live import OPERATOR, SPEC, TOKEN, open_store

from devote.boards.board import Experiment
from devote.server import Settings, create_app
from devote.server.limits import ServerError, check_origin

SHOP, OTHER = "https://shop.example", "https://other.example"
BASE = "/experiments/banner"
DEVICES = {
    "": ("GET",),
    "/join": ("POST",),
    "/enrolments": ("POST",),
    "/messages": ("GET", "POST"),
    "/tally": ("GET",),
}
GRANTS = ("access-control-allow-origin", "access-control-allow-methods")


@pytest.fixture
def ask(tmp_path):
    """Asks a server that allows the given origins, in this process."""
    with open_store(tmp_path / "server.db") as store:
        store.create(Experiment(SPEC))

        def make(*origins: str):
            app = create_app(store, Settings(token=TOKEN, origins=origins))
            transport = httpx.ASGITransport(app)

            async def ask(method, path, origin=SHOP, headers=None, **options):
                headers = {**({"Origin": origin} if origin else {}), **(headers or {})}
                async with httpx.AsyncClient(transport=transport, base_url="http://devote") as it:
                    return await it.request(method, path, headers=headers, **options)

            return lambda *words, **options: asyncio.run(ask(*words, **options))

        yield make


def preflight(ask, method, path, origin=SHOP):
    headers = {
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": "content-type",
    }
    return ask("OPTIONS", path, origin, headers=headers)


def test_a_named_origin_gets_the_routes_of_devices(ask):
    request = ask(SHOP)
    for path, methods in DEVICES.items():
        for method in methods:
            asked = preflight(request, method, BASE + path)
            assert asked.status_code == 200
            assert asked.headers["access-control-allow-origin"] == SHOP
            assert "Content-Type" in asked.headers["access-control-allow-headers"]
            assert method in asked.headers["access-control-allow-methods"].split(", ")
            assert asked.headers["devote-version"] == "2"
    told = request("GET", f"{BASE}/tally")
    assert told.headers["access-control-allow-origin"] == SHOP
    assert "Devote-Version" in told.headers["access-control-expose-headers"]
    assert told.headers["vary"] == "Origin"
    missing = request("GET", "/experiments/nothing")  # a page can read why
    assert (missing.status_code, missing.headers["access-control-allow-origin"]) == (404, SHOP)


@pytest.mark.parametrize("allowed", [(), (OTHER,)])
def test_no_other_origin_gets_anything(ask, allowed):
    request = ask(*allowed)
    for path, methods in DEVICES.items():
        for method in methods:
            asked = preflight(request, method, BASE + path)
            assert asked.status_code == (400 if allowed else 405)
            assert GRANTS[0] not in asked.headers
    told = request("GET", BASE)
    assert told.status_code == 200
    assert not set(GRANTS) & set(told.headers)
    assert "vary" not in told.headers or allowed


def test_a_cache_keeps_the_answers_to_different_origins_apart(ask):
    request = ask(SHOP)
    for origin in (None, SHOP, OTHER):
        assert request("GET", f"{BASE}/tally", origin).headers["vary"] == "Origin"


def test_the_operators_calls_and_the_page_are_for_no_page_of_another_site(ask):
    request = ask(SHOP)
    outside = [("POST", "/experiments"), ("GET", "/experiments"), ("POST", f"{BASE}/invites")]
    outside += [("GET", f"{BASE}/stream"), ("GET", "/metrics"), ("GET", "/health")]
    for method, path in outside:
        assert not set(GRANTS) & set(preflight(request, method, path).headers)
    invites = request("POST", f"{BASE}/invites", headers=OPERATOR, json={"count": 1})
    assert invites.status_code == 201
    assert not set(GRANTS) & set(invites.headers)
    voters = request("GET", f"{BASE}/enrolments")  # of this path, devices only post
    assert not set(GRANTS) & set(voters.headers)


def test_credentials_are_never_allowed_and_no_cookie_is_set(ask):
    request = ask(SHOP)
    for answer in (preflight(request, "POST", f"{BASE}/messages"), request("GET", BASE)):
        assert "access-control-allow-credentials" not in answer.headers
        assert "set-cookie" not in answer.headers


def test_what_a_page_could_post_without_asking_first_is_refused(ask):
    """A form's content types need no preflight; none of them is JSON."""
    request = ask(SHOP)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None):
        headers = {"Content-Type": kind} if kind else {}
        posted = request("POST", f"{BASE}/messages", headers=headers, content=b"{}")
        assert posted.status_code == 415


def test_options_without_a_preflight_is_no_route(ask):
    assert ask(SHOP)("OPTIONS", BASE).status_code == 405


@pytest.mark.parametrize(
    "origin",
    ["*", "null", "", "shop.example", "https://", "https://shop.example/", "https://a@shop.example",
     "https://Shop.example", "https://*.shop.example", "ftp://shop.example",
     "https://shop.example:443", "http://shop.example:80", "https://shöp.example"],
)  # fmt: skip
def test_an_origin_that_no_browser_sends_is_refused(origin):
    with pytest.raises(ServerError, match="Give each origin on its own"):
        check_origin(origin)
