"""How many bytes a device sends and receives, request by request, and what that comes to in a day.

Run ``python -m benchmarks.device_bytes`` in the root of the repository. Bytes are counted on the
connection, heads included, without those of TCP and TLS. A board of the paper's size is read: 252
votes, as ten options at a quorum of 28 take.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.load import free_port, identity, running

from devote.boards.board import PAGE, Experiment
from devote.boards.http import HttpBoard
from devote.boards.store import SqliteStore
from devote.protocol import ExperimentSpec, to_json
from devote.schemes import Vote

VOTES = 252
DAY = 86_400


class Counted:
    """A proxy that counts."""

    def __init__(self) -> None:
        self.bytes = 0

    @asynccontextmanager
    async def between(self, port: int) -> AsyncIterator[int]:
        """The port of a proxy for a server at a port."""

        async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while data := await reader.read(65_536):
                self.bytes += len(data)
                writer.write(data)
            writer.close()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            there, back = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(pass_on(reader, back), pass_on(there, writer))

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            yield server.sockets[0].getsockname()[1]

    async def of(self, work: Awaitable[object]) -> int:
        """The bytes of one request and its answer."""
        before = self.bytes
        await work
        return self.bytes - before


def fill(path: Path) -> None:
    """An experiment with the votes of a whole run, and one with a full page."""
    store = SqliteStore(path)
    for name, votes in (("banner", VOTES), ("full", PAGE)):
        store.create(Experiment(ExperimentSpec(arms=10, name=name)))
        scope, rows = store.scope(name), []
        for n in range(votes):
            voter = identity(n)
            said = voter.sign(Vote(name, 0, n % 9, voter.voter), scope)
            rows.append((name, n + 1, voter.voter, to_json(said.message), said.signature))
        with store._database.write() as db:
            db.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?)", rows)
    store.close()


async def measure(port: int) -> dict[str, int]:
    counted, figures = Counted(), {}
    async with counted.between(port) as proxy:
        voter = identity(10**6)
        async with HttpBoard(f"http://127.0.0.1:{proxy}/experiments/banner") as board:
            figures["the specification"] = await counted.of(board.fetch_experiment())
            figures["enrolling"] = await counted.of(board.enrol(voter))
            figures["the tally"] = await counted.of(board.tally())
            figures["the tally again, unchanged"] = await counted.of(board.tally())
            figures[f"a page of {VOTES} votes"] = await counted.of(board.snapshot())
            scope = (await board.fetch_experiment()).scope
            envelope = voter.sign(Vote("banner", 0, 9, voter.voter), scope)
            figures["posting a vote"] = await counted.of(board.publish(envelope))
        async with HttpBoard(f"http://127.0.0.1:{proxy}/experiments/full") as board:
            await board.fetch_experiment()
            figures[f"a full page of {PAGE:,} votes"] = await counted.of(board.snapshot())
    return figures


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="devote-bytes-") as name:
        port = free_port()
        fill(Path(name) / "server.db")
        serve = ("devote.cli.main", "serve", "--store", f"{name}/server.db", "--port", str(port))
        with running("devote", port, *serve):
            figures = asyncio.run(measure(port))
    for what, size in figures.items():
        print(f"{size:10,} bytes  {what}")
    same, page = figures["the tally again, unchanged"], figures[f"a page of {VOTES} votes"]
    for pace in (15, 30, 1_920, 3_600):
        reads = DAY / pace
        decisive = min(9, reads)  # of ten options nine go, each is read about once
        total = reads * same + decisive * page
        print(f"{total / 1e3:10,.0f} kB a day at a pace of {pace:,} s ({reads:,.0f} reads)")


if __name__ == "__main__":
    main()
