"""Accepted signed posts per second and core, and what an enrolment costs among a million.

Run ``python -m benchmarks.writes`` in the root of the repository. The server is a process of its
own, its processor time is what is told: that does not depend on what else the machine does. Each
post has a voter and a signature of its own and is on the disk before it is answered.
"""

import argparse
import asyncio
import json
import os
import tempfile
import time
from pathlib import Path

from benchmarks.load import LIMIT, LIMITS, Client, Server, connected, free_port, identity, running

from devote.boards.board import Experiment, Outcome
from devote.boards.store import SqliteStore
from devote.protocol import ExperimentSpec
from devote.protocol.messages import to_dict
from devote.schemes import Claim, Jury, Vote

SPEC = ExperimentSpec(arms=10, name="banner")


def prepared(path: Path, posts: int) -> tuple[list[bytes], list[bytes]]:
    """A store with voters, votes to post, and requests to be enrolled."""
    store = SqliteStore(path)
    store.create(Experiment(SPEC))
    scope = store.scope("banner")
    voters = [identity(n) for n in range(posts)]
    store.admit_known("banner", [voter.voter for voter in voters])
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


def measure(posts: int, devices: int, folder: Path) -> dict[str, dict[str, float]]:
    path = folder / "server.db"
    votes, requests = prepared(path, posts)
    port = free_port()
    limits = [word for limit in LIMITS for word in ("--limit", limit)]
    serve = ("devote.cli.main", "serve", "--store", str(path), "--port", str(port), *limits)
    with running("devote", port, *serve) as server:
        url = "/experiments/banner"
        asyncio.run(post(server, f"{url}/messages", votes[:20], 1))
        return {
            "posts": asyncio.run(post(server, f"{url}/messages", votes[20:], devices)),
            "enrolments": asyncio.run(post(server, f"{url}/enrolments", requests, devices)),
        }


def claims(seats: int, folder: Path, each: int = 200) -> dict[str, float]:
    """Processor time of a store for one enrolment, one claim and one look, among so many voters."""
    store = SqliteStore(folder / f"{seats}.db")
    spec = ExperimentSpec(arms=10, name="claims", scheme=Jury(seats=2 * each))
    store.create(Experiment(spec))
    scope = store.scope("claims")
    voters = [identity(10**9 + n) for n in range(each)]
    store.admit_known("claims", [f"{n * 7919:064x}" for n in range(seats)])
    store.get("claims")  # which counts them, once
    signatures = [voter.sign_enrolment(scope) for voter in voters]
    said = [voter.sign(Claim("claims", voter.voter), scope) for voter in voters]
    figures = {}
    begin = time.process_time()
    for voter, signature in zip(voters, signatures, strict=True):
        store.enrol("claims", voter=voter.voter, signature=signature)
    figures["enrolment"], begin = time.process_time() - begin, time.process_time()
    for envelope in said:
        assert store.post("claims", envelope).outcome is Outcome.ACCEPTED
    figures["claim"], begin = time.process_time() - begin, time.process_time()
    for _ in range(each):
        store.get("claims")
    figures["look"] = time.process_time() - begin
    store.close()
    return {f"cpu ms of one {name}": 1e3 * value / each for name, value in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posts", type=int, default=3_000)
    parser.add_argument("--devices", type=int, default=64)
    parser.add_argument("--seats", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="devote-writes-") as folder:
        print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        for what, figures in measure(options.posts, options.devices, Path(folder)).items():
            for name, value in figures.items():
                print(f"  {what:12} {name:42} {value:10.3g}", flush=True)
        none, many = (claims(seats, Path(folder)) for seats in (0, options.seats))
        print(f"{'':24} with none      with {options.seats:,} enrolled       ratio")
        for name, value in none.items():
            print(f"  {name:24} {value:8.3f} {many[name]:20.3f} {many[name] / value:18.2f}")


if __name__ == "__main__":
    main()
