"""A scheme in one file from outside runs wherever a scheme can run, without a change under src.

Every check of ``tests/contracts/test_scheme_contract.py`` runs on it too.
"""

import numpy as np
from tests.schemes import first_to_finish
from tests.schemes.first_to_finish import Finished, FirstToFinish

from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.schemes import SCHEMES
from devote.simulate import Result, Scenario, load_results, run_players, run_sweep, simulate

SPEC = ExperimentSpec(arms=3, name="race", epsilon=0.5, scheme="first_to_finish")
TOY = Problem("toy", (0.9, 0.4, 0.1))


def test_it_is_known_by_its_name_as_any_other():
    assert SCHEMES["first_to_finish"] is FirstToFinish is first_to_finish.FirstToFinish
    assert SPEC.scheme == FirstToFinish()
    assert SPEC.eta == 0.01
    assert ExperimentSpec.from_json(SPEC.to_json()) == SPEC


def test_in_the_slow_simulator_the_first_to_finish_decides():
    run = run_players(SPEC, TOY, 6, seed=1, trace=True)
    assert (run.status, run.winners, run.epsilon_optimal) == ("agreed", (0,), True)
    finished = [event for event in run.trace if event.kind == "finished"]
    assert len(finished) == run.broadcasts == 1
    assert run.samples_to_decision == finished[0].time + 1 <= run.samples
    assert {event.arm for event in run.trace if event.kind == "elimination"} == {1, 2}
    first = run.first_vote[finished[0].player]
    assert first > 0
    assert sum(pulls > 0 for pulls in run.first_vote) == 1


def test_simulate_takes_the_slow_path_where_there_is_no_engine(tmp_path):
    result = simulate(SPEC, TOY, 6, trials=3, seed=1)
    slow = [run_players(SPEC, TOY, 6, seed=1, trial=trial) for trial in range(3)]
    assert result.samples.tolist() == [run.samples for run in slow]
    assert result.samples_to_decision.tolist() == [run.samples_to_decision for run in slow]
    assert result.answers == (0, 0, 0)
    again = Result.load(result.save(tmp_path / "race.npz"))
    assert again.scenario == result.scenario


def test_a_sweep_runs_it_beside_the_others_and_its_file_is_read_back(tmp_path):
    scenarios = [Scenario(SPEC, TOY, n) for n in (2, 4)]
    results = run_sweep(scenarios, trials=2, workers=1, results=tmp_path / "sweep.jsonl")
    for loaded, result in zip(load_results(tmp_path / "sweep.jsonl"), results, strict=True):
        assert loaded.scenario == result.scenario
        np.testing.assert_array_equal(loaded.samples, result.samples)


def test_the_answer_is_the_first_message_on_the_board():
    tally = SPEC.scheme.tally(SPEC)
    for arm, voter in ((2, "b"), (0, "a"), (2, "b"), (0, "c")):
        tally.add(Finished("race", arm, voter))
    assert (tally.status(), tally.answer, tally.shared) == ("agreed", (2,), (2,))
    assert tally.view()["counts"] == [2, 0, 1]
