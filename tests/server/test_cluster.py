"""Servers that share a log: devices move on, and nodes may be killed, paused or cut off."""

import random
import threading
import time
from collections import Counter
from contextlib import ExitStack, closing, suppress

import pytest
from tests.boards.local import here
from tests.boards.nodes import fresh_address
from tests.contracts.test_board_contract import ENROLLED
from tests.server.cluster import Cluster
from tests.server.cluster_run import run
from tests.server.live import SPEC, enrol, serving_in_thread, vote
from tests.tools import free_port

from devote.boards.board import Outcome
from devote.boards.database import StoreError
from devote.boards.jetstream.store import JetStreamStore
from devote.cli.main import main
from devote.device import Device, JoinError
from devote.protocol import ExperimentSpec
from devote.server import Settings, create_app


def test_a_device_joins_and_goes_on_by_whichever_server_answers(tmp_path):
    spec = ExperimentSpec(arms=2, name="banner", epsilon=0.9, eta=0.5, scheme={"quorum": 2})
    address = fresh_address()
    with ExitStack() as stack:
        stores = [stack.enter_context(closing(JetStreamStore(address))) for _ in range(2)]
        stores[0].create(here(spec))
        enrol(stores[0], ENROLLED[0])
        stores[0].post("banner", vote(ENROLLED[0], 1, spec=spec))
        second = stack.enter_context(serving_in_thread(create_app(stores[1], Settings())))
        with ExitStack() as first_runs:
            first = first_runs.enter_context(serving_in_thread(create_app(stores[0], Settings())))
            both = f"{first},{second}/experiments/banner"
            device = stack.enter_context(Device.join(both, store=tmp_path / "a.db"))
            assert device.sync()
        # The first server is gone: the round fails, and the next asks the other.
        while device.best() is None:
            device.reward(float(device.choose() == 0))
            device.sync()
        assert device.best() == 0
        last = stores[1].rows("banner")[1][-1]
        assert len(device.status().sent) == 1
        assert last[0] == 2
        stack.enter_context(Device.join(both, store=tmp_path / "b.db"))
        nowhere = f"{first},{first}/experiments/banner"
        with pytest.raises(JoinError, match="cannot be reached"):
            Device.join(nowhere, store=tmp_path / "c.db")


def test_nodes_may_be_killed_paused_and_cut_off_and_nothing_acknowledged_is_lost(tmp_path):
    made = Cluster(tmp_path, servers=0)
    with ExitStack() as stack:
        stack.callback(made.stop)
        made.start()
        stores = [stack.enter_context(closing(_opened(made.store))) for _ in range(2)]
        alone = stack.enter_context(closing(_opened(made.nodes[0].address)))
        stores[0].create(here(SPEC))
        for voter in ENROLLED:
            enrol(stores[0], voter)
        posts = [vote(voter, arm) for voter in ENROLLED for arm in range(4)] * 2
        random.Random(1).shuffle(posts)
        waiting, acknowledged = iter(posts), []
        shown: dict[int, set[str]] = {}
        ended = threading.Event()

        def publish(n: int) -> None:
            for envelope in waiting:
                outcome = None
                while outcome is None and not ended.is_set():
                    with suppress(StoreError):
                        outcome = stores[n % 2].post("banner", envelope).outcome
                acknowledged.append((envelope, outcome))
                time.sleep(0.1)

        def observe(store: JetStreamStore) -> None:
            while not ended.is_set():
                with suppress(StoreError):
                    snapshot = store.tally("banner")
                    shown.setdefault(snapshot.number, set()).add(snapshot.to_json())
                time.sleep(0.02)

        threads = [threading.Thread(target=publish, args=(n,)) for n in range(6)]
        watching = [threading.Thread(target=observe, args=(each,)) for each in (*stores, alone)]
        for thread in (*threads, *watching):
            thread.start()
        try:
            made.nodes[1].kill()
            time.sleep(0.5)
            made.nodes[1].start()
            made.nodes[2].pause()
            time.sleep(1.0)
            made.nodes[2].resume()
            made.links.cut(0)
            with pytest.raises(StoreError, match="does not answer"):
                alone.post("banner", vote(ENROLLED[0]))
            made.links.cut(0, cut=False)
            for thread in threads:
                thread.join(120)
        finally:
            ended.set()
            for thread in (*threads, *watching):
                thread.join()
        outcomes = Counter(outcome for _, outcome in acknowledged)
        assert outcomes.keys() <= {Outcome.ACCEPTED, Outcome.DUPLICATE}
        assert outcomes.total() == len(posts)
        assert all(len(snapshot) == 1 for snapshot in shown.values()), "two tallies of one number"
        logs = [store.rows("banner") for store in (*stores, _caught_up(alone))]
        assert logs[0] == logs[1] == logs[2]
        assert logs[0][0] == 80
        assert sorted(row[2] for row in logs[0][1]) == sorted({each.signature for each in posts})
        for store in stores:
            assert store.post("banner", posts[0]).outcome is Outcome.DUPLICATE


def _opened(address: str) -> JetStreamStore:
    until = time.monotonic() + 60
    while True:  # the nodes elect a leader first
        try:
            return JetStreamStore(address)
        except StoreError:
            assert time.monotonic() < until


def _caught_up(store: JetStreamStore) -> JetStreamStore:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with suppress(StoreError):
            store.connection.run(store.log.catch_up())
            break
    return store


@pytest.mark.parametrize(
    ("store", "words"),
    [
        ("nats://127.0.0.1:1", "No NATS node answers at nats://127.0.0.1:1/devote"),
        ("nats://127.0.0.1:0", "is not the address of a store on NATS"),
    ],
)
def test_a_server_that_cannot_have_its_store_says_so_in_one_line_and_makes_nothing(
    tmp_path, monkeypatch, capsys, store, words
):
    monkeypatch.chdir(tmp_path)
    assert main(["serve", "--store", store, "--port", str(free_port())]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_servers_and_nodes_are_killed_while_devices_decide(tmp_path):
    report = run(tmp_path, kills=2, devices=16, seed=2, pause=0.05, first=1)
    assert report.ended >= 1
    assert report.acknowledged >= 15  # the seats of the first jury, and some picks
