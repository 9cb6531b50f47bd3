"""The server from end to end: experiments, reading, streams, limits, metrics and shutdown."""

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
from tests.server.live import OPERATOR, SPEC, api, body, enrol, identity, open_store, serving, vote

from devote.boards.database import StoreBusy
from devote.boards.http import decode
from devote.protocol.wire import VERSION
from devote.server import Settings, create_app, run_server
from devote.server.serve import make_server

ALICE = identity(1)
URL = "/experiments/banner"


def run(test, tmp_path, **limits):
    async def main():
        async with asyncio.timeout(30), api(tmp_path / "board.db", **limits) as server:
            enrol(server.store, ALICE)
            await test(server)

    asyncio.run(main())


def test_an_experiment_is_created_read_and_listed(tmp_path):
    async def test(server):
        spec = SPEC.with_(name="second")
        content = {"spec": spec.to_dict(), "enrolment": "invite", "players": 5}
        for status in (201, 200):
            answer = await server.client.post("/experiments", json=content, headers=OPERATOR)
            assert answer.status_code == status
        expected = {
            "version": VERSION,
            "board": answer.json()["board"],
            "spec": spec.to_dict(),
            "fingerprint": spec.fingerprint,
            "enrolment": "invite",
            "players": 5,
        }
        assert answer.json() == {**expected, "url": None}
        assert re.fullmatch("[0-9a-f]{32}", expected["board"])
        read = await server.client.get("/experiments/second")
        assert read.json() == expected
        assert read.headers["Cache-Control"] == "public, max-age=86400, immutable"
        listed = (await server.client.get("/experiments")).json()["experiments"]
        assert [item["spec"]["name"] for item in listed] == ["banner", "second"]
        assert listed[1] == {**expected, "enrolled": 0}
        content["players"] = 6
        answer = await server.client.post("/experiments", json=content, headers=OPERATOR)
        assert answer.status_code == 409

    run(test, tmp_path)


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
def test_an_experiment_that_cannot_work_is_refused(tmp_path, content):
    async def test(server):
        answer = await server.client.post("/experiments", json=content, headers=OPERATOR)
        assert answer.status_code == 422, answer.text
        assert "\n" in answer.json()["error"], "the value and the rule, then the remedy"
        assert len(server.store.experiments()) == 1

    run(test, tmp_path, arms=10)


@pytest.mark.parametrize("arms", [["é", "中", "😀"], ["\ud800", "a"], ["\x00", "a"]])
def test_names_of_arms_in_any_script_come_back_as_they_were_or_are_refused(tmp_path, arms):
    async def test(server):
        content = json.dumps({"spec": {"arms": arms, "name": "odd"}})
        headers = {**OPERATOR, "Content-Type": "application/json"}
        answer = await server.client.post("/experiments", content=content, headers=headers)
        assert answer.status_code in (201, 422)
        if answer.status_code == 201:
            assert (await server.client.get("/experiments/odd")).json()["spec"]["arms"] == arms

    run(test, tmp_path)


def test_a_snapshot_that_is_known_is_not_sent_again(tmp_path):
    async def test(server):
        await server.post(vote(ALICE))
        first = await server.client.get(f"{URL}/messages")
        assert first.json() == {
            "number": 1,
            "messages": [{"number": 1, **body(vote(ALICE))}],
            "end": True,
        }
        for known in (first.headers["ETag"], f'"x", W/{first.headers["ETag"]}'):
            again = await server.client.get(f"{URL}/messages", headers={"If-None-Match": known})
            assert (again.status_code, again.content) == (304, b"")
        await server.post(vote(ALICE, 1))
        later = await server.client.get(
            f"{URL}/messages?after=1", headers={"If-None-Match": first.headers["ETag"]}
        )
        assert [item["number"] for item in later.json()["messages"]] == [2]

    run(test, tmp_path)


def test_a_tally_is_named_by_its_contents_and_any_cache_may_keep_it_for_a_moment(tmp_path):
    async def test(server):
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

    run(test, tmp_path)


def test_a_tally_shows_what_another_process_has_posted_after_a_moment(tmp_path):
    async def test(server):
        assert (await server.client.get(f"{URL}/tally")).json()["number"] == 0
        with open_store(tmp_path / "board.db") as other:
            other.post("banner", vote(ALICE))
        while (await server.client.get(f"{URL}/tally")).json()["number"] == 0:
            await asyncio.sleep(0.01)

    run(test, tmp_path, poll=0.05)


@pytest.mark.parametrize("query", ["after=-1", "after=x", "after=", "after=1e3", f"after={2**60}"])
def test_a_number_to_read_from_must_be_one(tmp_path, query):
    async def test(server):
        for path in ("messages", "stream"):
            answer = await server.client.get(f"{URL}/{path}?{query}")
            assert answer.status_code == 422
            assert "after" in answer.json()["error"]

    run(test, tmp_path)


def test_what_is_not_there_is_said_in_json_too(tmp_path):
    async def test(server):
        for method, path, status in [
            ("GET", "/nothing", 404),
            ("GET", "/experiments/", 404),
            ("GET", "/experiments/none", 404),
            ("GET", "/experiments/none/stream", 404),
            ("GET", f"/experiments/{'x' * 65}", 422),
            ("PUT", URL, 405),
        ]:
            answer = await server.client.request(method, path)
            assert answer.status_code == status
            assert answer.json()["error"]
            assert answer.headers["Devote-Version"] == str(VERSION)

    run(test, tmp_path)


def test_too_many_requests_are_told_when_to_come_back(tmp_path):
    async def test(server):
        assert (await server.post(vote(ALICE))).status_code == 201
        answer = await server.post(vote(ALICE, 1))
        assert (answer.status_code, answer.headers["Retry-After"]) == (429, "100")
        assert server.store.rows("banner")[0] == 1

    run(test, tmp_path, voter_rate=0.01, voter_burst=1.0)
    run(test, tmp_path / "..", write_rate=0.01, write_burst=1.0)


def test_nobody_can_use_up_anothers_requests(tmp_path):
    async def test(server):
        forged = {**body(vote(ALICE)), "signature": "0" * 128}
        for _ in range(5):
            answer = await server.client.post(f"{URL}/messages", json=forged)
            assert answer.status_code == 403
        assert (await server.post(vote(ALICE))).status_code == 201

    run(test, tmp_path, voter_rate=0.01, voter_burst=1.0)


def test_reading_too_often_is_refused_and_does_not_keep_anyone_from_voting(tmp_path):
    async def test(server):
        statuses = [(await server.client.get(f"{URL}/messages")).status_code for _ in range(3)]
        assert statuses == [200, 200, 429]
        assert (await server.post(vote(ALICE))).status_code == 201

    run(test, tmp_path, read_rate=1.0, read_burst=20_000.0)


def test_metrics_count_messages_and_never_name_a_voter(tmp_path):
    async def test(server):
        await server.post(vote(ALICE))
        await server.post(vote(ALICE))
        await server.post(vote(identity(9)))
        answer = await server.client.get("/metrics")
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        lines = answer.text.splitlines()
        assert 'devote_messages_total{experiment="banner",outcome="accepted"} 1.0' in lines
        assert 'devote_messages_total{experiment="banner",outcome="duplicate"} 1.0' in lines
        assert 'devote_messages_total{experiment="banner",outcome="refused"} 1.0' in lines
        assert 'devote_enrolled{experiment="banner"} 1.0' in lines
        assert 'devote_board_messages{experiment="banner"} 1.0' in lines
        assert "devote_streams 0.0" in lines
        assert ALICE.voter not in answer.text
        assert "_created" not in answer.text, "it would tell when the first message came"

    run(test, tmp_path)


def test_methods_that_strangers_make_up_share_one_counter(tmp_path):
    async def test(server):
        for method in ("BREW", "WHEN", "A" * 500):
            assert (await server.client.request(method, URL)).status_code == 405
        counted = (await server.client.get("/metrics")).text
        labels = 'method="other",route="/experiments/{name}",status="405"'
        assert f"devote_requests_total{{{labels}}} 3.0" in counted
        assert "BREW" not in counted

    run(test, tmp_path)


def test_a_body_with_wrong_fields_is_explained_in_one_line_without_what_was_sent(tmp_path):
    async def test(server):
        content = {"voter": 7, "signature": ["a secret"], "x" * 900: "another secret"}
        answer = await server.client.post(f"{URL}/enrolments", json=content)
        assert answer.status_code == 422
        what, remedy = answer.json()["error"].split("\n")
        assert what == (
            f"{'x' * 64}: not a field of this body; voter: must be a text; "
            "signature: must be a text."
        )
        assert remedy == "Compare the request with /openapi.json."

    run(test, tmp_path)


def test_an_experiment_that_this_version_cannot_read_is_said_to_be_so(tmp_path):
    async def test(server):
        with server.store.database.write() as db:
            db.execute(
                "INSERT INTO experiments VALUES ('x', ?, 'x', 'open', NULL, 'b', 0, 'open', NULL)",
                ('{"arms": 3, "scheme": "forgotten"}',),
            )
        answer = await server.client.get("/experiments/x")
        assert (answer.status_code, "forgotten" in answer.json()["error"]) == (409, True)
        listed = (await server.client.get("/experiments")).json()["experiments"]
        assert [item["spec"]["name"] for item in listed] == ["banner"]

    run(test, tmp_path)


def test_a_store_that_fails_is_an_answer_without_its_path(tmp_path):
    async def test(server):
        server.store.close()
        for answer in (await server.client.get("/health"), await server.post(vote(ALICE))):
            assert answer.status_code == 503
            assert "board.db" not in answer.text

    async def main():
        async with api(tmp_path / "board.db") as server:
            server.store.spec("banner")
            await test(server)

    asyncio.run(main())


async def _events(response):
    async for event in decode(response.aiter_bytes()):
        yield event


def live(test, tmp_path, **limits):
    """Run a test against the server behind a real socket: streams need one."""

    async def main():
        with open_store(tmp_path / "board.db") as store:
            store.create(here(SPEC))
            enrol(store, ALICE)
            app = create_app(store, Settings(**limits))
            async with (
                asyncio.timeout(30),
                httpx.AsyncClient(timeout=30) as client,
                serving(app) as url,
            ):
                await test(app, client, f"{url}/experiments/banner")

    asyncio.run(main())


def test_silence_on_a_stream_is_broken_by_heartbeats(tmp_path):
    async def test(app, client, url):
        async with client.stream("GET", f"{url}/stream") as response:
            chunks = response.aiter_bytes()
            assert await anext(chunks) == b"id: 0\nevent: end\ndata: 0\n\n"
            assert await anext(chunks) == b": still here\n\n"
            assert await anext(chunks) == b": still here\n\n"

    live(test, tmp_path, heartbeat=0.1)


def test_a_browser_that_reconnects_resumes_where_it_was(tmp_path):
    async def test(app, client, url):
        for arm in range(3):
            await client.post(f"{url}/messages", json=body(vote(ALICE, arm)))
        headers = {"Last-Event-ID": "2"}
        async with client.stream("GET", f"{url}/stream?after=0", headers=headers) as response:
            assert response.headers["Content-Type"].startswith("text/event-stream")
            events = _events(response)
            first, end = await anext(events), await anext(events)
            assert (first.event, first.id) == ("message", "3")
            assert json.loads(first.data) == {"number": 3, **body(vote(ALICE, 2))}
            assert (end.event, end.id, end.data) == ("end", "3", "3")

    live(test, tmp_path)


def _post_elsewhere(path):
    with open_store(path) as store:
        store.post("banner", vote(ALICE, 3))


def test_what_another_process_writes_reaches_the_listeners(tmp_path):
    async def test(app, client, url):
        async with client.stream("GET", f"{url}/stream") as response:
            events = _events(response)
            assert (await anext(events)).event == "end"
            other = multiprocessing.get_context("spawn").Process(
                target=_post_elsewhere, args=(str(tmp_path / "board.db"),)
            )
            other.start()
            assert json.loads((await anext(events)).data)["message"]["arm"] == 3
            await asyncio.to_thread(other.join)

    live(test, tmp_path, poll=0.1)


def test_a_stream_outlives_a_store_that_cannot_be_read_for_a_while(tmp_path):
    async def test(app, client, url):
        store = app.state.service.store
        rows, failures = store.rows, [StoreBusy("busy")] * 3

        def failing(*args):
            if failures:
                raise failures.pop()
            return rows(*args)

        async with client.stream("GET", f"{url}/stream") as response:
            events = _events(response)
            assert (await anext(events)).event == "end"
            store.rows = failing
            _post_elsewhere(tmp_path / "board.db")
            assert json.loads((await anext(events)).data)["message"]["arm"] == 3
            assert failures == []

    live(test, tmp_path, poll=0.05)


def test_there_are_no_more_streams_than_allowed_and_one_that_leaves_makes_room(tmp_path):
    async def test(app, client, url):
        async with client.stream("GET", f"{url}/stream") as first:
            events = _events(first)  # kept: a stream that nobody holds is closed
            assert (await anext(events)).event == "end"
            refused = await client.get(f"{url}/stream")
            assert (refused.status_code, refused.headers["Retry-After"]) == (503, "60")
        while app.state.service.listeners:
            await asyncio.sleep(0.01)
        async with client.stream("GET", f"{url}/stream") as second:
            assert second.status_code == 200

    live(test, tmp_path, streams=1)


def test_a_shutdown_ends_the_streams_and_soon(tmp_path):
    async def main():
        with open_store(tmp_path / "board.db") as store:
            store.create(here(SPEC))
            app = create_app(store)
            async with asyncio.timeout(30), httpx.AsyncClient(timeout=30) as client:
                context = serving(app)
                url = await context.__aenter__()
                async with client.stream("GET", f"{url}/experiments/banner/stream") as response:
                    events = _events(response)
                    assert (await anext(events)).event == "end"
                    stopping = asyncio.create_task(context.__aexit__(None, None, None))
                    async with asyncio.timeout(3):
                        assert [event async for event in events] == []
                        await stopping

    asyncio.run(main())


def test_a_restored_older_file_ends_the_streams_and_is_read_anew(tmp_path):
    async def test(app, client, url):
        for arm in range(2):
            await client.post(f"{url}/messages", json=body(vote(ALICE, arm)))
        async with client.stream("GET", f"{url}/stream") as response:
            events = _events(response)
            assert [(await anext(events)).event for _ in range(3)] == ["message"] * 2 + ["end"]
            with app.state.service.store.database.write() as db:
                db.execute("DELETE FROM messages WHERE number = 2")
            assert (await client.get(f"{url}/messages")).json()["number"] == 1
            assert [event async for event in events] == []

    live(test, tmp_path)


def test_no_address_is_logged(tmp_path, caplog, capfd):
    async def test(app, client, url):
        await client.get(url)
        await client.post(f"{url}/messages", content=b"{")
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.split(":")[2][:5]))
        writer.write(b"nonsense\r\n\r\n")
        await reader.read()
        writer.close()

    with caplog.at_level(logging.INFO):
        live(test, tmp_path)
    ours = [record for record in caplog.records if not record.name.startswith("http")]
    out, err = capfd.readouterr()
    for text in (*(record.getMessage() for record in ours), out, err):
        assert "127.0.0.1" not in text


def test_two_thousand_events_are_caught_up_with_in_order(tmp_path):
    async def test(app, client, url):
        store = app.state.service.store
        with store.database.write() as db:
            db.executemany(
                "INSERT INTO messages VALUES ('banner', ?, 'x', ?, '')",
                [(number, f'{{"n":{number}}}') for number in range(1, 2_501)],
            )
        async with client.stream("GET", f"{url}/stream?after=100") as response:
            numbers = []
            async for event in _events(response):
                if event.event == "end":
                    break
                numbers.append(int(event.id))
        assert numbers == list(range(101, 2_501))

    live(test, tmp_path)


def test_settings_that_make_no_sense_are_refused(tmp_path):
    with pytest.raises(ValueError, match="can be guessed"):
        Settings(token="short")
    with pytest.raises(ValueError, match="pace=0 must be above 0"):
        Settings(pace=0)
    assert Settings(streams=0).streams == 0
    assert Settings().token != Settings().token
    assert Settings().token not in repr(Settings())
    with open_store(tmp_path / "x.db") as store:
        app = create_app(store)
        with pytest.raises(ValueError, match="both a certificate and its key"):
            make_server(app, certificate="x.pem")
        with pytest.raises(ValueError, match=r"x\.pem is not a file"):
            make_server(app, certificate="x.pem", key="y.pem")


def _extra(app):
    app.router.routes.append(Route("/extra", lambda request: JSONResponse("extra")))


def _serve(path, port):
    run_server(path, port=port, extend=_extra)


@pytest.mark.skipif(os.name != "posix", reason="needs SIGTERM")
def test_the_server_runs_as_a_process_and_stops_when_told(tmp_path):
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


def test_the_log_is_read_in_pages(tmp_path):
    async def main():
        async with api(tmp_path / "server.db") as server:
            for number in range(1, 6):
                enrol(server.store, identity(number))
                await server.post(vote(identity(number)))
            pages = []
            for after in (0, 2, 4, 5, 9):
                answer = await server.client.get(f"{URL}/messages?after={after}&limit=2")
                page = answer.json()
                numbers = [item["number"] for item in page["messages"]]
                pages.append((page["number"], numbers, page["end"]))
            whole = (await server.client.get(f"{URL}/messages")).json()
            refused = [
                (await server.client.get(f"{URL}/messages?limit={limit}")).status_code
                for limit in (0, 10_001, "x")
            ]
        return pages, whole, refused

    pages, whole, refused = asyncio.run(main())
    assert pages == [
        (5, [1, 2], False),
        (5, [3, 4], False),
        (5, [5], True),
        (5, [], True),
        (5, [], True),
    ]
    assert (len(whole["messages"]), whole["end"]) == (5, True)
    assert refused == [422, 422, 422]


def test_who_is_enrolled_is_public_in_order_of_keys_and_in_pages(tmp_path):
    """Not in the order in which they came: that would tell when."""

    async def main():
        async with api(tmp_path / "server.db") as server:
            for number in (3, 1, 2):
                enrol(server.store, identity(number))
            whole = (await server.client.get(f"{URL}/enrolments")).json()
            first = (await server.client.get(f"{URL}/enrolments?limit=2")).json()
            after = f"after={first['voters'][-1]}&limit=2"
            second = (await server.client.get(f"{URL}/enrolments?{after}")).json()
            bad = [
                (await server.client.get(f"{URL}/enrolments?{query}")).status_code
                for query in ("after=Z", "limit=0", f"after={'0' * 65}")
            ]
            unknown = await server.client.get("/experiments/nothing/enrolments")
        return whole, first, second, bad, unknown.status_code

    whole, first, second, bad, unknown = asyncio.run(main())
    keys = sorted(identity(number).voter for number in (1, 2, 3))
    assert whole == {"voters": keys, "end": True, "enrolled": 3}
    assert (first["voters"] + second["voters"], first["end"], second["end"]) == (keys, False, True)
    assert (bad, unknown) == ([422, 422, 422], 404)
