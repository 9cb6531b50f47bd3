"""Accepted signed posts per second and core, and what an enrolment costs among a million.

Run ``python -m benchmarks.writes`` in the root of the repository. The server is a process of its
own, its processor time is what is told: that does not depend on what else the machine does. Each
post has a voter and a signature of its own and is on the disk before it is answered.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.load import LIMIT, LIMITS, Client, Server, connected, free_port, identity, running

from devote.boards.experiment import Experiment
from devote.boards.store import SqliteStore
from devote.protocol import ExperimentSpec
from devote.protocol.messages import to_dict
from devote.schemes import Vote

SPEC = ExperimentSpec(arms=10, name="banner")


def prepared(path: Path, posts: int, seats: int) -> tuple[list[bytes], list[bytes]]:
    """A store with so many seats taken, votes to post, and requests to be enrolled."""
    store = SqliteStore(path)
    store.create(Experiment(SPEC))
    scope = store.scope("banner")
    voters = [identity(n) for n in range(posts)]
    rows = [("banner", voter.voter) for voter in voters]
    rows += [("banner", f"{n:064x}") for n in range(seats - posts)]
    with store._database.write() as db:
        db.executemany("INSERT OR IGNORE INTO enrolled VALUES (?, ?)", sorted(rows))
    store.close()
    votes, requests = [], []
    for n, voter in enumerate(voters):
        envelope = voter.sign(Vote("banner", 0, n % SPEC.n_arms, voter.voter), scope)
        said = {"message": to_dict(envelope.message), "signature": envelope.signature}
        votes.append(json.dumps(said).encode())
    for n in range(posts):
        voter = identity(10**9 + n)
        asked = {"voter": voter.voter, "signature": voter.sign_enrolment(scope)}
        requests.append(json.dumps(asked).encode())
    return votes, requests


async def post(server: Server, path: str, bodies: list[bytes], devices: int) -> dict[str, float]:
    """So many devices post one after another, each as soon as it is answered."""
    clients = await connected(server.port, devices)
    left = iter(bodies)
    cpu, begin = server.cpu, time.perf_counter()

    async def one(client: Client) -> None:
        for body in left:
            await client.request("POST", path, body)

    async with asyncio.timeout(LIMIT):
        await asyncio.gather(*map(one, clients))
    seconds, used = time.perf_counter() - begin, server.cpu - cpu
    for client in clients:
        client.close()
    return {
        "accepted per second of the server's core": len(bodies) / used,
        "accepted per second on the clock": len(bodies) / seconds,
        "server cpu ms each": 1e3 * used / len(bodies),
    }


def measure(posts: int, devices: int, seats: int, folder: Path) -> dict[str, dict[str, float]]:
    path = folder / f"server-{seats}.db"
    votes, requests = prepared(path, posts, seats)
    port = free_port()
    limits = [word for limit in LIMITS for word in ("--limit", limit)]
    serve = ("devote.cli.main", "serve", "--store", str(path), "--port", str(port), *limits)
    with running("devote", port, *serve) as server:
        url = "/experiments/banner"
        asyncio.run(post(server, f"{url}/messages", votes[:20], 1))
        return {
            "posts": asyncio.run(post(server, f"{url}/messages", votes[20:], devices)),
            "enrolments": asyncio.run(post(server, f"{url}/enrolments", requests, devices)),
            "enrolments one by one": asyncio.run(
                post(server, f"{url}/enrolments", [again(body) for body in requests[:50]], 1)
            ),
        }


def again(body: bytes) -> bytes:
    """The same request: whether a voter is enrolled is looked up among all."""
    return body


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posts", type=int, default=3_000)
    parser.add_argument("--devices", type=int, default=64)
    parser.add_argument("--seats", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="devote-writes-") as folder:
        for seats in (0, options.seats):
            print(f"\n{seats:,} seats taken, load average {os.getloadavg()[0]:.1f}")
            found = measure(options.posts, options.devices, seats, Path(folder))
            for what, figures in found.items():
                for name, value in figures.items():
                    print(f"  {what:24} {name:42} {value:10.3g}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
