"""The same sweep on a real Dask cluster of two worker processes, one of which may be killed."""

import os
import signal
import socket
import time

import pytest
from tests.simulator.sweeps import assert_same_results, long_cells, small_cells

from devote.simulator import SweepError, run_sweep

pytestmark = [
    # distributed closes sockets and event loops in its own time.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def distributed():
    """Imported here: it takes a third of a second, which each worker would pay."""
    return pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster(distributed):
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        worker_dashboard_address=None,
        silence_logs=60,
    ) as cluster:
        yield cluster


@pytest.mark.slow
def test_a_sweep_on_dask_gives_the_very_results(cluster, tmp_path):
    cells = small_cells()
    on_dask = run_sweep(
        cells, trials=5, seed=3, dask=cluster.scheduler_address, results=tmp_path / "sweep.jsonl"
    )
    assert_same_results(on_dask, run_sweep(cells, trials=5, seed=3, workers=1))


@pytest.mark.slow
def test_a_dask_worker_killed_in_mid_sweep_changes_nothing(cluster):
    cells = long_cells()
    pids = [worker.pid for worker in cluster.workers.values()]
    assert len(set(pids)) == 2
    seen = [-1]

    def kill_one(done, total, label):
        if done >= 6 > seen[-1]:
            os.kill(pids[0], signal.SIGKILL)
        seen.append(done)

    on_dask = run_sweep(cells, trials=15, seed=3, dask=cluster.scheduler_address, progress=kill_one)
    assert seen[1:] == sorted(set(seen[1:]))
    assert (seen[1], seen[-1]) == (0, 30)
    assert len(seen) > 4, "it was killed on the way"
    assert_same_results(on_dask, run_sweep(cells, trials=15, seed=3, workers=1))


def unused_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def test_an_unreachable_address_is_said_at_once_and_leaves_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr("devote.simulator.sweep.cluster.TIMEOUT", 0.5)
    address = f"tcp://127.0.0.1:{unused_port()}"
    with pytest.raises(SweepError, match=rf"No Dask scheduler answers at '{address}'.*\nGive the"):
        run_sweep(small_cells(), trials=1, dask=address, results=tmp_path / "sweep.jsonl")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("address", ["nonsense", "", "tcp://", "127.0.0.1", "tcp://127.0.0.1:x"])
def test_a_malformed_address_is_an_error_of_ours(address):
    with pytest.raises(SweepError, match=r"is not the address of a Dask scheduler\.\nGive the"):
        run_sweep(small_cells(), trials=1, dask=address)


@pytest.mark.slow
def test_a_cluster_without_workers_is_said(cluster, distributed):
    cluster.scale(0)
    client = distributed.Client(cluster, set_as_default=False)
    deadline = time.monotonic() + 30
    while client.nthreads() and time.monotonic() < deadline:
        time.sleep(0.05)
    client.close()
    with pytest.raises(SweepError, match="has no workers"):
        run_sweep(small_cells(), trials=1, dask=cluster.scheduler_address)
