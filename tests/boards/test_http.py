"""A device's view of a server that is not there, not ours, of another version, or mad."""

import asyncio
import json
import ssl
import tracemalloc

import httpx
import pytest
from tests.boards.local import here
from tests.boards.memory import LOCAL
from tests.server.live import SPEC, api, enrol, identity, serving, vote

from devote.boards.board import (
    BoardRefused,
    BoardUnavailable,
    EndOfBacklog,
    Outcome,
    Posted,
    TallySnapshot,
)
from devote.boards.http import HttpBoard, decode, trusted

ALICE = identity(1)
URL = "http://devote/experiments/banner"
TALLY = {
    **{"board": LOCAL, "fingerprint": SPEC.fingerprint, "number": 1, "tally": {"status": "open"}},
    **{"pace": 15, "streams": True},
}


def page(*messages, number=1, full=False):
    scope = {"board": LOCAL, "fingerprint": SPEC.fingerprint}
    return {**scope, "page": number, "full": full, "messages": list(messages)}


OURS = {"Devote-Version": "2"}


def call(handler, action, **options):
    """Do something with a board whose server answers as ``handler`` does."""

    async def main():
        transport = httpx.MockTransport(handler)
        async with httpx.AsyncClient(transport=transport) as client:
            return await action(HttpBoard(URL, client, **options))

    return asyncio.run(main())


async def stream(board):
    return [event async for event in board.stream()]


def snapshot(board):
    return board.snapshot()


def fetch(board):
    return board.fetch_experiment()


def tally(board):
    return board.tally()


def publish(board):
    return board.publish(vote(ALICE))


def enrol_alice(board):
    return board.enrol(ALICE)


ACTIONS = pytest.mark.parametrize("action", [publish, snapshot, stream, fetch, enrol_alice, tally])


@ACTIONS
@pytest.mark.parametrize("error", [httpx.ConnectError, httpx.ReadTimeout, httpx.ReadError])
def test_a_server_that_is_not_there_is_unavailable(action, error):
    def handler(request):
        raise error("no")

    with pytest.raises(BoardUnavailable, match="cannot be reached"):
        call(handler, action)


@ACTIONS
@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_server_in_trouble_is_unavailable_whoever_answers(action, status):
    with pytest.raises(BoardUnavailable, match=str(status)):
        call(lambda request: httpx.Response(status, text="bad gateway"), action)


@ACTIONS
@pytest.mark.parametrize("status", [200, 201, 204, 302, 403, 404])
def test_a_login_page_is_not_a_devote_server_whatever_it_answers(action, status):
    with pytest.raises(BoardRefused, match="not a devote server"):
        call(lambda request: httpx.Response(status, html="<h1>Welcome</h1>"), action)


@ACTIONS
def test_another_version_is_named(action):
    answer = httpx.Response(200, json={}, headers={"Devote-Version": "3"})
    with pytest.raises(BoardRefused, match="has version '3', this end version 2"):
        call(lambda request: answer, action)


GARBAGE = [b"", b"{", b"[]", b"null", b"{}", b"[" * 100_000, b"\xff", b'{"outcome": "other"}']


@ACTIONS
@pytest.mark.parametrize("content", GARBAGE)
@pytest.mark.parametrize("status", [200, 201])
def test_garbage_is_refused(action, content, status):
    if action is stream and status == 200:
        content = b"data: " + content + b"\n\n"
    with pytest.raises(BoardRefused):
        call(lambda request: httpx.Response(status, content=content, headers=OURS), action)


@pytest.mark.parametrize(
    "message",
    [
        {"number": 1},
        {"number": "1", "message": {}, "signature": ""},
        {"number": 1, "message": {"v": 1, "type": "secret"}, "signature": ""},
        {"number": 1, "message": {"v": 2, "type": "vote"}, "signature": ""},
        7,
    ],
)
def test_what_is_no_message_is_refused_on_both_ways_of_reading(message):
    def handler(request):
        if request.url.path.endswith("/stream"):
            content = f"data: {json.dumps(message)}\n\n"
        else:
            content = json.dumps(page(message) if "/log/" in request.url.path else TALLY)
        return httpx.Response(200, content=content, headers=OURS)

    for action in (snapshot, stream):
        with pytest.raises(BoardRefused):
            call(handler, action)


@pytest.mark.parametrize(
    "change",
    [{"full": True}, {"page": 2}, {"board": "0" * 31 + "1"}, {"fingerprint": "f"}, {"messages": 7}],
)
def test_a_page_that_is_another_or_is_cut_off_is_not_believed(change):
    def handler(request):
        answer = {**page(), **change} if "/log/" in request.url.path else TALLY
        return httpx.Response(200, json=answer, headers=OURS)

    with pytest.raises(BoardRefused, match="not a devote server"):
        call(handler, snapshot)


@pytest.mark.parametrize("action", [stream, snapshot])
def test_a_line_or_an_answer_without_end_is_refused_in_time(action, monkeypatch):
    async def endless():
        while True:
            yield (b"x" if action is stream else b" ") * 10_000

    monkeypatch.setattr("devote.boards.http.LONGEST_TALLY", 100_000)
    with pytest.raises(BoardRefused, match="not a devote server"):
        call(lambda request: httpx.Response(200, content=endless(), headers=OURS), action)


def nested(depth):
    value = {"status": "open"}
    for _ in range(depth):
        value = {"in": value}
    return value


@pytest.mark.parametrize(
    "lie",
    [{"number": 2**60}, {"tally": {"status": "open", "more": -(2**60)}}, {"tally": nested(800)}],
)
def test_a_tally_that_has_no_tag_is_refused_and_the_next_is_read(lie):
    """It was kept: no tally could be read after it until the process was started again."""
    answers = [{**TALLY, **lie}, TALLY]

    async def action(board):
        with pytest.raises(BoardRefused):
            await board.tally()
        return await board.tally()

    found = call(lambda request: httpx.Response(200, json=answers.pop(0), headers=OURS), action)
    assert found.number == TALLY["number"]


def test_fields_that_a_stream_should_not_have_are_not_kept():
    async def chunks():
        for number in range(1_000):
            yield b"field%d: %b\n" % (number, b"x" * 10_000)
        yield b"id: 1\ndata: 1\nevent: end\n\n"

    async def main():
        return [event async for event in decode(chunks())]

    tracemalloc.start()
    try:
        (event,) = asyncio.run(main())
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
    assert (event.event, event.id) == ("end", "1")


def test_a_stream_that_ends_is_unavailable_and_half_an_event_is_none():
    content = b": still here\n\nid: 0\nevent: end\ndata: 0\n\nid: 1\nevent: message\ndata: {"

    async def action(board):
        events = board.stream()
        assert await anext(events) == EndOfBacklog(0)
        with pytest.raises(BoardUnavailable, match="has ended"):
            await anext(events)

    answer = httpx.Response(200, content=content, headers=OURS)
    call(lambda request: answer, action)


def test_a_specification_that_is_not_what_its_fingerprint_says_is_refused():
    described = here(SPEC).to_dict()
    for change in (
        {"fingerprint": "0" * 16},
        {"spec": SPEC.with_(name="other").to_dict()},
        {"spec": {**SPEC.to_dict(), "eta": 2.0}},
        {"spec": 7},
        {"enrolment": "anyone"},
        {"version": 1},
    ):
        answer = httpx.Response(200, json={**described, **change}, headers=OURS)
        with pytest.raises(BoardRefused):
            call(lambda request, answer=answer: answer, fetch)
    good = httpx.Response(200, json=described, headers=OURS)
    assert call(lambda request: good, fetch) == here(SPEC)


def test_an_unknown_experiment_is_refused_in_the_servers_words():
    said = httpx.Response(
        404, json={"error": "There is no experiment 'banner' here."}, headers=OURS
    )
    for action in (publish, snapshot, stream, fetch, enrol_alice):
        with pytest.raises(BoardRefused, match="There is no experiment 'banner'"):
            call(lambda request: said, action)


@pytest.mark.parametrize(
    "url", ["banner", "ftp://x/experiments/a", "http://x/", "http://x:y/experiments/a"]
)
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(BoardRefused, match="not the address of an experiment"):
        HttpBoard(url)


def test_a_tally_is_asked_for_by_a_name_that_the_server_did_not_choose():
    asked = []
    body = {**TALLY, "number": 3, "pace": 30, "streams": False}

    def handler(request):
        asked.append(request.headers.get("If-None-Match"))
        headers = {**OURS, "ETag": '"you-are-device-17"'}
        return httpx.Response(304 if asked[-1] else 200, headers=headers, json=body)

    async def twice(board):
        return await board.tally(), await board.tally()

    first, second = call(handler, twice)
    assert first == second == TallySnapshot(**body)
    assert asked == [None, f'"{first.tag}"']


def test_no_cookie_is_ever_sent_back():
    cookies = []

    def handler(request):
        cookies.append(request.headers.get("cookie"))
        content = {"number": 0, "messages": [], "end": True}
        return httpx.Response(200, json=content, headers={**OURS, "Set-Cookie": "id=device7"})

    async def action(board):
        await board.latest()
        await board.latest()

    call(handler, action)
    assert cookies == [None, None]


def test_a_server_that_falls_silent_is_noticed():
    async def main():
        gone = asyncio.Event()

        async def serve(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nDevote-Version: 2\r\n\r\n")
            await reader.read()
            writer.close()
            await writer.wait_closed()
            gone.set()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            url = f"http://127.0.0.1:{port}/experiments/banner"
            async with HttpBoard(url, timeout=0.2, patience=0.2) as board:
                with pytest.raises(BoardUnavailable, match="ReadTimeout"):
                    await anext(board.stream())
            await gone.wait()

    asyncio.run(main())


def test_a_device_reads_on_after_the_server_came_back(tmp_path):
    async def main():
        async with api(tmp_path / "board.db") as server, asyncio.timeout(20):
            enrol(server.store, ALICE)
            async with serving(server.app) as url:
                port = int(url.rpartition(":")[2])
                board = HttpBoard(f"{url}/experiments/banner")
                assert await board.publish(vote(ALICE)) is Outcome.ACCEPTED
                events = board.stream()
                assert await anext(events) == Posted(1, vote(ALICE))
                assert await anext(events) == EndOfBacklog(1)
            for work in (anext(events), board.publish(vote(ALICE, 1))):
                with pytest.raises(BoardUnavailable):
                    await work
            async with serving(server.app, port):
                assert await board.publish(vote(ALICE, 1)) is Outcome.ACCEPTED
                events = board.stream(after=1)
                assert await anext(events) == Posted(2, vote(ALICE, 1))
                await events.aclose()
            await board.aclose()

    asyncio.run(main())


def test_certificates_are_read_once_and_again_when_the_environment_names_others(
    monkeypatch, tmp_path
):
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    usual = trusted()
    assert trusted() is usual
    assert usual.verify_mode is ssl.CERT_REQUIRED
    one = usual.get_ca_certs(binary_form=True)[0]
    (tmp_path / "one.pem").write_text(ssl.DER_cert_to_PEM_cert(one))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "one.pem"))
    assert trusted().get_ca_certs(binary_form=True) == [one]
    monkeypatch.delenv("SSL_CERT_FILE")
    assert trusted() is usual
