"""What strangers tried, and how it ends: each of these once worked."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from itertools import islice

import pytest
from tests.boards.local import here
from tests.boards.nodes import fresh_address
from tests.server.live import SPEC, enrol, identity, open_store, served, vote

from devote.boards.admission import NOT_ENROLLED
from devote.boards.board import Outcome, UnknownExperiment
from devote.boards.jetstream.log import BARRIERS_APART
from devote.boards.jetstream.store import JetStreamStore

ALICE = identity(1)
URL = "/experiments/banner"
HALF_A_BODY = (
    b"POST /experiments/banner/messages HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Content-Length: 300\r\n\r\n{"
)


@served(network=True, bodies=8, patience=3_600.0)
async def test_half_bodies_starve_nobody(server):
    """The ones that never end give way; their peers may try again."""
    port = server.client.base_url.port
    halves = [await asyncio.open_connection("127.0.0.1", port) for _ in range(100)]
    for _, writer in halves:
        writer.write(HALF_A_BODY)
    for arm in range(4):
        assert (await server.post(vote(ALICE, arm))).status_code == 201
    answers = [asyncio.create_task(reader.readuntil(b"\r\n\r\n")) for reader, _ in halves]
    given_up = [await answer for answer in islice(asyncio.as_completed(answers), 92)]
    assert all(head.startswith(b"HTTP/1.1 408") for head in given_up)
    for _, writer in halves:
        writer.transport.abort()
    await asyncio.gather(*answers, return_exceptions=True)


@served(voters=250, read_rate=1.0, read_burst=400_000.0)
async def test_reads_are_limited_by_their_bytes_and_never_at_the_cost_of_posts(server):
    voters = [identity(n) for n in range(1, 251)]
    server.store.post_all([("banner", vote(v, a)) for v in voters for a in range(4)])
    large = [(await server.client.get(f"{URL}/messages")) for _ in range(4)]
    statuses = [answer.status_code for answer in large]
    assert statuses == [200, 200, 429, 429], [len(answer.content) for answer in large]
    assert len(large[0].content) > 200_000
    assert int(large[2].headers["Retry-After"]) > 1_000
    newcomer = identity(999)
    enrol(server.store, newcomer)
    assert (await server.post(vote(newcomer))).status_code == 201


@served()
async def test_an_experiment_opened_over_http_needs_invites_unless_it_says_otherwise(server):
    content = {"spec": SPEC.with_(name="second").to_dict()}
    answer = await server.call("POST", "/experiments", content)
    assert answer.json()["enrolment"] == "invite"


@pytest.fixture
def nats():
    store = JetStreamStore(fresh_address())
    assert store.create(here(SPEC)).outcome is Outcome.ACCEPTED
    yield store
    store.close()


def entries(store):
    """How many entries the log ever had."""

    async def ask():
        return (await store.connection.js.stream_info(store.log.stream)).state.last_seq

    return store.connection.run(ask())


def test_a_public_read_writes_nothing_to_the_log_and_keeps_nothing_of_unknown_names(nats):
    before = entries(nats)
    for after in (1, 10**6, 2**53):
        assert nats.rows("banner", after) == (0, [])
    for n in range(50):
        with pytest.raises(UnknownExperiment):
            nats.get(f"unknown-{n}")
    assert entries(nats) == before


def test_refused_posts_write_a_bounded_number_of_entries(nats):
    """At most one entry each time, five times a second, however many are refused at once."""
    before = entries(nats)
    strangers = [identity(n) for n in range(100, 160)]
    receipts = nats.post_all([("banner", vote(stranger)) for stranger in strangers])
    assert receipts == [NOT_ENROLLED] * 60
    assert entries(nats) - before <= 2
    begun = time.monotonic()
    for _ in range(5):
        nats.post("banner", vote(strangers[0]))
    assert entries(nats) - before <= 3 + (time.monotonic() - begun) / BARRIERS_APART


READER = """
import json, resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
from devote.boards.database import StoreError
from devote.boards.store import SqliteStore
store = SqliteStore(sys.argv[1])
number, rows = store.rows("banner")
try:
    store.check_writable()
    fault = None
except StoreError as error:
    fault = type(error).__name__
print(json.dumps([number, store.tally("banner").number, store.get("banner").enrolled, fault]))
"""

WRITER = """
import os, signal, sys
from tests.boards.local import here
from tests.server.live import SPEC, enrol, identity, vote
from devote.boards.store import SqliteStore
store = SqliteStore(sys.argv[1])
store.create(here(SPEC))
enrol(store, identity(1))
for arm in range(4):
    store.post("banner", vote(identity(1), arm))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs limits on files")
def test_a_store_whose_server_was_killed_on_a_full_disk_can_be_read(tmp_path):
    """No file may grow by a byte: as on a full disk, but for this process alone."""
    path = str(tmp_path / "x.db")
    killed = subprocess.run([sys.executable, "-c", textwrap.dedent(WRITER), path], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / "x.db-wal").stat().st_size > 0
    read = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(READER), path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert read.returncode == 0, read.stderr
    number, counted, enrolled, fault = json.loads(read.stdout)
    assert (number, counted, enrolled) == (4, 4, 1)
    assert fault is not None, "and it says that it cannot be written"
    with open_store(path) as store:
        assert store.rows("banner")[0] == 4
        store.check_writable()
