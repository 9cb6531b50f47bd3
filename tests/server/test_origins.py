"""Pages of other sites get what a device needs if the operator names them, and nothing if not."""

from functools import partial

import pytest
from tests.server.live import OPERATOR, served

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
ALLOWED = "access-control-allow-origin"
named = partial(served, origins=(SHOP,))


async def ask(server, method, path, origin=SHOP, headers=None, **options):
    headers = {**({"Origin": origin} if origin else {}), **(headers or {})}
    return await server.client.request(method, path, headers=headers, **options)


async def preflight(server, method, path, origin=SHOP):
    headers = {
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": "content-type",
    }
    return await ask(server, "OPTIONS", path, origin, headers)


@named()
async def test_a_named_origin_gets_the_routes_of_devices_and_no_credentials(server):
    for path, methods in DEVICES.items():
        for method in methods:
            asked = await preflight(server, method, BASE + path)
            assert (asked.status_code, asked.headers[ALLOWED]) == (200, SHOP)
            assert "Content-Type" in asked.headers["access-control-allow-headers"]
            assert method in asked.headers["access-control-allow-methods"].split(", ")
            assert asked.headers["devote-version"] == "2"
            assert "access-control-allow-credentials" not in asked.headers
    answer = await ask(server, "GET", f"{BASE}/tally")
    assert answer.headers[ALLOWED] == SHOP
    assert "Devote-Version" in answer.headers["access-control-expose-headers"]
    assert not {"access-control-allow-credentials", "set-cookie"} & set(answer.headers)
    missing = await ask(server, "GET", "/experiments/nothing")  # a page can read why
    assert (missing.status_code, missing.headers[ALLOWED]) == (404, SHOP)
    for origin in (None, SHOP, OTHER):  # a cache keeps them apart
        answer = await ask(server, "GET", f"{BASE}/tally", origin)
        assert answer.headers["vary"] == "Origin"


async def check_others(server, refused):
    for path, methods in DEVICES.items():
        for method in methods:
            asked = await preflight(server, method, BASE + path)
            assert asked.status_code == refused
            assert ALLOWED not in asked.headers
    answer = await ask(server, "GET", BASE)
    assert answer.status_code == 200
    assert ALLOWED not in answer.headers


@served()
async def test_no_origin_gets_anything_if_none_is_named(server):
    await check_others(server, 405)


@served(origins=(OTHER,))
async def test_no_other_origin_gets_anything(server):
    await check_others(server, 400)


@named()
async def test_the_operators_calls_and_the_page_are_for_no_page_of_another_site(server):
    outside = [("POST", "/experiments"), ("GET", "/experiments"), ("POST", f"{BASE}/invites")]
    outside += [("GET", f"{BASE}/stream"), ("GET", "/metrics"), ("GET", "/health")]
    for method, path in outside:
        assert ALLOWED not in (await preflight(server, method, path)).headers
    content = {"count": 1}
    invites = await ask(server, "POST", f"{BASE}/invites", headers=OPERATOR, json=content)
    assert (invites.status_code, ALLOWED in invites.headers) == (201, False)
    voters = await ask(server, "GET", f"{BASE}/enrolments")  # of this path, devices only post
    assert ALLOWED not in voters.headers
    assert (await ask(server, "OPTIONS", BASE)).status_code == 405  # no preflight


@named()
async def test_what_a_page_could_post_without_asking_first_is_refused(server):
    """A form's content types need no preflight; none of them is JSON."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None):
        headers = {"Content-Type": kind} if kind else {}
        posted = await ask(server, "POST", f"{BASE}/messages", headers=headers, content=b"{}")
        assert posted.status_code == 415


@pytest.mark.parametrize(
    "origin",
    ["*", "null", "", "shop.example", "https://", "https://shop.example/", "https://a@shop.example",
     "https://Shop.example", "https://*.shop.example", "ftp://shop.example",
     "https://shop.example:443", "http://shop.example:80", "https://shöp.example"],
)  # fmt: skip
def test_an_origin_that_no_browser_sends_is_refused(origin):
    with pytest.raises(ServerError, match="Give each origin on its own"):
        check_origin(origin)
