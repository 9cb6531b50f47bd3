"""Sweeps: the same results however they are run, interrupted or not."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.simulator import sweep_script
from tests.simulator.sweeps import assert_same_results, long_cells, small_cells, trials_in

from devote.problems import Problem
from devote.protocol import ExperimentSpec, SpecError
from devote.simulator import Scenario, SweepError, load_results, run_sweep, simulate
from devote.simulator.sweep.schedule import CHUNK_SECONDS, Schedule
from devote.simulator.sweep.sweep import Sweep, run_sweeps

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


def test_several_sweeps_at_once_are_each_what_it_is_alone(tmp_path):
    cells = small_cells()
    sweeps = [
        Sweep(cells[:2], 3, tmp_path / "first.jsonl"),
        Sweep(cells[1:], 2, tmp_path / "second.jsonl"),
        Sweep(cells[:1], 1),
    ]
    alone = [run_sweep(sweep.cells, trials=sweep.trials, seed=5, workers=1) for sweep in sweeps]
    total = 2 * 3 + 5 * 2 + 1

    def interrupt(done, total, label):
        if done == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=rf"after 8 of {total} trials.\n.*{tmp_path}"):
        run_sweeps(sweeps, seed=5, workers=1, progress=interrupt)
    told, closed = [], []
    together = run_sweeps(
        sweeps,
        seed=5,
        workers=2,
        progress=lambda *call: told.append(call[:2]),
        on_sweep=lambda results: closed.append((results, told[-1][0])),
    )
    assert 0 < told[0][0] <= 8, "those without a file are run again"
    assert told[-1] == (total, total)
    assert {id(results) for results, _ in closed} == set(map(id, together))
    assert len(closed) == 3
    assert closed[0][1] < total, "the first of them is told before the last trial"
    for found, expected in zip(together, alone, strict=True):
        assert_same_results(found, expected)
    for sweep, expected in zip(sweeps[:2], alone, strict=False):
        assert_same_results(load_results(sweep.results), expected)


def test_an_empty_sweep_has_no_results():
    assert run_sweep([], workers=1) == []


def test_an_interrupt_keeps_finished_trials_and_the_rest_is_run_later(tmp_path):
    path = tmp_path / "sweep.jsonl"
    cells = small_cells()

    def interrupt(done, total, label):
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"after 5 of 18 trials\.\nThey are kept in sweep"):
        run_sweep(cells, trials=3, workers=1, results=path, progress=interrupt)
    with pytest.raises(KeyboardInterrupt, match=r"Nothing is kept\. Give a results file"):
        run_sweep(cells, trials=3, workers=1, progress=interrupt)
    begun = []
    resumed = run_sweep(
        cells, trials=3, workers=1, results=path, progress=lambda *call: begun.append(call[0])
    )
    assert begun[0] == 5
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
    monkeypatch.setattr("devote.simulator.sweep.sweep.run_chunk", ends_the_process)
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


def test_long_cells_come_first_and_short_trials_in_chunks():
    cells = small_cells((8, 12))[:2]
    schedule = Schedule(cells, {0: list(range(50)), 1: list(range(50))})
    assert schedule.next_chunk() == (1, [0])
    assert schedule.next_chunk() == (0, [0])
    schedule.took(1, CHUNK_SECONDS / 10)
    schedule.took(0, CHUNK_SECONDS * 3)
    assert schedule.next_chunk() == (0, [1])
    schedule.took(0, CHUNK_SECONDS / 1_000)
    assert schedule.next_chunk() == (1, list(range(1, 11)))
    handed = set(range(1, 11)) | {0}
    while schedule.waiting:
        cell, trials = schedule.next_chunk()
        if cell == 1:
            handed |= set(trials)
    assert handed == set(range(50))
