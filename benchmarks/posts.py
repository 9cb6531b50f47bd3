"""How many signed posts a server accepts, on SQLite and on JetStream.

Run ``python -m benchmarks.posts`` in the root of the repository. Votes of many voters are signed
beforehand and posted over connections that stay open, as fast as they are answered. What counts is
the processor time of the server alone: it does not depend on what else the machine does. That of
the NATS nodes is told beside it. Everything stays on 127.0.0.1, and all that was started is ended.
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.load import LIMIT, LIMITS, TICKS, Client, connected, identity, running
from tests.boards.nodes import Node
from tests.server.cluster import Cluster
from tests.tools import free_port

from devote.boards.board import Experiment, Outcome
from devote.boards.database import StoreError
from devote.boards.store import SqliteStore, open_store
from devote.protocol import ExperimentSpec
from devote.protocol.messages import to_dict
from devote.schemes import Vote

ARMS = 10


def cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def bodies(store: SqliteStore, count: int) -> list[bytes]:
    """Votes of enrolled voters, signed."""
    store.create(Experiment(ExperimentSpec(arms=ARMS, name="banner")))
    scope, signed = store.scope("banner"), []
    for n in range(-(-count // ARMS)):
        voter = identity(n)
        receipt = store.enrol("banner", voter=voter.voter, signature=voter.sign_enrolment(scope))
        assert receipt.outcome is not Outcome.REFUSED
        for arm in range(ARMS):
            envelope = voter.sign(Vote("banner", 0, arm, voter.voter), scope)
            body = {"message": to_dict(envelope.message), "signature": envelope.signature}
            signed.append(json.dumps(body).encode())
    return signed[:count]


async def post_all(port: int, posts: list[bytes], at_once: int) -> float:
    clients = await connected(port, at_once)
    waiting = iter(posts)

    async def one(client: Client) -> None:
        for body in waiting:
            await client.request("POST", "/experiments/banner/messages", body)

    begin = time.perf_counter()
    async with asyncio.timeout(LIMIT):
        await asyncio.gather(*map(one, clients))
    seconds = time.perf_counter() - begin
    for client in clients:
        client.close()
    return seconds


def measure(what: str, where: str, nodes: list[int], count: int, at_once: int) -> None:
    store = open_store(where)
    posts = bodies(store, count)
    store.close()
    limits = [
        word
        for limit in (*LIMITS, "voter_rate=1e9", "voter_burst=1e9")
        for word in ("--limit", limit)
    ]
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        token = str(Path(folder, "token"))
        command = ["devote.cli.main", "serve", "--store", where, "--port", str(port)]
        with running(what, port, *command, "--token-file", token, *limits) as server:
            asyncio.run(post_all(port, posts[:50], 1))  # it opens the log
            before, of_nodes = server.cpu, sum(map(cpu, nodes))
            seconds = asyncio.run(post_all(port, posts[50:], at_once))
            used, of_nodes = server.cpu - before, sum(map(cpu, nodes)) - of_nodes
    done = count - 50
    print(
        f"{what}: {done / used:,.0f} accepted posts per second and core of the server "
        f"({1e3 * used / done:.2f} ms each); nodes {1e3 * of_nodes / done:.2f} ms each; "
        f"{done / seconds:,.0f} per second here, {at_once} at once",
        flush=True,
    )


@contextmanager
def one_node(folder: Path) -> Iterator[tuple[str, list[int]]]:
    node = Node(folder / "node")
    node.start()
    try:
        yield node.address, [node.process.pid]
    finally:
        node.stop()


@contextmanager
def three_nodes(folder: Path) -> Iterator[tuple[str, list[int]]]:
    cluster = Cluster(folder, servers=0)
    try:
        cluster.start()
        for _ in range(60):  # the nodes elect a leader first
            with suppress(StoreError):
                open_store(cluster.store).close()
                break
        yield cluster.store, [node.process.pid for node in cluster.nodes]
    finally:
        cluster.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--posts", type=int, default=5_000)
    parser.add_argument("--at-once", type=int, default=64)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="devote-posts-") as name:
        folder = Path(name)
        measure("SQLite", str(folder / "x.db"), [], options.posts, options.at_once)
        for what, opened in (("JetStream, 1 node", one_node), ("JetStream, 3 nodes", three_nodes)):
            with opened(folder / opened.__name__) as (where, nodes):
                measure(what, where, nodes, options.posts, options.at_once)


if __name__ == "__main__":
    main()
