"""A new device reads a log of any size, and goes on where it broke off.

``python -m tests.boards.long_log --votes 300000`` writes so many signed votes, serves them, lets a
real device join, cuts it off on the way, and lets it read on to the end. An answer with all of them
in one would have 87 MB, more than a device takes.
"""

import argparse
import asyncio
import os
import resource
import tempfile
import time
from multiprocessing import Pool
from pathlib import Path

from tests.server.process import ServerProcess

from devote.boards.board import Experiment
from devote.boards.http import HttpBoard
from devote.boards.identity import Identity
from devote.boards.store import SqliteStore, add_voters
from devote.device.core import Core
from devote.device.store import Store
from devote.device.sync import Terms, join, sync_once
from devote.protocol import ExperimentSpec, to_json
from devote.protocol.messages import Scope
from devote.schemes import Vote

ARMS = 10
SPEC = ExperimentSpec(arms=ARMS, name="long", scheme={"quorum": 10**9})


def signed(job: tuple[int, Scope]) -> list[tuple[str, str, str]]:
    """The votes of one voter against all options: voter, text and signature."""
    number, scope = job
    voter = Identity.from_private_bytes((number + 1).to_bytes(32, "big"))
    sent = [voter.sign(Vote("long", 0, arm, voter.voter), scope) for arm in range(ARMS)]
    return [(voter.voter, to_json(each.message), each.signature) for each in sent]


def fill(path: Path, votes: int) -> None:
    """A store with so many votes, each signed by a voter who is enrolled."""
    store = SqliteStore(path)
    store.create(Experiment(SPEC))
    scope = store.scope("long")
    with Pool(os.cpu_count()) as pool:
        sent = pool.map(signed, [(n, scope) for n in range(-(-votes // ARMS))], chunksize=500)
    rows = [row for each in sent for row in each][:votes]
    with store.database.write() as db:
        add_voters(db, "long", {voter for voter, _, _ in rows})
        db.executemany(
            "INSERT INTO messages VALUES ('long', ?, ?, ?, ?)",
            [(number, *row) for number, row in enumerate(rows, start=1)],
        )
    store.close()


async def read(url: str, path: Path, cut_after: float | None) -> tuple[int, bool]:
    """A device joins, or goes on; how far it has read, and whether to the end."""
    async with HttpBoard(url, timeout=60.0) as board:
        core = Core(Store.open(path), starts=False)
        await join(core, board, Terms(url=url))
        try:
            async with asyncio.timeout(cut_after):
                done = await sync_once(core, board)
        except TimeoutError:
            done = False
        number, complete = core.record.bookmark.number, core.status().complete
        core.close()
    return number, done and complete


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=int, default=300_000)
    parser.add_argument("--cut-after", type=float, default=10.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="devote-long-") as name:
        folder = Path(name)
        fill(folder / "server.db", options.votes)
        size = (folder / "server.db").stat().st_size / 2**20
        print(f"{options.votes:,} votes, a store of {size:.0f} MiB", flush=True)
        server = ServerProcess(folder)
        server.start()
        try:
            url = f"{server.address}/experiments/long"
            begin = time.process_time()
            number, done = asyncio.run(read(url, folder / "device.db", options.cut_after))
            print(f"cut off after {options.cut_after:g} s: read up to {number:,}", flush=True)
            if not done:
                number, done = asyncio.run(read(url, folder / "device.db", None))
            used = time.process_time() - begin
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            status = Path(f"/proc/{server.process.pid}/status").read_text()
            held = next(int(line.split()[1]) for line in status.splitlines() if "VmHWM" in line)
        finally:
            server.stop()
        how = "all of them" if done else "not all"
        print(
            f"then read up to {number:,}, {how}: {used:.0f} s of a core, {memory:.0f} MiB at most"
        )
        print(f"the server held {held / 1024:.0f} MiB at most")
        assert done
        assert number == options.votes


if __name__ == "__main__":
    main()
