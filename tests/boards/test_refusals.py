"""Attacks on the server: each is refused with the right status, and none changes the board."""

import asyncio
import json
from contextlib import asynccontextmanager

from tests.boards.local import here, scope
from tests.server.live import OPERATOR, SPEC, api, body, enrol, enrolled, identity, invites, vote

from devote.boards.board import Envelope
from devote.protocol.messages import to_dict
from devote.schemes import Claim, Reset, Vote

ALICE, BOB, EVE = identity(1), identity(2), identity(666)
URL = "/experiments/banner/messages"


@asynccontextmanager
async def unchanged(tmp_path):
    """An API with two enrolled voters and one vote; at the end the board must be as it was."""
    async with api(tmp_path / "board.db") as server:
        server.store.create(here(SPEC.with_(name="other")))
        for voter in (ALICE, BOB):
            for name in ("banner", "other"):
                enrol(server.store, voter, name)
        assert (await server.post(vote(ALICE))).status_code == 201
        before = (await server.client.get(URL)).content
        yield server
        assert (await server.client.get(URL)).content == before
        assert server.store.rows("other") == (0, [])
        assert enrolled(server.store) == sorted([ALICE.voter, BOB.voter])
        assert (await server.client.get("/health")).status_code == 200
        assert (await server.post(vote(BOB))).status_code == 201, "the server still works"


ATTACKS = {
    "a forged signature": (Envelope(vote(BOB, 2).message, "ab" * 64), "banner", 403),
    "replayed to another experiment": (vote(ALICE), "other", 403),
    "rewritten for another experiment": (
        Envelope(Vote("other", 0, 0, ALICE.voter), vote(ALICE).signature),
        "other",
        403,
    ),
    "replayed in another term": (
        Envelope(Vote("banner", 1, 0, ALICE.voter), vote(ALICE).signature),
        "banner",
        403,
    ),
    "under another's key": (
        Envelope(Vote("banner", 0, 1, BOB.voter), vote(EVE, 1).signature),
        "banner",
        403,
    ),
    "a duplicate": (vote(ALICE), "banner", 200),
    "not enrolled": (vote(EVE), "banner", 403),
    "an unknown arm": (vote(ALICE, arm=SPEC.n_arms), "banner", 403),
    "an unknown experiment": (vote(ALICE, experiment="nowhere"), "nowhere", 404),
    "a reset where nothing resets": (
        ALICE.sign(Reset("banner", 7, ALICE.voter), scope(SPEC)),
        "banner",
        403,
    ),
    "another scheme": (ALICE.sign(Claim("banner", ALICE.voter), scope(SPEC)), "banner", 403),
}


def test_an_attack_has_its_status_and_changes_nothing(tmp_path):
    async def main():
        async with unchanged(tmp_path) as server:
            for case, (envelope, name, status) in ATTACKS.items():
                answer = await server.post(envelope, name)
                assert answer.status_code == status, (case, answer.text)
                assert status == 200 or answer.json()["error"]
                assert answer.headers["Devote-Version"] == "2"

    asyncio.run(main())


async def endless():
    while True:
        yield b" " * 1_000


def changed(**fields):
    return json.dumps({**body(vote(BOB)), **fields}).encode()


def message(**fields):
    signed = {"message": {**to_dict(vote(BOB).message), **fields}, "signature": "0" * 128}
    return json.dumps(signed).encode()


MALFORMED = {
    "too long": (b" " * 5_000, 413),
    "without end": (endless, 413),
    "empty": (b"", 422),
    "not JSON": (b"{", 422),
    "not an object": (b"[]", 422),
    "no fields": (b"{}", 422),
    "NaN": (b'{"message": NaN, "signature": "00"}', 422),
    "not UTF-8": (b'{"message": "\xff", "signature": "00"}', 422),
    "nested": (b"[" * 4_000, 422),
    "a long number": (b'{"message": ' + b"9" * 4_000 + b"}", 422),
    "a field twice": (b'{"signature": "", "signature": "", "message": {}}', 422),
    "a further field": (changed(x=1), 422),
    "signature not text": (changed(signature=5), 422),
    "a reward": (message(reward=1.0), 422),
    "another version": (message(v=1), 422),
}


def test_a_malformed_body_is_refused(tmp_path):
    async def main():
        async with unchanged(tmp_path) as server:
            for case, (content, status) in MALFORMED.items():
                content = content() if callable(content) else content
                kind = {"Content-Type": "application/json"}
                answer = await server.client.post(URL, content=content, headers=kind)
                assert answer.status_code == status, (case, answer.text)
                assert answer.json()["error"]
            kind = {"Content-Type": "text/x"}
            answer = await server.client.post(URL, content=changed(), headers=kind)
            assert answer.status_code == 415

    asyncio.run(main())


def test_only_whoever_holds_the_key_is_enrolled(tmp_path):
    async def main():
        async with unchanged(tmp_path) as server:
            url = "/experiments/banner/enrolments"
            for voter, signature, status in [
                (EVE.voter, ALICE.sign_enrolment(scope(SPEC)), 403),
                (EVE.voter, EVE.sign_enrolment(scope(SPEC.with_(name="other"))), 403),
                (EVE.voter.upper(), EVE.sign_enrolment(scope(SPEC)), 403),
                ("\ud800", EVE.sign_enrolment(scope(SPEC)), 422),
                (EVE.voter, 7, 422),
                (ALICE.voter, ALICE.sign_enrolment(scope(SPEC)), 200),
            ]:
                text = json.dumps({"voter": voter, "signature": signature})
                answer = await server.client.post(
                    url, content=text, headers={"Content-Type": "application/json"}
                )
                assert answer.status_code == status, (voter, answer.text)

    asyncio.run(main())


def test_an_invite_enrols_one_device_and_is_then_used(tmp_path):
    async def main():
        async with api(tmp_path / "board.db") as server:
            spec = SPEC.with_(name="closed")
            server.store.create(here(spec, "invite"))
            answer = await server.client.post(
                "/experiments/closed/invites", json={"count": 2}, headers=OPERATOR
            )
            first, second = answer.json()["invites"]

            async def ask(voter, **invite):
                signature = voter.sign_enrolment(server.store.scope("closed"))
                request = {"voter": voter.voter, "signature": signature, **invite}
                answer = await server.client.post("/experiments/closed/enrolments", json=request)
                return answer.status_code

            assert await ask(EVE) == 403
            assert await ask(EVE, invite="guess") == 403
            assert await ask(ALICE, invite=first) == 201
            assert await ask(ALICE, invite=first) == 200, "the answer was lost, so it asks again"
            assert await ask(BOB, invite=first) == 403
            assert invites(server.store, "closed") == (2, 1)
            assert await ask(BOB, invite=second) == 201
            assert enrolled(server.store, "closed") == sorted([ALICE.voter, BOB.voter])
            assert first.encode() not in (tmp_path / "board.db-wal").read_bytes()

    asyncio.run(main())
