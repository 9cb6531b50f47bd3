"""Results: what they gather, save and refuse to load."""

import numpy as np
import pytest
from tests.simulator.sweeps import assert_same_results

from devote.files import write_whole
from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.simulator import Result, ResultError, Scenario, simulate

SPEC = ExperimentSpec(arms=3, epsilon=0.5, scheme={"quorum": 3})
TOY = Problem("toy", (0.9, 0.6, 0.1))


@pytest.fixture(scope="module")
def result():
    return simulate(SPEC, TOY, 8, trials=5, seed=2, trace=True)


@pytest.mark.parametrize("trace", [True, False])
def test_a_saved_result_is_loaded_as_it_was(tmp_path, trace):
    result = simulate(SPEC, TOY, 8, trials=5, seed=2, trace=trace)
    path = result.save(tmp_path / "result.npz")
    assert_same_results([Result.load(path)], [result])
    assert [file.name for file in tmp_path.iterdir()] == ["result.npz"]


def test_a_result_carries_where_it_came_from(result):
    assert result.scenario == Scenario(SPEC, TOY, 8)
    assert result.horizon is None
    assert (result.spec, result.problem, result.seed, result.n_players) == (SPEC, TOY, 2, 8)
    assert set(result.versions) == {"python", "devote", "numpy", "numba"}


def test_the_summaries_follow_from_the_trials(result):
    assert result.trials == 5
    assert sum(result.status_counts().values()) == 5
    for status, answer, winners in zip(result.status, result.answers, result.winners, strict=True):
        assert answer == (winners[0] if status == "agreed" else None)
    np.testing.assert_array_equal(result.deliveries, result.broadcasts * 7)
    votes = [sum(event.kind == "vote" for event in trace) for trace in result.traces]
    assert result.broadcasts.tolist() == votes


def test_the_first_vote_of_each_player_is_its_number_of_pulls_then(result):
    for trial, trace in enumerate(result.traces):
        voters = {event.player for event in trace if event.kind == "vote"}
        assert voters == set(np.flatnonzero(result.first_vote[trial] >= 0).tolist())


@pytest.mark.parametrize("keep", [0, 1, 100, -1, -40])
def test_a_file_cut_off_is_refused(result, tmp_path, keep):
    path = result.save(tmp_path / "result.npz")
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ResultError, match=r"result\.npz is not a whole file of results"):
        Result.load(path)


def test_a_missing_or_foreign_file_is_refused(tmp_path):
    with pytest.raises(ResultError, match="not a whole file"):
        Result.load(tmp_path / "nowhere.npz")
    foreign = tmp_path / "foreign.npz"
    np.savez(foreign, something=np.arange(3))
    with pytest.raises(ResultError, match="not a whole file"):
        Result.load(foreign)


def test_a_file_of_another_format_is_refused_as_such(result, tmp_path, monkeypatch):
    path = result.save(tmp_path / "result.npz")
    monkeypatch.setattr("devote.simulator.result.FORMAT", 1)
    with pytest.raises(ResultError, match="has format 4, not 1"):
        Result.load(path)


def test_a_save_that_fails_leaves_no_file_that_looks_whole(result, tmp_path, monkeypatch):
    def fail(*arguments, **arrays):
        arguments[0].write(b"half of it")
        raise OSError("no space left")

    monkeypatch.setattr("numpy.savez_compressed", fail)
    with pytest.raises(OSError, match="no space left"):
        result.save(tmp_path / "result.npz")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    """Whatever step fails, the file before it stays, and nothing else is left behind."""
    path = tmp_path / "file"
    assert write_whole(path, b"old") == path
    for step in ("os.fsync", "pathlib.Path.replace"):
        with monkeypatch.context() as patch:

            def fail(*arguments):
                raise OSError("no space left")

            patch.setattr(step, fail)
            with pytest.raises(OSError, match="no space left"):
                write_whole(path, b"new")
        assert path.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [path]
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"


def test_a_decision_never_comes_after_the_end_and_always_before_it_where_players_vote(result):
    assert (result.samples > 0).all()
    assert (result.samples <= result.samples_until_all_know).all()
    for trace, decided in zip(result.traces, result.samples, strict=True):
        assert decided == 1 + max(event.time for event in trace)
