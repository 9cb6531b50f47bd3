"""The routes that need no token, from end to end: experiments, reading, health and metrics."""

import asyncio
import json
import logging
import multiprocessing
import os
import re
import socket
import time

import httpx
import pytest
from starlette.responses import JSONResponse
from starlette.routing import Route
from tests.boards.local import here
from tests.boards.memory import LOCAL
from tests.server.live import OPERATOR, SPEC, body, identity, open_store, served, vote

from devote.boards.identity import is_key
from devote.protocol.messages import VERSION
from devote.server import Settings, create_app, run_server
from devote.server.serve import make_server, only_server
from devote.server.settings import ServerError

ALICE = identity(1)
URL = "/experiments/banner"


@served()
async def test_an_experiment_is_created_read_and_listed(server):
    spec = SPEC.with_(name="second")
    content = {"spec": spec.to_dict(), "enrolment": "invite", "players": 5}
    for status in (201, 200):
        answer = await server.call("POST", "/experiments", content)
        assert answer.status_code == status
    expected = {
        "version": VERSION,
        "board": answer.json()["board"],
        "spec": spec.to_dict(),
        "fingerprint": spec.fingerprint,
        "enrolment": "invite",
        "players": 5,
        "baseline": "",
        "log": "public",
        "signer": answer.json()["signer"],
    }
    assert is_key(expected["signer"])
    assert answer.json() == {**expected, "url": None}
    assert re.fullmatch("[0-9a-f]{32}", expected["board"])
    read = await server.client.get("/experiments/second")
    assert read.json() == expected
    assert read.headers["Cache-Control"] == "public, max-age=86400, immutable"
    listed = (await server.client.get("/experiments")).json()["experiments"]
    assert [item["spec"]["name"] for item in listed] == ["banner", "second"]
    assert listed[1] == {**expected, "enrolled": 0}
    answer = await server.call("POST", "/experiments", {**content, "players": 6})
    assert answer.status_code == 409


@pytest.mark.parametrize(
    "content",
    [
        {"spec": {"arms": 1, "name": "x"}},
        {"spec": {"arms": 11, "name": "x"}},
        {"spec": {"arms": 3, "name": "a b"}},
        {"spec": {"arms": 3, "name": "x", "options": 5}},
        {"spec": {"arms": 3, "name": "x", "epsilon": 10**400}},
        {"spec": {"arms": 3, "name": "x", "algorithm": []}},
        {"spec": {"arms": 3, "name": "x"}, "players": 5},
        {"spec": {"arms": 3, "name": "x"}, "players": 10**30},
        {"spec": {"arms": 3, "name": "x"}, "enrolment": "anyone"},
        {"spec": []},
    ],
)
@served(arms=10)
async def test_an_experiment_that_cannot_work_is_refused(server, content):
    answer = await server.call("POST", "/experiments", content)
    assert answer.status_code == 422, answer.text
    assert "\n" in answer.json()["error"], "the value and the rule, then the remedy"
    assert len(server.store.experiments()) == 1


@pytest.mark.parametrize("arms", [["é", "中", "😀"], ["\ud800", "a"], ["\x00", "a"]])
@served()
async def test_names_of_arms_in_any_script_come_back_as_they_were_or_are_refused(server, arms):
    content = json.dumps({"spec": {"arms": arms, "name": "odd"}})
    headers = {**OPERATOR, "Content-Type": "application/json"}
    answer = await server.client.post("/experiments", content=content, headers=headers)
    assert answer.status_code in (201, 422)
    if answer.status_code == 201:
        assert (await server.client.get("/experiments/odd")).json()["spec"]["arms"] == arms


@served()
async def test_messages_that_are_known_are_not_sent_again(server):
    await server.post(vote(ALICE))
    first = await server.client.get(f"{URL}/messages")
    item = {"number": 1, **body(vote(ALICE))}
    assert first.json() == {"number": 1, "messages": [item], "end": True}
    for known in (first.headers["ETag"], f'"x", {first.headers["ETag"]}'):
        again = await server.client.get(f"{URL}/messages", headers={"If-None-Match": known})
        assert (again.status_code, again.content) == (304, b"")
    await server.post(vote(ALICE, 1))
    known = {"If-None-Match": first.headers["ETag"]}
    later = await server.client.get(f"{URL}/messages?after=1", headers=known)
    assert [item["number"] for item in later.json()["messages"]] == [2]


@served()
async def test_a_tally_is_named_by_its_contents_and_any_cache_may_keep_it_for_a_moment(server):
    await server.post(vote(ALICE))
    first = await server.client.get(f"{URL}/tally")
    assert first.json() == {
        "board": LOCAL,
        "fingerprint": SPEC.fingerprint,
        "number": 1,
        "tally": {"status": "open", "answer": [1, 2, 3, 0], "shared": [0, 1, 2, 3]},
        "pace": 15,
        "streams": True,
    }
    assert first.headers["Cache-Control"] == "public, max-age=1, stale-while-revalidate=5"
    tag = first.headers["ETag"]
    again = await server.client.get(f"{URL}/tally", headers={"If-None-Match": tag})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag)
    # Another server over the same board gives it the same name.
    other = httpx.ASGITransport(create_app(server.store))
    async with httpx.AsyncClient(transport=other, base_url="http://devote") as client:
        assert (await client.get(f"{URL}/tally")).headers["ETag"] == tag
    await server.post(vote(ALICE, 1))
    later = await server.client.get(f"{URL}/tally", headers={"If-None-Match": tag})
    assert later.json()["number"] == 2


@served(poll=0.05)
async def test_a_tally_shows_what_another_process_has_posted_after_a_moment(server, tmp_path):
    assert (await server.client.get(f"{URL}/tally")).json()["number"] == 0
    with open_store(tmp_path / "board.db") as other:
        other.post("banner", vote(ALICE))
    while (await server.client.get(f"{URL}/tally")).json()["number"] == 0:
        await asyncio.sleep(0.01)


@served(voters=5)
async def test_the_log_is_read_in_parts(server):
    for number in range(1, 6):
        await server.post(vote(identity(number)))
    parts = []
    for after in (0, 2, 4, 5, 9):
        part = (await server.client.get(f"{URL}/messages?after={after}&limit=2")).json()
        parts.append((part["number"], [x["number"] for x in part["messages"]], part["end"]))
    assert parts == [
        (5, [1, 2], False),
        (5, [3, 4], False),
        (5, [5], True),
        (5, [], True),
        (5, [], True),
    ]


@served(voters=3)
async def test_who_is_enrolled_is_public_in_order_of_keys(server):
    """Not in the order in which they came: that would tell when."""
    keys = sorted(identity(number).voter for number in (1, 2, 3))
    whole = (await server.client.get(f"{URL}/enrolments")).json()
    assert whole == {"voters": keys, "end": True, "enrolled": 3}
    first = (await server.client.get(f"{URL}/enrolments?limit=2")).json()
    query = f"after={first['voters'][-1]}&limit=2"
    second = (await server.client.get(f"{URL}/enrolments?{query}")).json()
    assert (first["voters"] + second["voters"], first["end"], second["end"]) == (keys, False, True)


@served()
async def test_a_body_with_wrong_fields_is_explained_in_one_line_without_what_was_sent(server):
    content = {"voter": 7, "signature": ["a secret"], "x\x1b[2K" * 99: "another secret"}
    answer = await server.client.post(f"{URL}/enrolments", json=content)
    assert answer.status_code == 422
    what, remedy = answer.json()["error"].split("\n")
    name = ("x\x1b[2K" * 99)[:64].replace("\x1b", "\\u001b")
    wrong = "voter: must be a text; signature: must be a text."
    assert what == f"{name}: not a field of this body; {wrong}"
    assert remedy == "Compare the request with /openapi.json."


@served()
async def test_an_experiment_that_this_version_cannot_read_is_an_answer_without_control_characters(
    server,
):
    with server.store.database.write() as db:
        db.execute(
            "INSERT INTO experiments (name, spec, fingerprint, enrolment, board, baseline, log) "
            "VALUES ('x', ?, 'x', 'open', 'b', '', 'public')",
            ('{"arms": 3, "scheme": "forgotten \\u202e\\u001b[2K"}',),
        )
    answer = await server.client.get("/experiments/x")
    assert (answer.status_code, "forgotten" in answer.json()["error"]) == (409, True)
    assert answer.json()["error"].replace("\n", "").isprintable()
    listed = (await server.client.get("/experiments")).json()["experiments"]
    assert [item["spec"]["name"] for item in listed] == ["banner"]


@served()
async def test_a_store_that_fails_is_an_answer_without_its_path(server):
    server.store.spec("banner")
    server.store.close()
    for answer in (await server.client.get("/health"), await server.post(vote(ALICE))):
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        assert "board.db" not in answer.text


@served(voters=4)
async def test_metrics_count_messages_and_tell_how_experiments_stand_and_name_no_voter(server):
    server.store.create(here(SPEC.with_(name="other")))
    server.store.change("other", state="closed")
    for voter in (ALICE, identity(2)):
        for arm in (1, 2, 3):
            await server.post(vote(voter, arm))
    await server.post(vote(ALICE, 1))
    await server.post(vote(identity(9)))
    for method in ("BREW", "WHEN", "A" * 500):
        assert (await server.client.request(method, URL)).status_code == 405
    answer = await server.client.get("/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    invented = 'method="other",route="/experiments/{name}",status="405"'
    assert {
        'devote_messages_total{experiment="banner",outcome="accepted"} 6.0',
        'devote_messages_total{experiment="banner",outcome="duplicate"} 1.0',
        'devote_messages_total{experiment="banner",outcome="refused"} 1.0',
        'devote_enrolled{experiment="banner"} 4.0',
        'devote_board_messages{experiment="banner"} 6.0',
        'devote_experiment_status{experiment="banner",status="agreed"} 1.0',
        'devote_experiment_status{experiment="other",status="closed"} 1.0',
        'devote_response_rate{experiment="banner"} 0.5',
        f"devote_requests_total{{{invented}}} 3.0",
        "devote_streams 0.0",
    } <= set(answer.text.splitlines())
    assert await server.metric("process_resident_memory_bytes") > 0
    assert await server.metric("process_open_fds") > 0
    assert await server.metric("devote_request_seconds_count") >= 12
    for hidden in (ALICE.voter, "BREW", "_created"):
        assert hidden not in answer.text


@pytest.mark.parametrize("admin", [0, 1])
@served(network=True)
async def test_metrics_and_the_operators_calls_have_a_port_of_their_own_if_asked(server, admin):
    server.service.admin_port = server.client.base_url.port + admin
    assert (await server.client.get("/metrics")).status_code == (404 if admin else 200)
    made = await server.call("POST", f"{URL}/invites", {"count": 1})
    assert made.status_code == (404 if admin else 201)
    assert (await server.client.get("/health")).status_code == 200


def test_no_address_is_logged(tmp_path, caplog, capfd):
    @served(network=True)
    async def ask(server):
        await server.client.get(URL)
        await server.client.post(f"{URL}/messages", content=b"{")
        reader, writer = await asyncio.open_connection("127.0.0.1", server.client.base_url.port)
        writer.write(b"nonsense\r\n\r\n")
        await reader.read()
        writer.close()
        assert "127.0.0.1" not in server.log.getvalue()

    with caplog.at_level(logging.INFO):
        ask(tmp_path)
    ours = [record for record in caplog.records if not record.name.startswith("http")]
    for text in (*(record.getMessage() for record in ours), *capfd.readouterr()):
        assert "127.0.0.1" not in text


def test_a_second_server_on_one_store_is_refused_in_one_line_and_writes_nothing(tmp_path):
    store = tmp_path / "x.db"
    again = pytest.raises(ServerError, match=r"Another server has the store '.*x\.db' open")
    with only_server(store), again, only_server(store):
        pass
    with only_server(store):
        pass
    assert list(tmp_path.iterdir()) == []


def test_half_of_what_tls_needs_is_refused(tmp_path):
    with open_store(tmp_path / "x.db") as store:
        app = create_app(store, Settings())
        with pytest.raises(ServerError, match="both a certificate and its key"):
            make_server(app, certificate="x.pem")
        with pytest.raises(ServerError, match=r"x\.pem is not a file"):
            make_server(app, certificate="x.pem", key="y.pem")


def _extra(app):
    app.router.routes.append(Route("/extra", lambda request: JSONResponse("extra")))


def _serve(path, port):
    run_server(path, port=port, extend=_extra)


@pytest.mark.skipif(os.name != "posix", reason="needs SIGTERM")
def test_the_server_runs_as_a_process_and_stops_on_a_signal(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = multiprocessing.get_context("spawn").Process(
        target=_serve, args=(str(tmp_path / "x.db"), port)
    )
    process.start()
    try:
        for _ in range(400):
            try:
                answer = httpx.get(f"http://127.0.0.1:{port}/extra")
                break
            except httpx.TransportError:
                time.sleep(0.05)
        assert answer.json() == "extra"
    finally:
        process.terminate()
        process.join(20)
    assert process.exitcode == 0
    assert not (tmp_path / "x.db-wal").exists(), "the store was closed"
