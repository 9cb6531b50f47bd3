"""A devote server under load, beside a bare server that only echoes.

Run ``python -m benchmarks.load`` in the root of the repository. Server and clients share this
machine, so waiting times include the clients' own work; the processor time of the server alone
is told too, and does not depend on what else the machine does. Every part has a fixed count and
a time limit, everything stays on 127.0.0.1, and all that was started is ended.
"""

import argparse
import asyncio
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devote.boards.board import PAGE, Experiment
from devote.boards.http import HttpBoard
from devote.boards.identity import Identity
from devote.boards.store import SqliteStore
from devote.device.core import Core
from devote.device.store import Store
from devote.protocol import ExperimentSpec, to_json
from devote.protocol.messages import Scope, to_dict
from devote.schemes import Vote

ARMS = 10
BACKLOG = 10_000
LIMIT = 120.0
"""Seconds that any one part may take."""

LIMITS = ("read_rate=1e9", "read_burst=1e9", "write_rate=1e9", "write_burst=1e9")
TICKS = os.sysconf("SC_CLK_TCK")


def identity(n: int) -> Identity:
    return Identity.from_private_bytes((n + 1).to_bytes(32, "big"))


@dataclass
class Server:
    """One of the two servers, and the paths that mean the same on both."""

    name: str
    process: "subprocess.Popen[bytes]"
    port: int

    @property
    def cpu(self) -> float:
        """Processor seconds it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    @property
    def memory(self) -> float:
        """Megabytes resident."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


@contextmanager
def running(name: str, port: int, *command: str) -> Iterator[Server]:
    process = subprocess.Popen([sys.executable, "-m", *command], stderr=subprocess.DEVNULL)
    try:
        asyncio.run(_until_open(port))
        yield Server(name, process, port)
    finally:
        process.terminate()
        process.wait(20)


async def _until_open(port: int) -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return


def fill(path: Path) -> str:
    """An empty experiment, and one whose board holds the backlog, written at once; its board."""
    store = SqliteStore(path)
    for name in ("banner", "old"):
        store.create(Experiment(ExperimentSpec(arms=ARMS, name=name)))
    rows = []
    for n in range(BACKLOG):
        voter = identity(n // ARMS)
        envelope = voter.sign(Vote("old", 0, n % ARMS, voter.voter), store.scope("old"))
        rows.append(("old", n + 1, voter.voter, to_json(envelope.message), envelope.signature))
    with store.database.write() as db:
        db.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?)", rows)
    voter = identity(0)
    store.enrol("banner", voter=voter.voter, signature=voter.sign_enrolment(store.scope("banner")))
    board = store.scope("old").board
    store.close()
    return board


class Client:
    """A connection that is kept open, with as little work of its own as possible."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def connect(self) -> None:
        """Open it."""
        self.reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    def send(self, method: str, path: str, body: bytes = b"") -> None:
        """Ask, without waiting."""
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\n"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        self._writer.write(head.encode() + b"\r\n" + body)

    async def request(self, method: str, path: str, body: bytes = b"") -> bytes:
        """Ask, and return the body of the answer."""
        self.send(method, path, body)
        head = await self.reader.readuntil(b"\r\n\r\n")
        assert head.split()[1] in (b"200", b"201"), head
        at = head.lower().index(b"content-length:") + 15
        return await self.reader.readexactly(int(head[at : head.index(b"\r\n", at)]))

    def close(self) -> None:
        """Close it."""
        self._writer.close()


async def connected(port: int, count: int) -> list[Client]:
    clients = [Client(port) for _ in range(count)]
    for start in range(0, count, 200):
        await asyncio.gather(*(client.connect() for client in clients[start : start + 200]))
    return clients


async def poll(server: Server, path: str, devices: int, rounds: int) -> dict[str, float]:
    """All devices poll as fast as they are answered."""
    clients = await connected(server.port, devices)
    waits: list[float] = []

    async def one(client: Client) -> None:
        for _ in range(rounds):
            begin = time.perf_counter()
            await client.request("GET", path)
            waits.append(time.perf_counter() - begin)

    await asyncio.gather(*(client.request("GET", path) for client in clients))
    cpu, begin = server.cpu, time.perf_counter()
    async with asyncio.timeout(LIMIT):
        await asyncio.gather(*map(one, clients))
    seconds = time.perf_counter() - begin
    for client in clients:
        client.close()
    return {
        "polls per second": len(waits) / seconds,
        "median wait ms": 1e3 * statistics.median(waits),
        "server cpu ms per poll": 1e3 * (server.cpu - cpu) / len(waits),
    }


def vote_body(arm: int, scope: Scope) -> bytes:
    voter = identity(0)
    envelope = voter.sign(Vote("banner", 0, arm, voter.voter), scope)
    return json.dumps(
        {"message": to_dict(envelope.message), "signature": envelope.signature}
    ).encode()


async def spread(
    server: Server, stream: str, post: str, listeners: int, votes: int
) -> dict[str, float]:
    """One vote at a time to all listeners; each waits for the next."""
    memory = server.memory
    scope = Scope("", "")
    if post != "/":
        async with HttpBoard(f"http://127.0.0.1:{server.port}/experiments/banner") as board:
            scope = (await board.fetch_experiment()).scope
    clients = await connected(server.port, listeners)
    async with asyncio.timeout(LIMIT):
        for client in clients:
            client.send("GET", stream)
        await asyncio.gather(*(client.reader.readuntil(b"event: end") for client in clients))
        held = server.memory
        (poster,) = await connected(server.port, 1)
        medians, lasts = [], []
        cpu = server.cpu
        for arm in range(votes):
            body = vote_body(arm, scope)
            mark = body[-80:-2]  # of the signature, which no other vote has
            heard = [asyncio.ensure_future(_arrival(client, mark)) for client in clients]
            begin = time.perf_counter()
            await poster.request("POST", post, body)
            times = sorted(moment - begin for moment in await asyncio.gather(*heard))
            medians.append(times[len(times) // 2])
            lasts.append(times[-1])
    for client in (*clients, poster):
        client.close()
    return {
        "median listener ms": 1e3 * statistics.median(medians),
        "last listener ms": 1e3 * statistics.median(lasts),
        "server cpu ms per vote": 1e3 * (server.cpu - cpu) / votes,
        "kB per listener": 1024 * (held - memory) / listeners,
    }


async def _arrival(client: Client, mark: bytes) -> float:
    await client.reader.readuntil(mark)
    return time.perf_counter()


async def join_late(
    server: Server, paths: list[str], times: int = 7
) -> tuple[dict[str, float], list[int]]:
    """One who reads the whole backlog, page after page; and how long each page is."""
    (client,) = await connected(server.port, 1)

    async def read() -> tuple[float, list[int]]:
        begin = time.perf_counter()
        sizes = [len(await client.request("GET", path)) for path in paths]
        return time.perf_counter() - begin, sizes

    first, sizes = await read()
    cpu = server.cpu
    waits = [(await read())[0] for _ in range(times)]
    client.close()
    return {
        "first read ms, from the file": 1e3 * first,
        "read ms": 1e3 * statistics.median(waits),
        "server cpu ms": 1e3 * (server.cpu - cpu) / times,
    }, sizes


async def join_as_a_device(server: Server) -> dict[str, float]:
    """The same by a real device, which checks each signature and stores each vote."""
    async with HttpBoard(f"http://127.0.0.1:{server.port}/experiments/old") as board:
        begin = time.process_time()
        experiment = await board.fetch_experiment()
        posted = [posted async for posted in board.read()]
        parsed = time.process_time()
    newcomer = identity(BACKLOG)
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder) / "device.db")
        store.identity(experiment.name, newcomer)
        store.join(experiment, newcomer)
        core = Core(store)
        assert core.receive(posted, len(posted))
        core.close()
    return {
        "device cpu ms to parse": 1e3 * (parsed - begin),
        "device cpu ms to check and store": 1e3 * (time.process_time() - parsed),
    }


def show(title: str, ours: dict[str, float], bare: dict[str, float]) -> None:
    print(f"\n{title:45} {'devote':>10} {'bare':>10} {'ratio':>8}")
    for name, value in ours.items():
        other = bare.get(name)
        beside = "" if not other else f"{other:10.3g} {value / other:8.2f}"
        print(f"  {name:43} {value:10.3g} {beside}", flush=True)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def room_for(connections: int) -> int:
    """At most so many connections, if the system allows that many files."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard < connections + 200:
        print(f"only {hard - 200} connections: raise `ulimit -n` for {connections}")
    return min(connections, hard - 200)


def measure(options: argparse.Namespace, folder: Path) -> None:
    store = folder / "server.db"
    board = fill(store)
    devices, listeners = room_for(options.devices), room_for(options.listeners)
    ports = free_port(), free_port()
    limits: list[str] = [word for limit in LIMITS for word in ("--limit", limit)]
    serve = ("devote.cli.main", "serve", "--store", str(store), "--port", str(ports[0]), *limits)
    messages, tally = "/experiments/banner/messages", "/experiments/banner/tally"
    with (
        running("devote", ports[0], *serve) as ours,
        running("bare", ports[1], "benchmarks.echo", str(ports[1])) as bare,
    ):
        at_rest = {"MB at rest": ours.memory}, {"MB at rest": bare.memory}
        print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        show(
            f"{devices:,} devices polling, {options.rounds} rounds",
            asyncio.run(poll(ours, tally, devices, options.rounds)),
            asyncio.run(poll(bare, "/size/230", devices, options.rounds)),
        )
        show(
            f"one vote to {listeners:,} listeners",
            asyncio.run(
                spread(ours, "/experiments/banner/stream", messages, listeners, options.votes)
            ),
            asyncio.run(spread(bare, "/stream", "/", listeners, options.votes)),
        )
        pages = [f"/experiments/old/log/{board}/{n + 1}" for n in range(BACKLOG // PAGE)]
        late, sizes = asyncio.run(join_late(ours, pages))
        late["MB read"] = sum(sizes) / 2**20
        late |= asyncio.run(join_as_a_device(ours))
        show(
            f"a late joiner reads {BACKLOG:,} votes",
            late,
            asyncio.run(join_late(bare, [f"/size/{size}" for size in sizes]))[0],
        )
        after: Any = {"MB after all": ours.memory}, {"MB after all": bare.memory}
        show("memory of the server", at_rest[0] | after[0], at_rest[1] | after[1])
        print(f"load average {os.getloadavg()[0]:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=1_000)
    parser.add_argument("--listeners", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--votes", type=int, default=ARMS)
    with tempfile.TemporaryDirectory(prefix="devote-load-") as folder:
        measure(parser.parse_args(), Path(folder))


if __name__ == "__main__":
    main()
