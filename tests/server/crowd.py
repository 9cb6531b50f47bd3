"""Thousands of streams and idle connections on a server that may open few files.

``python -m tests.server.crowd --streams 2000 --idle 3000 --files 1024`` starts a server under that
limit, opens them all, and posts votes meanwhile. Told are how many streams were taken and how many
refused politely, that all votes were accepted, and how long the server's log became.
"""

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import httpx
from tests.boards.local import here
from tests.server.live import SPEC, body, enrol_all, identity, open_store, vote
from tests.server.nginx import free_port

URL = "/experiments/banner"


async def connect(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", port)


async def stream(port: int, found: Counter[str]) -> asyncio.StreamWriter | None:
    """Ask for a stream; how that ended."""
    try:
        async with asyncio.timeout(60):
            reader, writer = await connect(port)
            writer.write(f"GET {URL}/stream HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
    except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
        found[f"cut off: {type(error).__name__}"] += 1
        return None
    status = head.split()[1].decode()
    found[f"{status}{', told when to come back' if b'retry-after' in head else ''}"] += 1
    return writer


async def idle(port: int, found: Counter[str]) -> asyncio.StreamWriter | None:
    try:
        async with asyncio.timeout(60):
            _, writer = await connect(port)
    except (OSError, TimeoutError) as error:
        found[f"not let in: {type(error).__name__}"] += 1
        return None
    found["let in"] += 1
    return writer


async def crowd(port: int, streams: int, idlers: int, votes: int) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {name: Counter() for name in ("streams", "idle", "votes")}
    held = []
    for start in range(0, streams, 100):
        some = (stream(port, found["streams"]) for _ in range(min(100, streams - start)))
        held += await asyncio.gather(*some)
    for start in range(0, idlers, 100):
        some = (idle(port, found["idle"]) for _ in range(min(100, idlers - start)))
        held += await asyncio.gather(*some)
        async with httpx.AsyncClient(timeout=60) as client:
            number = found["votes"].total()
            if number < votes:
                url = f"http://127.0.0.1:{port}{URL}/messages"
                answer = await client.post(url, json=body(vote(identity(number + 1))))
                found["votes"][str(answer.status_code)] += 1
    async with httpx.AsyncClient(timeout=60) as client:
        assert (await client.get(f"http://127.0.0.1:{port}/health")).status_code == 200
    for writer in held:
        if writer is not None:
            writer.transport.abort()
    return found


def run(streams: int, idlers: int, files: int, folder: Path) -> tuple[dict[str, Counter[str]], int]:
    """What became of all of them, and the length of the server's log in bytes."""
    port = free_port()
    votes = max(1, idlers // 100)
    with open_store(folder / "x.db") as store:
        store.create(here(SPEC))
        enrol_all(store, [identity(n + 1) for n in range(votes)])
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files})); "
    words = ["serve", "--store", str(folder / "x.db"), "--port", str(port)]
    code = f"{limited}from devote.cli.main import main; main({json.dumps(words)})"
    log = folder / "log"
    with log.open("wb") as file:
        server = subprocess.Popen([sys.executable, "-c", code], stdout=file, stderr=file)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                httpx.get(f"http://127.0.0.1:{port}/health")
                break
            except httpx.HTTPError:
                time.sleep(0.1)
        found = asyncio.run(crowd(port, streams, idlers, votes))
    finally:
        server.terminate()
        server.wait(30)
    return found, log.stat().st_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=2_000)
    parser.add_argument("--idle", type=int, default=3_000)
    parser.add_argument("--files", type=int, default=1_024)
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory(prefix="devote-crowd-") as name:
        found, log = run(options.streams, options.idle, options.files, Path(name))
        text = (Path(name) / "log").read_text()
    for what, counted in found.items():
        print(f"{what:8}", ", ".join(f"{count:,} {how}" for how, count in counted.items()))
    print(f"log      {log:,} bytes\n{text[-2000:]}")


if __name__ == "__main__":
    main()
