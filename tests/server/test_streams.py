"""Server-sent events: of a board for devices, of its last number for the page."""

import asyncio
import json
import multiprocessing

import pytest
from tests.server.live import OPERATOR, body, identity, open_store, served, vote

from devote.boards.database import StoreBusy
from devote.boards.http import decode

ALICE = identity(1)
URL = "/experiments/banner"


async def events(response):
    async for event in decode(response.aiter_bytes()):
        yield event


@served(network=True, heartbeat=0.1)
async def test_silence_on_a_stream_is_broken_by_heartbeats(server):
    async with server.client.stream("GET", f"{URL}/stream") as response:
        chunks = response.aiter_bytes()
        assert await anext(chunks) == b"id: 0\nevent: end\ndata: 0\n\n"
        assert await anext(chunks) == b": still here\n\n"
        assert await anext(chunks) == b": still here\n\n"


@served(network=True)
async def test_a_browser_that_reconnects_resumes_where_it_was(server):
    for arm in range(3):
        await server.post(vote(ALICE, arm))
    known = {"Last-Event-ID": "2"}
    async with server.client.stream("GET", f"{URL}/stream?after=0", headers=known) as response:
        assert response.headers["Content-Type"].startswith("text/event-stream")
        found = events(response)
        first, end = await anext(found), await anext(found)
        assert (first.event, first.id) == ("message", "3")
        assert json.loads(first.data) == {"number": 3, **body(vote(ALICE, 2))}
        assert (end.event, end.id, end.data) == ("end", "3", "3")
        await server.post(vote(ALICE, 3))
        assert json.loads((await anext(found)).data)["message"]["arm"] == 3


def _post_elsewhere(path):
    with open_store(path) as store:
        store.post("banner", vote(ALICE, 3))


@served(network=True, poll=0.1)
async def test_what_another_process_writes_reaches_the_listeners(server, tmp_path):
    async with server.client.stream("GET", f"{URL}/stream") as response:
        found = events(response)
        assert (await anext(found)).event == "end"
        other = multiprocessing.get_context("spawn").Process(
            target=_post_elsewhere, args=(str(tmp_path / "board.db"),)
        )
        other.start()
        assert json.loads((await anext(found)).data)["message"]["arm"] == 3
        await asyncio.to_thread(other.join)


@served(network=True, poll=0.05)
async def test_a_stream_outlives_a_store_that_cannot_be_read_for_a_while(server, tmp_path):
    rows, failures = server.store.rows, [StoreBusy("busy")] * 3

    def failing(*args):
        if failures:
            raise failures.pop()
        return rows(*args)

    async with server.client.stream("GET", f"{URL}/stream") as response:
        found = events(response)
        assert (await anext(found)).event == "end"
        server.store.rows = failing
        _post_elsewhere(tmp_path / "board.db")
        assert json.loads((await anext(found)).data)["message"]["arm"] == 3
        assert failures == []


@served(network=True, streams=1)
async def test_there_are_no_more_streams_than_allowed_and_one_that_leaves_makes_room(server):
    async with server.client.stream("GET", f"{URL}/stream") as first:
        found = events(first)  # kept: a stream that nobody holds is closed
        assert (await anext(found)).event == "end"
        refused = await server.client.get(f"{URL}/stream")
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "60")
    while server.service.listeners:
        await asyncio.sleep(0.01)
    async with server.client.stream("GET", f"{URL}/stream") as second:
        assert second.status_code == 200


@served(network=True, streams=3)
async def test_of_many_streams_that_open_at_once_no_more_are_let_in_either(server):
    async def ask():
        async with server.client.stream("GET", f"{URL}/stream") as response:
            await asyncio.sleep(0.3)
            return response.status_code

    assert sorted(await asyncio.gather(*(ask() for _ in range(20)))) == [200] * 3 + [503] * 17


@served(network=True)
async def test_a_shutdown_ends_the_streams_and_soon(server):
    async with server.client.stream("GET", f"{URL}/stream") as response:
        found = events(response)
        assert (await anext(found)).event == "end"
        server.service.connections.server.should_exit = True
        async with asyncio.timeout(5):
            assert [event async for event in found] == []


@served(network=True)
async def test_a_restored_older_file_ends_the_streams_and_is_read_anew(server):
    for arm in range(2):
        await server.post(vote(ALICE, arm))
    async with server.client.stream("GET", f"{URL}/stream") as response:
        found = events(response)
        assert [(await anext(found)).event for _ in range(3)] == ["message"] * 2 + ["end"]
        with server.store.database.write() as db:
            db.execute("DELETE FROM messages WHERE number = 2")
        assert (await server.client.get(f"{URL}/messages")).json()["number"] == 1
        assert [event async for event in found] == []


@served(network=True)
async def test_two_thousand_events_are_caught_up_with_in_order(server):
    with server.store.database.write() as db:
        db.executemany(
            "INSERT INTO messages VALUES ('banner', ?, 'x', ?, '')",
            [(number, f'{{"n":{number}}}') for number in range(1, 2_501)],
        )
    numbers = []
    async with server.client.stream("GET", f"{URL}/stream?after=100") as response:
        async for event in events(response):
            if event.event == "end":
                break
            numbers.append(int(event.id))
    assert numbers == list(range(101, 2_501))


@served()
async def test_a_stream_of_a_deleted_experiment_ends(server):
    board = server.service.board("banner")
    found = board.follow(0)
    assert b"end" in await anext(found)
    await server.client.delete(URL, headers=OPERATOR)
    with pytest.raises(StopAsyncIteration):
        await anext(found)


@served(voters=8)
async def test_a_page_gets_the_last_number_once_however_many_messages_came(server):
    board = server.service.board("banner")
    numbers = board.numbers(0.01)
    assert b"data: 0" in await anext(numbers)
    for number in range(1, 9):
        await server.post(vote(identity(number)))
    assert await board.end.get() == 8
    assert await anext(numbers) == b"id: 8\nevent: number\ndata: 8\n\n"
    board.close()
    with pytest.raises(StopAsyncIteration):
        await anext(numbers)
