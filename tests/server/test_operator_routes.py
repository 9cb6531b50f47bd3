"""The operator's routes: for the operator only, and what they tell everybody else."""

import asyncio

import pytest
from tests.boards.local import here
from tests.server.live import OPERATOR, SPEC, api, enrol, identity, vote

from devote.page import add_page
from devote.page.page import EVERY

ALICE = identity(1)
URL = "/experiments/banner"


def run(test, tmp_path, **limits):
    async def main():
        async with asyncio.timeout(30), api(tmp_path / "board.db", **limits) as server:
            enrol(server.store, ALICE)
            await test(server)

    asyncio.run(main())


CALLS = [
    ("GET", "/overview", None),
    ("POST", f"{URL}/standing", {"state": "closed"}),
    ("POST", f"{URL}/revocations", {"voters": [ALICE.voter]}),
    ("POST", f"{URL}/invites", {"count": 1}),
    ("DELETE", f"{URL}/invites", None),
    ("DELETE", URL, None),
]


@pytest.mark.parametrize(("method", "path", "content"), CALLS)
@pytest.mark.parametrize("token", [None, "Bearer not-the-token", "Bearer ", "Basic abc"])
def test_nobody_else_may(tmp_path, method, path, content, token):
    async def test(server):
        headers = {} if token is None else {"Authorization": token}
        answer = await server.client.request(method, path, json=content, headers=headers)
        assert answer.status_code == 401
        assert "operator's token" in answer.json()["error"]
        assert (await server.post(vote(ALICE))).status_code == 201, "nothing has changed"

    run(test, tmp_path)


def test_a_closed_experiment_is_refused_with_a_cause_that_programs_can_read(tmp_path):
    async def test(server):
        change = {"state": "closed"}
        answer = await server.client.post(f"{URL}/standing", json=change, headers=OPERATOR)
        assert (answer.status_code, answer.json()) == (201, {"state": "closed", "ends": None})
        answer = await server.post(vote(ALICE))
        assert answer.status_code == 403
        assert {"outcome": "refused", "cause": "closed"}.items() <= answer.json().items()
        assert (await server.client.get(f"{URL}/standing")).json()["state"] == "closed"
        for path in (URL, f"{URL}/messages", f"{URL}/tally", f"{URL}/enrolments"):
            assert (await server.client.get(path)).status_code == 200
        answer = await server.client.post(f"{URL}/standing", json={"ends": 1}, headers=OPERATOR)
        assert answer.status_code == 409
        assert "has passed" in answer.json()["error"]
        wrong = {"state": "shut"}
        answer = await server.client.post(f"{URL}/standing", json=wrong, headers=OPERATOR)
        assert answer.status_code == 422

    run(test, tmp_path)


def test_an_archived_experiment_is_not_listed_and_is_still_there(tmp_path):
    async def test(server):
        await server.client.post(f"{URL}/standing", json={"state": "archived"}, headers=OPERATOR)
        assert (await server.client.get("/experiments")).json()["experiments"] == []
        assert (await server.client.get(URL)).status_code == 200
        overview = (await server.client.get("/overview", headers=OPERATOR)).json()
        assert [item["state"] for item in overview["experiments"]] == ["archived"]

    run(test, tmp_path)


def test_the_page_of_an_experiment_tells_how_it_stands(tmp_path):
    async def test(server):
        add_page(server.app)
        for state in ("open", "closed", "archived"):
            await server.client.post(f"{URL}/standing", json={"state": state}, headers=OPERATOR)
            page = (await server.client.get("/views/banner")).json()
            assert page["standing"] == state
            await asyncio.sleep(EVERY)
        assert (await server.client.get("/views")).json() == []

    run(test, tmp_path)


def test_the_overview_tells_votes_answers_and_invites(tmp_path):
    async def test(server):
        bob = identity(2)
        enrol(server.store, bob)
        for arm in (1, 2, 3):
            for voter in (ALICE, bob):
                await server.post(vote(voter, arm))
        server.store.create(here(SPEC.with_(name="second"), "invite", 9))
        made = server.store.invite("second", 3)
        enrol(server.store, ALICE, "second", made[0])
        asked = await server.client.get("/overview", headers=OPERATOR)
        first, second = asked.json()["experiments"]
        assert (first["messages"], first["status"], first["answer"]) == (6, "agreed", ["0"])
        assert (first["enrolled"], first["revoked"], first["scheme"]) == (2, 0, "decentralized")
        assert second["invites"] == {"open": 2, "used": 1, "expired": 0}
        assert (second["players"], second["enrolment"]) == (9, "invite")

    run(test, tmp_path)


def test_a_deleted_experiment_is_gone_everywhere(tmp_path):
    async def test(server):
        await server.post(vote(ALICE))
        await server.client.get(f"{URL}/messages")
        answer = await server.client.delete(URL, headers=OPERATOR)
        assert (answer.status_code, answer.json()) == (200, {"deleted": "banner"})
        for path in (URL, f"{URL}/messages", f"{URL}/tally", f"{URL}/standing"):
            answer = await server.client.get(path)
            assert answer.status_code == 410
            assert "was deleted by its operator" in answer.json()["error"]
        assert (await server.post(vote(ALICE))).status_code == 410
        again = await server.client.post(
            "/experiments", json={"spec": SPEC.to_dict()}, headers=OPERATOR
        )
        assert again.status_code == 409
        assert "its name stays taken" in again.json()["error"]
        assert "banner" not in (await server.client.get("/metrics")).text.partition("board_")[2]

    run(test, tmp_path)


def test_invites_expire_and_are_made_by_the_ten_thousand(tmp_path):
    async def test(server):
        server.store.create(here(SPEC.with_(name="second"), "invite"))
        asked = {"count": 10_000, "expires": 2_000_000_000}
        answer = await server.client.post(
            "/experiments/second/invites", json=asked, headers=OPERATOR
        )
        made = answer.json()["invites"]
        assert len(set(made)) == 10_000
        for start in range(0, 10_000, 5_000):
            given = {"invites": made[start : start + 5_000]}
            answer = await server.client.post(
                "/experiments/second/revocations", json=given, headers=OPERATOR
            )
            assert answer.json() == {"devices": 0, "invites": 5_000, "unknown": 0}
        asked = {"count": 1, "expires": 5}
        answer = await server.client.post(
            "/experiments/second/invites", json=asked, headers=OPERATOR
        )
        assert answer.status_code == 409

    run(test, tmp_path)


def test_a_stream_of_a_deleted_experiment_ends(tmp_path):
    async def test(server):
        service = server.app.state.service
        board = service.board("banner")
        await board.catch_up()
        events = board.follow(0)
        assert b"end" in await anext(events)
        await server.client.delete(URL, headers=OPERATOR)
        with pytest.raises(StopAsyncIteration):
            await anext(events)

    run(test, tmp_path)
