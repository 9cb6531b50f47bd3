"""What is answered before the framework is answered just as the framework would."""

import asyncio
import json

import httpx
import pytest
from tests.boards.local import here
from tests.server.live import SPEC, body, enrol, identity, open_store, vote

from devote.server import Settings, create_app
from devote.server.hot import HotPath

ALICE, BOB, EVE = (identity(number) for number in (1, 2, 3))
URL = "/experiments/banner"


def post(content, kind="application/json", name="banner"):
    content = content if isinstance(content, bytes) else json.dumps(content).encode()
    headers = {"Content-Type": kind}
    return "POST", f"/experiments/{name}/messages", {"content": content, "headers": headers}


GOOD = body(vote(ALICE))
REQUESTS = {
    "a tally that is not known yet": ("GET", f"{URL}/tally", {}),
    "a tally": ("GET", f"{URL}/tally", {}),
    "a tally with a query": ("GET", f"{URL}/tally?x=1", {}),
    "a tally of nothing": ("GET", "/experiments/nothing/tally", {}),
    "a tally elsewhere": ("GET", "/elsewhere/tally", {}),
    "a tally by another method": ("POST", f"{URL}/tally", {}),
    "a vote": post(GOOD),
    "the same again": post(GOOD),
    "with a charset": post(body(vote(ALICE, 1)), "application/json; charset=utf-8"),
    "a tally after it": ("GET", f"{URL}/tally", {}),
    "of one who is not enrolled": post(body(vote(EVE))),
    "forged": post({**body(vote(BOB)), "signature": "0" * 128}),
    "for another place": post(body(vote(BOB, 0, experiment="other"))),
    "of a term that never begins": post(body(vote(BOB, 0, term=3))),
    "an arm that is not": post(body(vote(BOB, 9))),
    "to nothing": post(GOOD, name="nothing"),
    "not JSON": post(b"{"),
    "not even text": post(b"\xff"),
    "a field twice": post(b'{"message": {}, "message": {}, "signature": ""}'),
    "NaN": post(b'{"message": NaN, "signature": ""}'),
    "a field too many": post({**GOOD, "more": 1}),
    "no object": post([1]),
    "another type": post({**GOOD, "signature": 7}),
    "a form": post(b"message=1", "application/x-www-form-urlencoded"),
    "too long": post(b" " * 5_000),
    "nothing": post(b""),
}


def answers(path, *, hot, **limits):
    """What a server answers to all of them, one after another."""

    async def main():
        with open_store(path) as store:
            store.create(here(SPEC))
            for voter in (ALICE, BOB):
                enrol(store, voter)
            app = create_app(store, Settings(**limits))
            if not hot:
                kept = [each for each in app.user_middleware if each.cls is not HotPath]
                app.user_middleware = kept
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://devote") as client:
                found = {}
                for name, (method, url, options) in REQUESTS.items():
                    answer = await client.request(method, url, **options)
                    found[name] = answer.status_code, dict(answer.headers), answer.json()
                    tag = answer.headers.get("ETag")
                    if tag and url.endswith("/tally"):
                        same = await client.get(url, headers={"If-None-Match": f'"x", W/{tag}'})
                        found[f"{name}, known"] = same.status_code, dict(same.headers), same.content
                return found

    return asyncio.run(main())


@pytest.mark.parametrize("limits", [{}, {"write_rate": 1e-9, "write_burst": 3.0}])
def test_both_ways_give_the_same_answers(tmp_path, limits):
    hot = answers(tmp_path / "hot.db", hot=True, **limits)
    long = answers(tmp_path / "long.db", hot=False, **limits)
    assert len(hot) == len(REQUESTS) + 3
    for name, answer in long.items():
        assert hot[name] == answer, name
