"""Debian's nginx with deploy/cache.conf: the fleet reads there, the server rests."""

import asyncio
import time

import httpx
import pytest
from tests.boards.test_http_reads import fill, newcomer
from tests.server.live import api, body, enrol_all, identity, serving, vote
from tests.server.nginx import nginx
from tests.tools import needed

from devote.boards.board import PAGE, EndOfBacklog
from devote.boards.http import HttpBoard
from devote.device.sync import sync_once

URL = "/experiments/banner"


@pytest.fixture(autouse=True)
def there_is_nginx():
    needed("nginx")


async def counts(client, origin):
    """How often the server has answered each route."""
    found = {}
    for line in (await client.get(f"{origin}/metrics")).text.splitlines():
        if line.startswith("devote_requests_total"):
            name, value = line.rsplit(" ", 1)
            route = name.partition('route="')[2].partition('"')[0]
            found[route] = found.get(route, 0.0) + float(value)
    return found


def test_devices_read_through_a_cache_that_asks_the_server_about_once_a_second(tmp_path):
    async def main():
        async with api(tmp_path / "board.db") as server, serving(server.app) as origin:
            fill(server.store, PAGE + 3)
            port = int(origin.rpartition(":")[2])
            with nginx(port, tmp_path / "nginx") as cache:
                async with httpx.AsyncClient(timeout=30) as client:
                    await through(server, client, origin, cache)

    async def through(server, client, origin, cache):
        begin = time.monotonic()
        for n in range(30):  # new devices, each with a board of its own
            core = newcomer(tmp_path / f"{n}.db")
            board = HttpBoard(f"{cache}{URL}", client)
            assert await sync_once(core, board)
            assert await sync_once(core, board, verify_history=False)
            assert core.record.bookmark.number == PAGE + 3
            core.close()
        seconds = time.monotonic() - begin
        seen = await counts(client, origin)
        assert seen[f"{'/experiments/{name}'}/tally"] <= seconds + 3
        # A full page is asked for once, the last page about once a second.
        assert seen["/experiments/{name}/log/{board}/{page}"] <= seconds + 4

        tally = await client.get(f"{cache}{URL}/tally")
        same = {"If-None-Match": tally.headers["ETag"]}
        assert (await client.get(f"{cache}{URL}/tally", headers=same)).status_code == 304

        voter = identity(900)
        enrol_all(server.store, [voter])
        answer = await client.post(f"{cache}{URL}/messages", json=body(vote(voter)))
        assert answer.status_code == 201
        while (await client.get(f"{cache}{URL}/tally")).json()["number"] == PAGE + 3:
            await asyncio.sleep(0.2)
        for path in ("/metrics", "/metrics%0a", "/metrics%0d%0a", "/metrics/", "/metrics?x"):
            assert (await client.get(f"{cache}{path}")).status_code == 404
        asked = (await counts(client, origin))["/experiments/{name}/tally"]
        for path in (f"{URL}/tally?k={n}" for n in range(20)):
            assert (await client.get(f"{cache}{path}")).status_code == 400
        assert (await client.get(f"{cache}{URL}?k")).status_code == 400
        assert (await client.get(f"{cache}{URL}/messages?after=1")).status_code == 200
        assert (await counts(client, origin))["/experiments/{name}/tally"] == asked

        events = HttpBoard(f"{cache}{URL}", client).stream(after=PAGE + 4)
        assert await anext(events) == EndOfBacklog(PAGE + 4)
        await client.post(f"{cache}{URL}/messages", json=body(vote(voter, 1)))
        assert (await anext(events)).number == PAGE + 5  # at once: streams are not held back
        await events.aclose()

    asyncio.run(asyncio.wait_for(main(), 120))
