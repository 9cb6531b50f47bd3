"""A server that stands: stalled peers, too many connections, a full disk, a second server."""

import asyncio
import io
import json
import logging
import socket

import httpx
import pytest
from tests.boards.local import here
from tests.server.live import OPERATOR, SPEC, api, body, enrol, identity, open_store, serving, vote

from devote.boards.board import Outcome
from devote.boards.database import StoreFull
from devote.server import Settings, create_app
from devote.server.limits import RESERVED, ServerError
from devote.server.log import EventLog
from devote.server.serve import only_server
from devote.server.service import WriteBatcher

ALICE = identity(1)
URL = "/experiments/banner"


def run(test, path, **limits):
    """Run a test with a server behind a real socket."""

    async def main():
        async with api(path / "board.db", **limits) as server, serving(server.app) as url:
            enrol(server.store, ALICE)
            async with asyncio.timeout(60):
                await test(server, url)

    asyncio.run(main())


async def connect(url):
    return await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))


async def is_dropped(reader):
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True


HALF_A_HEAD = b"GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: "
HALF_A_BODY = (
    b"POST /experiments/banner/messages HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Content-Length: 300\r\n\r\n{"
)


@pytest.mark.parametrize("sent", [b"", HALF_A_HEAD])
def test_who_never_ends_a_request_is_dropped_however_steadily_bytes_come(tmp_path, sent):
    async def test(server, url):
        reader, writer = await connect(url)
        writer.write(sent)
        ended = asyncio.create_task(is_dropped(reader))
        while not ended.done():
            if sent and not writer.is_closing():
                writer.write(b"x")
            await asyncio.sleep(0.05)
        assert await ended
        writer.close()
        assert await told(url, 'devote_connections_dropped_total{why="unasked"}') >= 1
        assert (await posted(url)).status_code == 201

    run(test, tmp_path, patience=0.5)


def test_an_answer_is_sent_at_once_and_does_not_wait_for_the_peer_to_confirm_its_first_half(
    tmp_path,
):
    async def test(server, url):
        _, writer = await connect(url)
        state = server.app.state.service.connections.server.server_state
        while not (connections := list(state.connections)):
            await asyncio.sleep(0.01)
        for connection in connections:
            opened = connection.transport.get_extra_info("socket")
            assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        writer.close()

    run(test, tmp_path)


def test_a_body_that_never_comes_to_an_end_is_answered_and_ended(tmp_path):
    async def test(server, url):
        for first in (HALF_A_BODY, HALF_A_BODY[:-1]):
            reader, writer = await connect(url)
            writer.write(first)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 408"), head
            writer.close()
        assert (await posted(url)).status_code == 201

    run(test, tmp_path, patience=0.3)


def test_who_does_not_read_an_answer_is_dropped(tmp_path):
    async def test(server, url):
        with server.store.database.write() as db:
            rows = [("banner", n, "v", f'"{n}{"x" * 9_000}"', "s") for n in range(1, 1_001)]
            db.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?)", rows)
        reader, writer = await connect(url)
        writer.transport.pause_reading()
        board = server.store.scope("banner").board
        asked = f"GET {URL}/log/{board}/1 HTTP/1.1\r\nHost: x\r\n\r\n"
        writer.write(asked.encode() * 3)
        name = 'devote_connections_dropped_total{why="unread"}'
        while await told(url, name) < 1:
            await asyncio.sleep(0.2)
        writer.close()
        del reader

    run(test, tmp_path, patience=0.5)


async def told(url, name):
    """A number among the server's metrics, 0 if it is not there."""
    async with httpx.AsyncClient() as client:
        text = (await client.get(f"{url}/metrics")).text
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))


async def posted(url, arm=0):
    async with httpx.AsyncClient(timeout=30) as client:
        return await client.post(f"{url}{URL}/messages", json=body(vote(ALICE, arm)))


def test_idle_connections_make_room_and_streams_are_refused_before_files_run_out(
    tmp_path, monkeypatch
):
    """The long one, under a real limit, is `python -m tests.server.crowd`."""
    monkeypatch.setattr("devote.server.serve.raise_file_limit", lambda: RESERVED + 40)

    async def main():
        async with api(tmp_path / "board.db") as server, serving(server.app) as url:
            enrol(server.store, ALICE)
            guard = server.app.state.service.connections
            streams = []
            for _ in range(guard.streams + 5):
                reader, writer = await connect(url)
                writer.write(f"GET {URL}/stream HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                streams.append((await reader.readuntil(b"\r\n\r\n"), writer))
            statuses = [head.split()[1] for head, _ in streams]
            assert statuses == [b"200"] * guard.streams + [b"503"] * 5
            assert b"retry-after: 60" in streams[-1][0].lower()
            idle = [await connect(url) for _ in range(3 * guard.most)]
            while (answer := await posted(url)).status_code == 503:  # until the next sweep
                await asyncio.sleep(0.05)
            assert answer.status_code == 201
            assert len(guard) <= guard.most
            for _, writer in (*streams, *idle):
                writer.close()

    asyncio.run(main())


def fill_up(store, pages):
    for _ in range(pages):
        with store.database.write() as db:
            db.execute("INSERT INTO pulse VALUES (zeroblob(4096))")


def test_the_disk_is_full_and_health_says_so_and_so_do_posts_until_there_is_room(tmp_path):
    async def test(server, url):
        async with httpx.AsyncClient() as client:
            assert (await client.get(f"{url}/health")).status_code == 200
            with server.store.database.read() as db:
                (pages,) = db.execute("PRAGMA page_count").fetchone()
                (free,) = db.execute("PRAGMA freelist_count").fetchone()
                db.execute(f"PRAGMA max_page_count={pages}")
            with pytest.raises(StoreFull):
                fill_up(server.store, free + 2)
            await asyncio.sleep(1.1)
            full = await client.get(f"{url}/health")
            assert (full.status_code, full.headers["Retry-After"]) == (503, "1")
            assert str(tmp_path) not in full.text
            with server.store.database.read() as db:
                db.execute(f"PRAGMA max_page_count={pages + 1000}")
            await asyncio.sleep(1.1)
            assert (await client.get(f"{url}/health")).status_code == 200
            assert (await posted(url)).status_code == 201

    run(test, tmp_path)


def test_a_second_server_on_one_store_is_refused_in_one_line_and_writes_nothing(tmp_path):
    store = tmp_path / "x.db"
    again = pytest.raises(ServerError, match=r"Another server has the store '.*x\.db' open")
    with only_server(store), again, only_server(store):
        pass
    with only_server(store):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_warning_that_repeats_is_written_once_a_minute_():
    written = io.StringIO()
    now = 0.0
    warnings = EventLog(written, clock=lambda: now)

    def log(text, *args):
        record = logging.LogRecord("asyncio", logging.ERROR, "", 0, text, args, None)
        warnings.handle(record)

    for number in range(1_000):
        log("socket.accept() out of system resource\nsocket: %s", number)
        now += 0.001
    log("something else")
    now += 60.0
    log("socket.accept() out of system resource\nsocket: %s", 1_000)
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert [line["text"] for line in lines] == [
        "socket.accept() out of system resource",
        "something else",
        "socket.accept() out of system resource",
    ]


def test_what_waits_is_written_together_in_order_and_each_hears_of_its_own():
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
        assert store.numbers() == {}
        with store.database.read() as db:
            db.execute("DROP TRIGGER full")
        receipts = store.post_all([*posts, posts[0]])
        assert [receipt.number for receipt in receipts] == [1, 2, 3, 4, 5, 6, 1]
        assert receipts[-1].outcome is Outcome.DUPLICATE
        assert store.tally("banner").number == 6


def test_metrics_and_the_operators_calls_have_a_port_of_their_own_if_asked(tmp_path):
    async def main():
        with open_store(tmp_path / "x.db") as store:
            store.create(here(SPEC))
            app = create_app(store, Settings(token=OPERATOR["Authorization"].split()[1]))
            async with serving(app) as url:
                port = int(url.rpartition(":")[2])
                for admin_port, status in ((port, 200), (port + 1, 404)):
                    app.state.service.admin_port = admin_port
                    async with httpx.AsyncClient() as client:
                        assert (await client.get(f"{url}/metrics")).status_code == status
                        asked = client.post(
                            f"{url}{URL}/invites", json={"count": 1}, headers=OPERATOR
                        )
                        assert (await asked).status_code == {200: 201, 404: 404}[status]
                        assert (await client.get(f"{url}/health")).status_code == 200

    asyncio.run(main())


def test_requests_are_timed_and_invented_methods_share_one_label(tmp_path):
    async def test(server, url):
        for number in range(50):
            reader, writer = await connect(url)
            writer.write(f"M{number} /health HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert (await reader.readuntil(b"\r\n\r\n")).split()[1] == b"405"
            writer.close()
        await posted(url)
        assert await told(url, 'devote_requests_total{method="other"') == 50
        assert await told(url, 'devote_requests_total{method="M') == 0
        assert await told(url, "devote_request_seconds_count") >= 51

    run(test, tmp_path)
