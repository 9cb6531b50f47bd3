"""Thousands of streams and idle connections on a server that may open few files.

``python -m tests.server.crowd --streams 2000 --idle 3000 --files 1024`` starts a server under that
limit, opens them all, and posts votes meanwhile. It prints how many streams were taken and how many
refused politely, that all votes were accepted, and how long the server's log became.
"""

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import httpx
from tests.boards.local import here
from tests.server.live import SPEC, body, enrol_all, identity, open_store, vote
from tests.server.process import wait_until_healthy
from tests.tools import free_port

URL = "/experiments/banner"
STREAM = f"GET {URL}/stream HTTP/1.1\r\nHost: x\r\n\r\n".encode()


async def connect(port: int, found: Counter[str], request: bytes) -> asyncio.StreamWriter | None:
    """Open a connection, and perhaps ask for a stream; how that ended."""
    try:
        async with asyncio.timeout(60):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).lower() if request else b"x let-in"
    except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
        found[f"cut off: {type(error).__name__}"] += 1
        return None
    when = ", with when to come back" if b"retry-after" in head else ""
    found[f"{head.split()[1].decode()}{when}"] += 1
    return writer


async def crowd(port: int, streams: int, idlers: int, votes: int) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {name: Counter() for name in ("streams", "idle", "votes")}
    held = []
    async with httpx.AsyncClient(timeout=60, base_url=f"http://127.0.0.1:{port}") as client:
        for kind, count, request in (("streams", streams, STREAM), ("idle", idlers, b"")):
            for _ in range(count // 100):
                held += await asyncio.gather(
                    *(connect(port, found[kind], request) for _ in range(100))
                )
                number = found["votes"].total()
                if kind == "idle" and number < votes:
                    envelope = vote(identity(number + 1))
                    while True:  # a device tries again too; idle connections go each second
                        answer = await client.post(f"{URL}/messages", json=body(envelope))
                        if answer.status_code != 503:
                            break
                        await asyncio.sleep(0.2)
                    found["votes"][str(answer.status_code)] += 1
    for writer in held:
        if writer is not None:
            writer.transport.abort()
    return found


def run(streams: int, idlers: int, files: int, folder: Path) -> tuple[dict[str, Counter[str]], str]:
    """What became of all of them, and the server's log."""
    port, votes = free_port(), max(1, idlers // 100)
    with open_store(folder / "x.db") as store:
        store.create(here(SPEC))
        enrol_all(store, [identity(n + 1) for n in range(votes)])
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files})); "
    words = ["serve", "--store", str(folder / "x.db"), "--port", str(port)]
    code = f"{limited}from devote.cli.main import main; main({json.dumps(words)})"
    with (folder / "log").open("wb") as file:
        server = subprocess.Popen([sys.executable, "-c", code], stdout=file, stderr=file)
    try:
        wait_until_healthy(f"http://127.0.0.1:{port}", server)
        found = asyncio.run(crowd(port, streams, idlers, votes))
    finally:
        server.terminate()
        server.wait(30)
    return found, (folder / "log").read_text()


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
    for what, counted in found.items():
        print(f"{what:8}", ", ".join(f"{count:,} {how}" for how, count in counted.items()))
    print(f"log      {len(log):,} bytes\n{log[-2000:]}")


if __name__ == "__main__":
    main()
