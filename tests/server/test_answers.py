"""Every odd request has one answer, whichever way it is odd: there is one path.

This corpus once compared two paths; now it pins the one that is left.
"""

import asyncio
import json

import httpx
import pytest
from tests.boards.local import here, scope
from tests.server.live import SPEC, body, enrol, identity, open_store, vote

from devote.protocol.messages import VERSION
from devote.server import Settings, create_app

ALICE, BOB, EVE = (identity(number) for number in (1, 2, 3))
URL = "/experiments/banner"


def post(content, *kinds, name="banner", headers=()):
    content = content if isinstance(content, bytes) else json.dumps(content).encode()
    given = [("Content-Type", kind) for kind in kinds or ("application/json",)]
    return (
        "POST",
        f"/experiments/{name}/messages",
        {"content": content, "headers": [*given, *headers]},
    )


def enrolment(voter, signature):
    content = json.dumps({"voter": voter, "signature": signature})
    headers = {"Content-Type": "application/json"}
    return "POST", f"{URL}/enrolments", {"content": content, "headers": headers}


HERE, ELSEWHERE = scope(SPEC), scope(SPEC.with_(name="other"))
GOOD = body(vote(ALICE))
JSON, SIGNED, FIELDS = "strict JSON", "The signature is not this voter's", "Compare the request"
SIGNED_IT = f"{SIGNED} over this request"
REQUESTS = {
    "a tally": (("GET", f"{URL}/tally", {}), 200, "open"),
    "a tally with a query": (("GET", f"{URL}/tally?x=1", {}), 422, "x: not in a query here"),
    "a page with a query": (("GET", f"{URL}/log/{'0' * 32}/1?k", {}), 422, "not in a query"),
    "an experiment with a query": (("GET", f"{URL}?k=2", {}), 422, "not in a query"),
    "a number twice": (("GET", f"{URL}/messages?after=1&after=2", {}), 422, "twice"),
    "a tally of nothing": (("GET", "/experiments/nothing/tally", {}), 404, "no experiment"),
    "a tally elsewhere": (("GET", "/elsewhere/tally", {}), 404, "no such route"),
    "a tally by another method": (("POST", f"{URL}/tally", {}), 405, "GET only"),
    "an experiment without a name": (("GET", "/experiments/", {}), 404, "no such route"),
    "a stream of nothing": (("GET", "/experiments/nothing/stream", {}), 404, "no experiment"),
    "voters of nothing": (("GET", "/experiments/nothing/enrolments", {}), 404, "no experiment"),
    "a name that is too long": (("GET", f"/experiments/{'x' * 65}", {}), 422, "name: must be"),
    "a method that is none": (("PUT", URL, {}), 405, "DELETE, GET only"),
    "a number below zero": (("GET", f"{URL}/messages?after=-1", {}), 422, "after: must be"),
    "a number that is none": (("GET", f"{URL}/stream?after=x", {}), 422, "after: must be"),
    "no number": (("GET", f"{URL}/messages?after=", {}), 422, "after: must be"),
    "a fraction": (("GET", f"{URL}/stream?after=1e3", {}), 422, "after: must be"),
    "a huge number": (("GET", f"{URL}/messages?after={2**60}", {}), 422, "after: must be"),
    "a limit of none": (("GET", f"{URL}/messages?limit=0", {}), 422, "limit: must be"),
    "a limit beyond": (("GET", f"{URL}/messages?limit=10001", {}), 422, "limit: must be"),
    "voters above no key": (("GET", f"{URL}/enrolments?after=Z", {}), 422, "digits of a key"),
    "voters above too much": (
        ("GET", f"{URL}/enrolments?after={'0' * 65}", {}), 422, "digits of a key",
    ),
    "messages of no key": (("GET", f"{URL}/messages?voter=x", {}), 422, "must be a key"),
    "metrics and a line's end": (("GET", "/metrics%0a", {}), 404, "no such route"),
    "metrics and a zero": (("GET", "/metrics%00", {}), 404, "no such route"),
    "a tally and a line's end": (("GET", f"{URL}/tally%0a", {}), 404, "no such route"),
    "a vote": (post(GOOD), 201, "accepted"),
    "the same again": (post(GOOD), 200, "duplicate"),
    "with a charset": (
        post(body(vote(ALICE, 1)), "application/json; charset=utf-8"), 201, "accepted",
    ),
    "with two types": (
        post(body(vote(ALICE, 2)), "application/json", "text/plain"), 415, "one Content-Type",
    ),
    "with the same type twice": (
        post(body(vote(ALICE, 2)), "application/json", "application/json"), 415, "Content-Type",
    ),
    "with a length that is none": (
        post(body(vote(ALICE, 2)), headers=[("Content-Length", "-1")]), 413, "larger than",
    ),
    "with a length that is too long": (
        post(body(vote(ALICE, 2)), headers=[("Content-Length", "5000")]), 413, "larger than",
    ),
    "with a length of many digits": (
        post(body(vote(ALICE, 2)), headers=[("Content-Length", "9" * 400)]), 413, "larger than",
    ),
    "of one who is not enrolled": (post(body(vote(EVE))), 403, "not enrolled"),
    "forged": (post({**body(vote(BOB)), "signature": "0" * 128}), 403, SIGNED),
    "for another place": (post(body(vote(BOB, 0, experiment="other"))), 403, "'other' was posted"),
    "of a term that never begins": (post(body(vote(BOB, 0, term=3))), 403, "term"),
    "an arm that is not": (post(body(vote(BOB, 9))), 403, "arm=9 must be"),
    "to nothing": (post(GOOD, name="nothing"), 404, "no experiment"),
    "not JSON": (post(b"{"), 422, JSON),
    "not even text": (post(b"\xff"), 422, JSON),
    "a field twice": (post(b'{"message": {}, "message": {}, "signature": ""}'), 422, JSON),
    "NaN": (post(b'{"message": NaN, "signature": ""}'), 422, JSON),
    "a field too many": (post({**GOOD, "more": 1}), 422, "more: not a field"),
    "no object": (post([1]), 422, FIELDS),
    "another type": (post({**GOOD, "signature": 7}), 422, "signature: must be a text"),
    "half a surrogate": (post({**GOOD, "signature": "\ud800"}), 422, JSON),
    "a form": (post(b"message=1", "application/x-www-form-urlencoded"), 415, "must be application"),
    "too long": (post(b" " * 5_000), 413, "larger than 4096 bytes"),
    "nothing": (post(b""), 422, JSON),
    "nested": (post(b"[" * 4_000), 422, JSON),
    "a long number": (post(b'{"message": ' + b"9" * 4_000 + b"}"), 422, "message: must be"),
    "a key that is another's": (enrolment(EVE.voter, ALICE.sign_enrolment(HERE)), 403, SIGNED_IT),
    "a key for elsewhere": (enrolment(EVE.voter, EVE.sign_enrolment(ELSEWHERE)), 403, SIGNED_IT),
    "a key in capitals": (enrolment(EVE.voter.upper(), EVE.sign_enrolment(HERE)), 403, SIGNED_IT),
    "a key of half a surrogate": (enrolment("\ud800", EVE.sign_enrolment(HERE)), 422, JSON),
    "enrolled": (enrolment(ALICE.voter, ALICE.sign_enrolment(HERE)), 200, "duplicate"),
    "a tally after it all": (("GET", f"{URL}/tally", {}), 200, '"number":2'),
}  # fmt: skip


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What a server answers to all of them, one after another."""

    async def main():
        with open_store(tmp_path_factory.mktemp("board") / "x.db") as store:
            store.create(here(SPEC))
            for voter in (ALICE, BOB):
                enrol(store, voter)
            transport = httpx.ASGITransport(create_app(store, Settings()))
            async with httpx.AsyncClient(transport=transport, base_url="http://devote") as client:
                return {
                    name: await client.request(method, url, **options)
                    for name, ((method, url, options), _, _) in REQUESTS.items()
                }

    return asyncio.run(main())


@pytest.mark.parametrize("name", REQUESTS)
def test_each_request_has_its_one_answer(answers, name):
    _, status, text = REQUESTS[name]
    answer = answers[name]
    assert (answer.status_code, text in answer.text) == (status, True), answer.text
    assert answer.headers["Devote-Version"] == str(VERSION)
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    if status >= 400:
        assert "\n" in answer.json()["error"], "what is wrong, and what to do"
        assert answer.headers["Cache-Control"] == "no-store"
