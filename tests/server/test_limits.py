"""What strangers use up: rates, stalled peers, too many connections, and a full disk."""

import asyncio
import io
import json
import logging
import socket
from contextlib import suppress

import httpx
import pytest
from tests.boards.local import here
from tests.server.live import SPEC, body, enrol, identity, open_store, served, vote

from devote.boards.board import Outcome
from devote.boards.database import StoreFull
from devote.server.limits import RESERVED
from devote.server.log import EventLog
from devote.server.service import WriteBatcher

ALICE = identity(1)
URL = "/experiments/banner"
DROPPED = "devote_connections_dropped_total"
HALF_A_HEAD = b"GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: "
HALF_A_BODY = (
    b"POST /experiments/banner/messages HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Content-Length: 300\r\n\r\n{"
)


async def connect(server):
    return await asyncio.open_connection("127.0.0.1", server.client.base_url.port)


async def is_dropped(reader):
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True


async def check_too_soon(server):
    forged = {**body(vote(ALICE)), "signature": "0" * 128}
    for _ in range(5):  # nobody can use up another's requests
        assert (await server.client.post(f"{URL}/messages", json=forged)).status_code == 403
    assert (await server.post(vote(ALICE))).status_code == 201
    answer = await server.post(vote(ALICE, 1))
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "100")
    assert server.store.rows("banner")[0] == 1


test_a_voter_that_posts_too_often_learns_when_to_come_back = served(
    voter_rate=0.01, voter_burst=1.0
)(check_too_soon)
test_too_many_posts_of_an_experiment_say_when_to_come_back = served(
    write_rate=0.01, write_burst=1.0
)(check_too_soon)


@served(read_rate=1.0, read_burst=20_000.0)
async def test_reading_too_often_is_refused_and_does_not_keep_anyone_from_voting(server):
    statuses = [(await server.client.get(f"{URL}/messages")).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    assert (await server.post(vote(ALICE))).status_code == 201


@pytest.mark.parametrize("sent", [b"", HALF_A_HEAD])
@served(network=True, patience=0.5)
async def test_who_never_ends_a_request_is_dropped_however_steadily_bytes_come(server, sent):
    reader, writer = await connect(server)
    writer.write(sent)
    ended = asyncio.create_task(is_dropped(reader))
    while not ended.done():
        if sent and not writer.is_closing():
            writer.write(b"x")
        await asyncio.sleep(0.05)
    assert await ended
    writer.close()
    assert await server.metric(f'{DROPPED}{{why="unasked"}}') >= 1
    assert (await server.post(vote(ALICE))).status_code == 201


@served(network=True)
async def test_an_answer_is_sent_without_waiting_for_the_peer_to_confirm_its_first_half(server):
    _, writer = await connect(server)
    state = server.service.connections.server.server_state
    while not (connections := list(state.connections)):
        await asyncio.sleep(0.01)
    for connection in connections:
        opened = connection.transport.get_extra_info("socket")
        assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    writer.close()


@served(network=True, patience=0.3)
async def test_a_body_that_never_comes_to_an_end_is_answered_and_ended(server):
    for first in (HALF_A_BODY, HALF_A_BODY[:-1]):
        reader, writer = await connect(server)
        writer.write(first)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408"), head
        writer.close()
    assert (await server.post(vote(ALICE))).status_code == 201


@served(network=True, patience=0.5)
async def test_who_does_not_read_an_answer_is_dropped(server):
    with server.store.database.write() as db:
        rows = [("banner", n, "v", f'"{n}{"x" * 9_000}"', "s") for n in range(1, 1_001)]
        db.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?)", rows)
    reader, writer = await connect(server)
    writer.transport.pause_reading()
    board = server.store.scope("banner").board
    writer.write(f"GET {URL}/log/{board}/1 HTTP/1.1\r\nHost: x\r\n\r\n".encode() * 3)
    while await server.metric(f'{DROPPED}{{why="unread"}}') < 1:
        await asyncio.sleep(0.2)
    writer.close()
    del reader


def test_idle_connections_make_room_and_streams_are_refused_before_files_run_out(
    tmp_path, monkeypatch
):
    """The long one, under a real limit, is `python -m tests.server.crowd`."""
    monkeypatch.setattr("devote.server.serve.raise_file_limit", lambda: RESERVED + 40)

    @served(network=True)
    async def test(server):
        guard, streams = server.service.connections, []
        for _ in range(guard.streams + 5):
            reader, writer = await connect(server)
            writer.write(f"GET {URL}/stream HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            streams.append((await reader.readuntil(b"\r\n\r\n"), writer))
        statuses = [head.split()[1] for head, _ in streams]
        assert statuses == [b"200"] * guard.streams + [b"503"] * 5
        assert b"retry-after: 60" in streams[-1][0].lower()
        idle = [await connect(server) for _ in range(3 * guard.most)]
        for _ in range(1_000):  # until the next sweep
            # On a busy machine this connection may itself be idle when the sweep comes.
            with suppress(httpx.ReadError):
                async with httpx.AsyncClient(base_url=server.client.base_url) as client:
                    answer = await client.post(f"{URL}/messages", json=body(vote(ALICE)))
                if answer.status_code != 503:
                    break
            await asyncio.sleep(0.05)
        assert answer.status_code == 201
        assert len(guard) <= guard.most
        for _, writer in (*streams, *idle):
            writer.close()

    test(tmp_path)


def fill(store, pages):
    for _ in range(pages):
        with store.database.write() as db:
            db.execute("INSERT INTO pulse VALUES (zeroblob(4096))")


@served()
async def test_health_and_the_log_name_a_full_disk_until_there_is_room(server, tmp_path):
    assert (await server.client.get("/health")).status_code == 200
    with server.store.database.read() as db:
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        (free,) = db.execute("PRAGMA freelist_count").fetchone()
        db.execute(f"PRAGMA max_page_count={pages}")
    with pytest.raises(StoreFull):
        fill(server.store, free + 2)
    await asyncio.sleep(1.1)  # it is looked at once a second
    for _ in range(3):
        full = await server.client.get("/health")
        assert (full.status_code, full.json()["cause"]) == (503, "disk_full")
        assert full.headers["Retry-After"] == "1"
        assert str(tmp_path) not in full.text
    with server.store.database.read() as db:
        db.execute(f"PRAGMA max_page_count={pages + 1000}")
    await asyncio.sleep(1.1)
    assert (await server.client.get("/health")).status_code == 200
    assert (await server.post(vote(ALICE))).status_code == 201
    assert [line["event"] for line in server.events] == ["disk_full", "store_available"]


def test_a_warning_that_repeats_is_written_once_a_minute_without_control_characters():
    written, now = io.StringIO(), 0.0
    log = EventLog(written, clock=lambda: now)

    def warn(text, *args):
        log.handle(logging.LogRecord("asyncio", logging.ERROR, "", 0, text, args, None))

    for number in range(1_000):
        warn("socket.accept() out of system resource\nsocket: %s", number)
        now += 0.001
    warn("red\x1b[2K\x7f\x9b")
    now += 60.0
    warn("socket.accept() out of system resource\nsocket: %s", 1_000)
    lines = written.getvalue().splitlines()
    assert [json.loads(line)["text"] for line in lines] == [
        "socket.accept() out of system resource",
        "red\x1b[2K\x7f\x9b",
        "socket.accept() out of system resource",
    ]
    assert all(line.isascii() and line.isprintable() for line in lines)


def test_what_waits_is_written_together_in_order_and_each_gets_its_own_result():
    groups = []

    async def work(items):
        groups.append(list(items))
        if 13 in items:
            raise OSError("no room")
        return [10 * item for item in items]

    async def main():
        batcher = WriteBatcher(work, most=4)
        results = await asyncio.gather(*map(batcher.do, range(10)))
        assert results == [10 * n for n in range(10)]
        assert groups == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
        mixed = await asyncio.gather(*map(batcher.do, (12, 13, 14)), return_exceptions=True)
        assert [type(one) for one in mixed] == [OSError] * 3
        assert await batcher.do(5) == 50

    asyncio.run(main())


def test_a_group_of_posts_that_fails_leaves_nothing_and_can_be_sent_again(tmp_path):
    with open_store(tmp_path / "x.db") as store:
        store.create(here(SPEC))
        voters = [identity(n) for n in (1, 2, 3)]
        for voter in voters:
            enrol(store, voter)
        posts = [("banner", vote(voter, arm)) for voter in voters for arm in (0, 1)]
        with store.database.read() as db:
            db.execute("CREATE TEMP TRIGGER full BEFORE INSERT ON messages WHEN NEW.number = 4 "
                       "BEGIN SELECT RAISE(ABORT, 'disk full'); END")  # fmt: skip
        with pytest.raises(Exception, match="failed"):
            store.post_all(posts)
        assert store.rows("banner")[0] == 0
        with store.database.read() as db:
            db.execute("DROP TRIGGER full")
        receipts = store.post_all([*posts, posts[0]])
        assert [receipt.number for receipt in receipts] == [1, 2, 3, 4, 5, 6, 1]
        assert receipts[-1].outcome is Outcome.DUPLICATE
        assert store.tally("banner").number == 6
