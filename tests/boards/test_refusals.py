"""Attacks on the server: each is refused with the right status, and none changes the board."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from tests.boards.local import here, scope
from tests.server.live import OPERATOR, SPEC, api, body, enrol, enrolled, identity, invites, vote

from devote.boards.board import Envelope
from devote.protocol import ExperimentSpec
from devote.protocol.messages import to_dict
from devote.schemes import Claim, Reset, Vote

ALICE, BOB, EVE = identity(1), identity(2), identity(666)
URL = "/experiments/banner/messages"


@asynccontextmanager
async def unchanged(tmp_path, **limits):
    """An API with two enrolled voters and one vote; at the end the board must be as it was."""
    async with api(tmp_path / "board.db", **limits) as server:
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


def _attack(tmp_path, envelope, status, *, name="banner"):
    async def main():
        async with unchanged(tmp_path) as server:
            answer = await server.post(envelope, name)
            assert answer.status_code == status, answer.text
            if status != 200:
                assert answer.json()["error"]
            assert answer.headers["Devote-Version"] == "2"

    asyncio.run(main())


def test_a_forged_signature_is_refused(tmp_path):
    _attack(tmp_path, Envelope(vote(BOB, 2).message, "ab" * 64), 403)


def test_a_vote_replayed_to_another_experiment_is_refused(tmp_path):
    _attack(tmp_path, vote(ALICE), 403, name="other")


def test_a_vote_rewritten_for_another_experiment_is_refused(tmp_path):
    rewritten = Envelope(Vote("other", 0, 0, ALICE.voter), vote(ALICE).signature)
    _attack(tmp_path, rewritten, 403, name="other")


def test_a_vote_replayed_in_another_term_is_refused(tmp_path):
    _attack(tmp_path, Envelope(Vote("banner", 1, 0, ALICE.voter), vote(ALICE).signature), 403)


def test_a_vote_under_anothers_key_is_refused(tmp_path):
    message = Vote("banner", 0, 1, BOB.voter)
    _attack(tmp_path, Envelope(message, vote(EVE, 1).signature), 403)


def test_a_second_vote_is_a_duplicate_and_counts_nothing(tmp_path):
    _attack(tmp_path, vote(ALICE), 200)


def test_a_vote_of_a_voter_who_is_not_enrolled_is_refused(tmp_path):
    _attack(tmp_path, vote(EVE), 403)


def test_a_vote_for_an_unknown_arm_is_refused(tmp_path):
    _attack(tmp_path, vote(ALICE, arm=SPEC.n_arms), 403)


def test_a_vote_for_an_unknown_experiment_is_not_found(tmp_path):
    _attack(tmp_path, vote(ALICE, experiment="nowhere"), 404, name="nowhere")


def test_a_reset_where_nothing_resets_is_refused_as_it_would_void_every_vote(tmp_path):
    _attack(tmp_path, ALICE.sign(Reset("banner", 7, ALICE.voter), scope(SPEC)), 403)


def test_a_message_of_another_scheme_is_refused(tmp_path):
    _attack(tmp_path, ALICE.sign(Claim("banner", ALICE.voter), scope(SPEC)), 403)


def _raw(tmp_path, content, status, *, url=URL, headers=None, **limits):
    async def main():
        async with unchanged(tmp_path, **limits) as server:
            kind = {"Content-Type": "application/json"}
            answer = await server.client.post(
                url, content=content, headers=kind if headers is None else headers
            )
            assert answer.status_code == status, answer.text
            assert answer.json()["error"]

    asyncio.run(main())


def test_an_oversized_body_is_refused(tmp_path):
    _raw(tmp_path, b" " * 5_000, 413)


def test_an_oversized_body_of_unknown_length_is_refused_before_it_ends(tmp_path):
    async def endless():
        while True:
            yield b" " * 1_000

    _raw(tmp_path, endless(), 413)


def test_a_body_that_is_not_json_by_its_type_is_refused(tmp_path):
    _raw(tmp_path, json.dumps(body(vote(BOB))).encode(), 415, headers={"Content-Type": "text/x"})


MALFORMED = {
    "empty": b"",
    "not JSON": b"{",
    "not an object": b"[]",
    "no fields": b"{}",
    "NaN": b'{"message": NaN, "signature": "00"}',
    "not UTF-8": b'{"message": "\xff", "signature": "00"}',
    "nested": b"[" * 4_000,
    "a long number": b'{"message": ' + b"9" * 4_000 + b"}",
    "a field twice": b'{"signature": "", "signature": "", "message": {}}',
    "a further field": json.dumps({**body(vote(BOB)), "x": 1}).encode(),
    "a reward": json.dumps(
        {"message": {**to_dict(vote(BOB).message), "reward": 1.0}, "signature": "0" * 128}
    ).encode(),
    "signature not text": json.dumps({**body(vote(BOB)), "signature": 5}).encode(),
    "another version": json.dumps(
        {"message": {**to_dict(vote(BOB).message), "v": 1}, "signature": "0" * 128}
    ).encode(),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_body_is_refused(tmp_path, case):
    _raw(tmp_path, MALFORMED[case], 422)


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
            made = await server.client.post(
                "/experiments",
                json={"spec": spec.to_dict(), "enrolment": "invite"},
                headers=OPERATOR,
            )
            assert made.status_code == 201
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


def test_no_more_are_enrolled_than_there_are_players(tmp_path):
    async def main():
        async with api(tmp_path / "board.db") as server:
            spec = ExperimentSpec(arms=3, name="small", scheme={"quorum": 2})
            server.store.create(here(spec, players=2))
            outcomes = [enrol(server.store, identity(n), "small").outcome for n in (1, 2, 3, 2)]
            assert outcomes == ["accepted", "accepted", "refused", "duplicate"]

    asyncio.run(main())


@pytest.mark.parametrize("token", [None, "", "Bearer ", "Bearer wrong", "Basic x", "Bearer é"])
def test_the_operators_calls_need_the_token(tmp_path, token):
    async def main():
        async with unchanged(tmp_path) as server:
            headers = [] if token is None else [(b"Authorization", token.encode("latin-1"))]
            for url, content in [
                ("/experiments", {"spec": {"arms": 3, "name": "mine"}}),
                ("/experiments/banner/invites", {"count": 1}),
            ]:
                answer = await server.client.post(url, json=content, headers=headers)
                assert answer.status_code == 401
            assert len(server.store.experiments()) == 2

    asyncio.run(main())
