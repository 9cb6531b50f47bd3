"""Sweeps: the same results however they are run, interrupted or not."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.simulator import sweep_script
from tests.simulator.rule_files import write_rule
from tests.simulator.sweeps import assert_same_results, long_cells, small_cells, trials_in

from devote.problems import Problem
from devote.protocol import ExperimentSpec, SpecError
from devote.rules import import_rules
from devote.simulator import Scenario, SweepError, load_results, run_sweep, simulate

ROOT = Path(__file__).parents[2]


def test_a_sweep_gives_what_simulate_gives_for_each_cell():
    cells = small_cells()
    singly = [simulate(c.spec, c.problem, c.n_players, trials=4, seed=9) for c in cells]
    assert_same_results(run_sweep(cells, trials=4, seed=9, workers=1), singly)


def test_results_do_not_depend_on_the_number_of_workers(tmp_path):
    cells, path = small_cells(), tmp_path / "sweep.jsonl"
    alone = run_sweep(cells, trials=7, workers=1)
    assert_same_results(run_sweep(cells, trials=7, workers=3, results=path), alone)
    assert_same_results(load_results(path), alone)


def test_results_do_not_depend_on_what_else_is_compared():
    cells = small_cells()
    together = run_sweep(cells, trials=3, workers=1)
    assert_same_results(run_sweep(cells[2:3], trials=3, workers=1), together[2:3])


def test_progress_is_told_from_none_to_all_with_the_cell():
    calls = []
    cells = small_cells()[:2]
    run_sweep(cells, trials=3, workers=1, progress=lambda *call: calls.append(call))
    told = [done for done, _, _ in calls]
    assert (told[0], told[-1]) == (0, 6)
    assert told == sorted(set(told))
    assert {total for _, total, _ in calls} == {6}
    assert {label for _, _, label in calls[1:]} == {cell.label for cell in cells}


def test_each_scenario_may_have_its_own_number_of_trials(tmp_path):
    cells, path = small_cells(), tmp_path / "sweep.jsonl"
    wanted = [3, 1, 2, 2, 5, 1]
    found = run_sweep(cells, trials=wanted, workers=1, results=path)
    assert [result.trials for result in found] == wanted
    assert_same_results(load_results(path), found)
    with pytest.raises(SweepError, match=r"2 numbers of trials were given for 6 scenarios"):
        run_sweep(cells, trials=[1, 2])


EXECUTORS = {
    "processes": lambda: ProcessPoolExecutor(2, multiprocessing.get_context("spawn")),
    "threads": lambda: ThreadPoolExecutor(2),
}


@pytest.mark.parametrize("make", EXECUTORS.values(), ids=EXECUTORS)
def test_any_executor_gives_the_very_results_and_is_left_open(make, tmp_path):
    cells = small_cells()
    with make() as executor:
        found = run_sweep(cells, trials=6, executor=executor, results=tmp_path / "sweep.jsonl")
        assert executor.submit(len, "four").result() == 4
    assert_same_results(found, run_sweep(cells, trials=6, workers=1))


def test_a_process_that_has_not_imported_a_rule_gets_it(tmp_path, forget):
    path = write_rule(tmp_path, "rule_far_away", (">= 100", ">= 97"))
    import_rules(path)
    spec = ExperimentSpec(arms=2, algorithm="rule_far_away", epsilon=0.5, scheme={"quorum": 2})
    cells = [Scenario(spec, Problem("easy", [0.9, 0.1]), 4)]
    alone = run_sweep(cells, trials=3, workers=1)
    with EXECUTORS["processes"]() as executor:
        assert_same_results(run_sweep(cells, trials=3, executor=executor), alone)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_dask_gives_the_very_results_although_a_worker_is_killed():
    distributed = pytest.importorskip("distributed")
    cells, seen = long_cells(), [-1]
    quiet = {"dashboard_address": None, "worker_dashboard_address": None, "silence_logs": 60}
    with (
        distributed.LocalCluster(2, threads_per_worker=1, host="127.0.0.1", **quiet) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        pids = [worker.pid for worker in cluster.workers.values()]

        def kill_one(done, total, label):
            if done >= 6 > seen[-1]:
                os.kill(pids[0], signal.SIGKILL)
            seen.append(done)

        executor = client.get_executor(retries=10)
        found = run_sweep(cells, trials=15, seed=3, executor=executor, progress=kill_one)
    assert len(seen) > 4, "it was killed on the way"
    assert_same_results(found, run_sweep(cells, trials=15, seed=3, workers=1))


def test_an_empty_sweep_has_no_results():
    assert run_sweep([], workers=1) == []


def test_an_interrupt_keeps_finished_trials_and_the_rest_is_run_later(tmp_path):
    path = tmp_path / "sweep.jsonl"
    cells = small_cells()

    def interrupt(done, total, label):
        if done >= 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"after 6 of 18 trials\.\nThey are kept in sweep"):
        run_sweep(cells, trials=3, workers=1, results=path, progress=interrupt)
    with pytest.raises(KeyboardInterrupt, match=r"Nothing is kept\. Give a results file"):
        run_sweep(cells, trials=3, workers=1, progress=interrupt)
    begun = []
    resumed = run_sweep(
        cells, trials=3, workers=1, results=path, progress=lambda *call: begun.append(call[0])
    )
    assert begun[0] == 6
    assert_same_results(resumed, run_sweep(cells, trials=3, workers=1))


def start(path, workers):
    return subprocess.Popen(
        [sys.executable, "-m", "tests.simulator.sweep_script", str(path), str(workers)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(process, trials):
    for said in process.stdout:
        if int(said.split()[1]) >= trials:
            return
    raise AssertionError(process.stderr.read())


def group_is_gone(group, seconds=20):
    """Whether every process of a group has ended, within some time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def finish(process):
    for pipe in (process.stdout, process.stderr):
        pipe.close()


@pytest.fixture(scope="module")
def whole():
    """What the script comes to when nobody stops it."""
    return run_sweep(long_cells(), trials=sweep_script.TRIALS, seed=sweep_script.SEED, workers=1)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_sweep_killed_halfway_and_started_again_gives_the_very_results(tmp_path, workers, whole):
    path = tmp_path / "sweep.jsonl"
    process = start(path, workers)
    wait_for(process, 9)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    finish(process)
    assert group_is_gone(process.pid)
    n_kept = len(trials_in(path))
    assert 9 <= n_kept < 2 * sweep_script.TRIALS
    again = start(path, workers)
    out, err = again.communicate(timeout=120)
    assert again.returncode == 0, err
    assert out.splitlines()[0] == f"trials {n_kept} {2 * sweep_script.TRIALS}"
    assert_same_results(load_results(path), whole)


@pytest.mark.slow
def test_ctrl_c_leaves_no_process_and_a_file_to_go_on_with(tmp_path, whole):
    path = tmp_path / "sweep.jsonl"
    process = start(path, 2)
    wait_for(process, 4)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert err.count("Traceback") == 1, err
    assert err.rstrip().endswith("Run the same again to go on from there.")
    assert group_is_gone(process.pid)
    cells = long_cells()
    calls = []
    resumed = run_sweep(
        cells,
        trials=sweep_script.TRIALS,
        seed=sweep_script.SEED,
        workers=1,
        results=path,
        progress=lambda *call: calls.append(call),
    )
    assert 4 <= calls[0][0] < 2 * sweep_script.TRIALS
    assert_same_results(resumed, whole)


def ends_the_process(cell, trials, seed, *keep):
    os._exit(3)


@pytest.mark.slow
def test_a_worker_that_dies_is_an_error_that_says_what_to_do(monkeypatch):
    monkeypatch.setattr("devote.simulator.sweep.run_timed", ends_the_process)
    with pytest.raises(SweepError, match=r"ended unexpectedly.*\nUse fewer workers"):
        run_sweep(small_cells(), trials=2, workers=2)


SPEC = ExperimentSpec(arms=3, scheme={"quorum": 3})
TOY = Problem("toy", (0.9, 0.6, 0.1))


@pytest.mark.parametrize(
    ("cells", "changes", "error", "message"),
    [
        ([], {"trials": 0}, SweepError, "trials=0 must be"),
        ([], {"trials": 2.0}, SweepError, "trials=2.0 must be"),
        ([], {"seed": "x"}, SweepError, "seed='x' must be"),
        ([], {"workers": 0}, SweepError, "workers=0 must be"),
        ([], {"workers": True}, SweepError, "workers=True must be"),
        ([(SPEC, TOY, 2)], {}, SpecError, "3 votes"),
        ([(SPEC, TOY, 8, 0)], {}, SpecError, "horizon=0"),
        ([(SPEC.with_(arms=4), TOY, 8)], {}, SpecError, "4 arms, the problem 3"),
    ],
)
def test_bad_input_is_refused_before_any_work_or_file(tmp_path, cells, changes, error, message):
    given = {"workers": 1, "results": tmp_path / "sweep.jsonl", **changes}
    with pytest.raises(error, match=message):
        run_sweep([Scenario(*cell) for cell in cells], **given)
    assert list(tmp_path.iterdir()) == []
