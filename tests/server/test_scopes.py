"""Who may call what: operators, inviters of one experiment, readers; and what is logged of it."""

import asyncio
import io
import json

import pytest
from tests.boards.local import here
from tests.server.live import (
    OPERATOR,
    SPEC,
    TOKEN,
    api,
    enrol,
    identity,
    open_store,
    serving_in_thread,
    vote,
)

from devote.boards.board import BoardRefused
from devote.boards.database import StoreFull
from devote.boards.operator import Operator
from devote.server import Settings, create_app
from devote.server.settings import Grant, read_tokens, remove_token, write_token

ALICE = identity(1)
URL = "/experiments/banner"
CALLS = {
    "overview": ("GET", "/overview", None),
    "open": ("POST", "/experiments", {"spec": SPEC.to_dict(), "enrolment": "open"}),
    "invites": ("POST", f"{URL}/invites", {"count": 1}),
    "invites elsewhere": ("POST", "/experiments/other/invites", {"count": 1}),
    "revoke invites": ("DELETE", f"{URL}/invites", None),
    "close": ("POST", f"{URL}/standing", {"state": "closed"}),
    "revoke": ("POST", f"{URL}/revocations", {"voters": [ALICE.voter]}),
    "delete": ("DELETE", URL, None),
}
ALLOWED = {
    Grant("operator"): set(CALLS),
    Grant("inviter", "banner"): {"invites"},
    Grant("inviter", "other"): {"invites elsewhere"},
    Grant("reader"): {"overview"},
}


def run(test, tmp_path, **settings):
    async def main():
        token_file = tmp_path / "token"
        token_file.write_text(TOKEN + "\n")
        settings_ = {"token_file": token_file, **settings}
        async with asyncio.timeout(30), api(tmp_path / "board.db", **settings_) as server:
            server.store.create(here(SPEC.with_(name="other")))
            server.log = io.StringIO()
            server.app.state.service.log.stream = server.log
            await test(server, token_file)

    asyncio.run(main())


def lines(server):
    return [json.loads(line) for line in server.log.getvalue().splitlines()]


@pytest.mark.parametrize("grant", ALLOWED, ids=str)
@pytest.mark.parametrize("call", CALLS)
def test_a_token_allows_what_its_scope_says_and_nothing_else(tmp_path, grant, call):
    async def test(server, token_file):
        token = write_token(token_file, grant, keep=True)
        method, path, content = CALLS[call]
        headers = {"Authorization": f"Bearer {token}"}
        answer = await server.client.request(method, path, json=content, headers=headers)
        if call in ALLOWED[grant]:
            assert answer.status_code in (200, 201), answer.text
        else:
            assert answer.status_code == 403
            assert f"This token is for {grant}" in answer.json()["error"]
            assert "outcome" not in answer.json(), "that is what devices go by"
            assert server.store.standing("banner").state == "open"
            assert server.store.counts("banner")[0].open == 0
            assert lines(server)[-1]["event"] == "token_refused"

    run(test, tmp_path)


def test_a_token_is_replaced_while_the_backend_that_uses_it_goes_on(tmp_path):
    """The backend has a file too, which it reads again at each call."""
    server_tokens, backend = tmp_path / "tokens", tmp_path / "backend"
    server_tokens.write_text(TOKEN + "\n")
    inviter = Grant("inviter", "banner")
    backend.write_text(write_token(server_tokens, inviter, keep=True) + "\n")
    with open_store(tmp_path / "x.db") as store:
        store.create(here(SPEC, "invite"))
        app = create_app(store, Settings(token=TOKEN, token_file=server_tokens))
        with serving_in_thread(app) as url, Operator(url, backend) as calls:
            assert len(calls.invites("banner", 2)) == 2
            old = backend.read_text().strip()
            new = write_token(server_tokens, inviter, keep=True)
            assert len(calls.invites("banner", 1)) == 1, "both are good for a while"
            backend.write_text(new + "\n")
            assert remove_token(server_tokens, old[:8]) == inviter
            assert len(calls.invites("banner", 1)) == 1
            with Operator(url, old) as late, pytest.raises(BoardRefused, match="is another"):
                late.invites("banner", 1)


@pytest.mark.parametrize(
    "line",
    ["short", "short operator", f"{TOKEN} admin", f"{TOKEN} inviter", f"{TOKEN} reader banner",
     f"{TOKEN} inviter a b", "", "   "],
)  # fmt: skip
def test_a_line_that_is_no_token_grants_nothing(line):
    assert read_tokens(line) == {}


def test_what_the_operator_does_is_logged_and_nothing_of_devices(tmp_path):
    async def test(server, token_file):
        enrol(server.store, ALICE)
        await server.post(vote(ALICE))
        content = {"spec": SPEC.with_(name="second").to_dict()}
        await server.client.post("/experiments", json=content, headers=OPERATOR)
        for state in ("closed", "open", "archived"):
            change = {"state": state}
            await server.client.post(f"{URL}/standing", json=change, headers=OPERATOR)
        revoked = {"voters": [ALICE.voter], "invites": ["a secret invite"]}
        await server.client.post(f"{URL}/revocations", json=revoked, headers=OPERATOR)
        await server.client.post(f"{URL}/invites", json={"count": 3}, headers=OPERATOR)
        await server.client.delete("/experiments/second", headers=OPERATOR)
        found = lines(server)
        assert [line["event"] for line in found] == [
            "open", "closed", "open", "archived", "revoke", "invite", "delete",
        ]  # fmt: skip
        assert {line["scope"] for line in found} == {"operator"}
        assert found[4]["devices"] == 1
        for private in (ALICE.voter, "a secret invite", TOKEN):
            assert private not in server.log.getvalue()

    run(test, tmp_path)


def test_strangers_cannot_fill_the_log_with_tokens_that_are_refused(tmp_path):
    async def test(server, token_file):
        for n in range(200):
            headers = {"Authorization": f"Bearer wrong-token-number-{n}"}
            answer = await server.client.get("/overview", headers=headers)
            assert answer.status_code == 401
        assert len(lines(server)) <= 11
        assert "wrong-token" not in server.log.getvalue()

    run(test, tmp_path)


def test_health_names_the_cause_and_it_is_logged_once(tmp_path):
    async def test(server, token_file):
        work, server.store.check_writable = server.store.check_writable, full
        for _ in range(3):
            answer = await server.client.get("/health")
            assert (answer.status_code, answer.json()["cause"]) == (503, "disk_full")
            assert str(tmp_path) not in answer.text
        server.store.check_writable = work
        await asyncio.sleep(1.01)  # it is looked at once a second
        assert (await server.client.get("/health")).status_code == 200
        assert [line["event"] for line in lines(server)] == ["disk_full", "store_available"]

    run(test, tmp_path)


def full():
    raise StoreFull("the store's path")


def test_metrics_tell_the_status_answers_and_response_rate_of_each_experiment(tmp_path):
    async def test(server, token_file):
        for n in range(1, 5):
            enrol(server.store, identity(n))
        for voter in (identity(1), identity(2)):
            for arm in (1, 2, 3):
                await server.post(vote(voter, arm))
        server.store.change("other", state="closed")
        told = (await server.client.get("/metrics")).text.splitlines()
        assert 'devote_experiment_status{experiment="banner",status="agreed"} 1.0' in told
        assert 'devote_experiment_status{experiment="other",status="closed"} 1.0' in told
        assert 'devote_board_messages{experiment="banner"} 6.0' in told
        assert 'devote_response_rate{experiment="banner"} 0.5' in told
        assert any(line.startswith("process_resident_memory_bytes") for line in told)
        assert any(line.startswith("process_open_fds") for line in told)

    run(test, tmp_path)


def test_links_lead_to_the_public_address(tmp_path):
    async def test(server, token_file):
        content = {"spec": SPEC.with_(name="second").to_dict()}
        opened = await server.client.post("/experiments", json=content, headers=OPERATOR)
        assert opened.json()["url"] == "https://vote.example/devote/experiments/second"
        invited = await server.client.post(f"{URL}/invites", json={"count": 1}, headers=OPERATOR)
        assert invited.json()["url"] == "https://vote.example/devote/experiments/banner"

    run(test, tmp_path, public_url="https://vote.example/devote/")


def test_a_public_address_that_is_none_is_refused():
    with pytest.raises(ValueError, match="is not an address"):
        Settings(public_url="vote.example")
