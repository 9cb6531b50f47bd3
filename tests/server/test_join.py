"""One request to join: all that a device needs, and its enrolment if what it pins is there."""

import json
from dataclasses import replace
from functools import partial

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from tests.boards.local import here
from tests.server.live import body, enrolled, identity, invites, served, vote

from devote.boards.board import BoardRefused, EnrolmentRefused, Outcome
from devote.boards.http import HttpBoard
from devote.boards.identity import hash_of
from devote.protocol import ExperimentSpec
from devote.protocol.messages import VERSION, Scope, signed_bytes
from devote.schemes import Survey

ALICE, BOB = identity(1), identity(2)
SURVEY = ExperimentSpec(arms=4, name="survey", scheme=Survey(privacy=2.0))
PLAIN = ExperimentSpec(arms=4, name="plain", scheme=Survey(None))
surveyed = partial(served, voters=0, opened=(here(SURVEY, "invite"), here(PLAIN)))


def request(voter, name="survey", invite=None, **pins):
    asked = {"v": VERSION, "voter": voter.voter, "signature": voter.sign_join(name, invite), **pins}
    return asked if invite is None else {**asked, "invite": invite}


async def ask(server, asked, name="survey", **headers):
    headers = {"Content-Type": "text/plain", **headers}
    url = f"/experiments/{name}/join"
    return await server.client.post(url, content=json.dumps(asked), headers=headers)


def test_what_is_signed_is_the_name_the_voter_and_the_hash_of_the_invite():
    for invite, hashed in ((None, "-"), ("q7Lw", hash_of("q7Lw"))):
        fields = {"experiment": "banner", "voter": ALICE.voter, "invite": hashed}
        signed = signed_bytes("join", fields, Scope("-", "-"))
        assert signed == f"devote/2 join - - banner {hashed} {ALICE.voter}".encode()
        signature = bytes.fromhex(ALICE.sign_join("banner", invite))
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(ALICE.voter)).verify(signature, signed)


@surveyed()
async def test_one_request_tells_all_and_enrols(server):
    (invite,) = server.store.invite("survey", 1)
    answer = await ask(server, request(ALICE, invite=invite, privacy=2.0))
    joined = answer.json()
    assert (answer.status_code, joined["outcome"]) == (200, "accepted")
    assert {name: joined[name] for name in ("spec", "board", "fingerprint", "enrolment")} == {
        "spec": SURVEY.to_dict(),
        "board": server.store.scope("survey").board,
        "fingerprint": SURVEY.fingerprint,
        "enrolment": "invite",
    }
    assert joined["tally"] == (await server.client.get("/experiments/survey/tally")).json()
    assert joined["messages"] == []
    assert enrolled(server.store, "survey") == [ALICE.voter]
    again = (await ask(server, request(ALICE, invite=invite))).json()
    assert again["outcome"] == "duplicate"
    assert answer.headers["Cache-Control"] == "no-store"


@served(voters=2)
async def test_a_device_gets_its_own_earlier_messages_and_nobody_elses(server):
    for voter in (ALICE, BOB):
        assert (await server.post(vote(voter))).status_code == 201
    joined = (await ask(server, request(BOB, "banner"), "banner")).json()
    own = {"number": 2, **body(vote(BOB))}
    assert (joined["outcome"], joined["messages"]) == ("duplicate", [own])


@served(voters=1)
async def test_a_request_that_is_not_signed_gets_nobody_s_messages(server):
    assert (await server.post(vote(ALICE))).status_code == 201
    forged = {**request(ALICE, "banner"), "signature": "0" * 128}
    for asked in (forged, {**forged, "fingerprint": "0" * 64}):
        assert (await ask(server, asked, "banner")).json()["messages"] == []


@pytest.mark.parametrize(
    ("name", "pins"),
    [
        ("survey", {"privacy": 1.0}),
        ("plain", {"privacy": 9.0}),
        ("banner", {"privacy": 9.0}),
        ("survey", {"fingerprint": "0" * 64}),
        ("survey", {"privacy": 2.0, "fingerprint": PLAIN.fingerprint}),
    ],
)
@surveyed()
async def test_what_the_device_would_refuse_enrols_nobody_and_takes_no_invite(server, name, pins):
    invite = server.store.invite("survey", 1)[0] if name == "survey" else None
    answer = await ask(server, request(ALICE, name, invite, **pins), name)
    assert (answer.status_code, answer.json()["outcome"]) == (200, "mismatch")
    assert "nothing was enrolled" in answer.json()["reason"]
    assert enrolled(server.store, name) == []
    if invite is not None:
        assert invites(server.store, "survey") == (1, 0)
        assert (await ask(server, request(BOB, invite=invite))).json()["outcome"] == "accepted"


@pytest.mark.parametrize("pins", [{}, {"privacy": 2}, {"privacy": 2.5}, {"privacy": None}])
@surveyed()
async def test_what_is_at_least_as_private_as_pinned_is_joined(server, pins):
    (invite,) = server.store.invite("survey", 1)
    assert (await ask(server, request(ALICE, invite=invite, **pins))).json()[
        "outcome"
    ] == "accepted"


@surveyed()
async def test_a_refusal_tells_why_and_takes_nothing(server):
    (invite,) = server.store.invite("survey", 1)
    cases = {
        "needs an invite": request(ALICE),
        "used already, expired, revoked or unknown": request(ALICE, invite="x" * 22),
        "The signature": {**request(ALICE, invite=invite), "invite": "x" * 22},
        "not this voter's": {**request(ALICE, invite=invite), "voter": BOB.voter},
        "over this request": request(ALICE, "banner", invite),
    }
    for reason, asked in cases.items():
        joined = (await ask(server, asked)).json()
        assert joined["outcome"] == "refused", reason
        assert reason in joined["reason"]
    server.store.create(here(SURVEY.with_(name="other"), "invite"))
    elsewhere = await ask(server, request(ALICE, "other", invite), "other")
    assert elsewhere.json()["outcome"] == "refused", "an invite for another experiment"
    assert invites(server.store, "survey") == (1, 0)
    server.store.change("survey", state="closed")
    joined = (await ask(server, request(ALICE, invite=invite))).json()
    assert (joined["outcome"], joined["cause"]) == ("refused", "closed")
    assert enrolled(server.store, "survey") == []


@surveyed()
async def test_a_request_that_is_malformed_is_refused(server):
    for change in (
        {"v": 1},
        {"v": None},
        {"voter": 7},
        {"more": 1},
        {"privacy": "1"},
        {"privacy": 0},
        {"privacy": True},
        {"fingerprint": 1},
        {"invite": "x" * 201},
    ):
        answer = await ask(server, {**request(ALICE, "banner"), **change}, "banner")
        assert answer.status_code == 422, change
    assert enrolled(server.store) == []
    assert (await ask(server, request(ALICE, "nothing"), "nothing")).status_code == 404


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 200),
        ("https://shop.example", 200),
        ("http://devote", 200),
        ("https://other.example", 403),
        ("null", 403),
    ],
)
@surveyed(origins=("https://shop.example",))
async def test_a_page_needs_no_preflight_and_one_of_an_unnamed_origin_may_not(
    server, origin, status
):
    headers = {} if origin is None else {"Origin": origin}
    answer = await ask(server, request(ALICE, "banner"), "banner", **headers)
    assert answer.status_code == status
    assert enrolled(server.store) == ([ALICE.voter] if status == 200 else [])
    allowed = answer.headers.get("Access-Control-Allow-Origin")
    assert allowed == (origin if origin == "https://shop.example" else None)


@pytest.mark.parametrize("kind", ["text/plain;charset=UTF-8", "application/json", None])
@surveyed()
async def test_the_body_may_have_the_type_that_a_browser_gives_it(server, kind):
    content = json.dumps(request(ALICE, "banner")).encode()
    headers = {} if kind is None else {"Content-Type": kind}
    answer = await server.client.post("/experiments/banner/join", content=content, headers=headers)
    assert answer.json()["outcome"] == "accepted"


@surveyed()
async def test_a_board_over_http_joins_with_one_request(server):
    asked = []

    async def note(request):
        asked.append(request)

    def board_of(name):
        return HttpBoard(f"http://devote/experiments/{name}", server.client)

    (invite,) = server.store.invite("survey", 1)
    server.client.event_hooks["request"].append(note)
    board = board_of("survey")
    joined = await board.join(ALICE, invite, privacy=2.0, fingerprint=SURVEY.fingerprint)
    assert len(asked) == 1
    assert joined.outcome == "accepted"
    assert joined.experiment.spec == SURVEY
    assert joined.tally == replace(await board.tally(), signed=None)
    assert await board.enrol(ALICE) is Outcome.DUPLICATE
    refused = await board_of("survey").join(BOB)
    assert (refused.outcome, "needs an invite" in refused.reason) == ("refused", True)
    with pytest.raises(EnrolmentRefused):
        await board.enrol(BOB)
    assert (await board_of("plain").join(BOB, privacy=1.0)).outcome == "mismatch"


@served()
async def test_an_answer_whose_tally_is_of_another_board_is_not_believed(server):
    answer = (await ask(server, request(ALICE, "banner"), "banner")).json()
    answer["tally"]["board"] = "f" * 32

    def lie(request):
        return httpx.Response(200, json=answer, headers={"Devote-Version": str(VERSION)})

    async with httpx.AsyncClient(transport=httpx.MockTransport(lie)) as client:
        with pytest.raises(BoardRefused, match="is not a devote server"):
            await HttpBoard("http://devote/experiments/banner", client).join(ALICE)


@served(voters=0, write_rate=0.01, write_burst=1.0)
async def test_joins_are_limited_as_enrolments_are(server):
    first = await ask(server, request(ALICE, "banner"), "banner")
    assert first.json()["outcome"] == "accepted"
    assert (await ask(server, request(BOB, "banner"), "banner")).status_code == 429
