"""Whether an answer is good: its first arm, and the set it is on a stall; one Definition 1."""

import pytest

from devote.audit.adversaries import _truth
from devote.plan.promises import measured_answer, summarise
from devote.problems import Problem, is_suboptimal, optimal_arms
from devote.protocol import ExperimentSpec
from devote.simulator import Scenario, run_players, simulate
from devote.simulator.block import Block
from devote.simulator.optimality import judge_answer
from devote.simulator.results import Result

THREE = Problem("three", [0.1, 0.9, 0.5])
# A voter of "worst_case" is wrong with probability eta: at 16 voters and a quorum of 12 most runs
# stall with both arms left, and the bad one has the fewer votes in about one stall of five.
ERRING = ExperimentSpec(
    arms=2, algorithm="worst_case", epsilon=0.25, eta=0.4, scheme={"quorum": 12}
)
TWO = Problem("two", [0.9, 0.1])


@pytest.mark.parametrize(
    ("status", "winners", "scheme", "judged"),
    [
        ("agreed", (1,), {"quorum": 2}, (True, True)),
        ("agreed", (0,), {"quorum": 2}, (False, False)),
        ("stalled", (1, 0), {"quorum": 2}, (True, True)),
        ("stalled", (0, 1), {"quorum": 2}, (False, True)),
        ("stalled", (0, 2), {"quorum": 2}, (False, False)),
        ("unfinished", (1,), {"quorum": 2}, (False, False)),
    ],
)
def test_a_stall_is_judged_by_its_first_arm_and_by_its_set(status, winners, scheme, judged):
    spec = ExperimentSpec(arms=3, epsilon=0.25, scheme=scheme)
    assert judge_answer(Scenario(spec, THREE, 2), status, winners, 0) == judged


def test_stalls_whose_set_holds_the_good_arm_are_counted_apart_from_bad_first_arms():
    scenario = Scenario(ERRING, TWO, 16)
    runs = [run_players(ERRING, TWO, 16, seed=0, trial=trial) for trial in range(60)]
    stalls = [run for run in runs if run.status == "stalled"]
    bad_first = [run for run in stalls if run.winners[0] == 1]
    assert len(bad_first) > 5
    assert all(run.holds_epsilon_optimal for run in stalls)
    assert not any(run.epsilon_optimal for run in bad_first)
    for run in runs:
        if run.status == "agreed":
            assert run.epsilon_optimal == run.holds_epsilon_optimal == (run.winners == (0,))
    block = Block.from_trials(runs, 2, 16)
    told = summarise(Result.of(scenario, block, seed=0))
    right = sum(run.winners[0] == 0 for run in runs)
    held = sum(0 in run.winners for run in runs)
    assert right < held
    assert told["epsilon_optimal"] == pytest.approx(right / 60)
    assert told["holds_epsilon_optimal"] == pytest.approx(held / 60)
    text = measured_answer(scenario, runs).words
    assert f"{right} of 60 simulated runs" in text
    assert f"{held} of 60 runs ended with a set that holds such an arm" in text


GROUPS = Problem("groups", groups=((0.5, (0.9, 0.5, 0.1)), (0.5, (0.1, 0.5, 0.9))))


@pytest.mark.parametrize("engine", ["event", "passes"])
def test_each_isolated_player_is_judged_by_its_own_best_arm(engine):
    """Half of the players are paid by arm 0, half by arm 2, and each finds its own."""
    spec = ExperimentSpec(arms=3, epsilon=0.25, scheme="isolated")
    result = simulate(spec, GROUPS, 8, trials=3, engine=engine)
    assert result.epsilon_optimal.all()
    assert result.player_answers.tolist() == [[0] * 4 + [2] * 4] * 3
    assert result.winners == ((0, 2),) * 3
    rows = result.rows("players")
    assert [(row["group"], row["answer"], row["good"]) for row in rows[:8]] == [
        *[(0, "0", True)] * 4,
        *[(1, "2", True)] * 4,
    ]
    assert [row["good"] for row in result.rows("groups")] == [1.0] * 6
    [wrong] = [judge_answer(result.scenario, "stalled", (0, 2), 0, {(0, 0), (1, 2), (1, 0)})]
    assert wrong == (False, False)


def test_an_answer_of_the_group_is_good_for_some_groups_only():
    spec = ExperimentSpec(arms=3, epsilon=0.25, scheme={"quorum": 3})
    problem = Problem("groups", groups=((0.75, (0.9, 0.5, 0.1)), (0.25, (0.1, 0.2, 0.9))))
    result = simulate(spec, problem, 8, trials=4)
    assert result.player_answers.shape == (4, 0)
    for row in result.rows("groups"):
        answer = result.answers[row["trial"]]
        good = {0: {0}, 1: {2}}[row["group"]]
        assert row["good"] == float(answer in good)
        assert row["players"] == (6, 2)[row["group"]]


@pytest.mark.parametrize("past", [1e-5, 1e-9, 5e-10, 1e-10, 3e-12, 1e-13, 0.0, -1e-13, -1e-10])
@pytest.mark.parametrize(("best", "epsilon"), [(0.7, 0.25), (0.3, 0.2), (1.0, 0.9), (0.55, 0.001)])
def test_plays_answers_and_audits_agree_on_which_arm_is_within_epsilon(best, epsilon, past):
    """A gap of epsilon and 1e-10 was within epsilon for a play and an audit, not for an answer."""
    means = [best, best - epsilon - past]
    if means[1] < 0.0:
        means = [best, best - epsilon + abs(past)]
    problem = Problem("p", means)
    good = optimal_arms(means, epsilon)
    assert good == ({0, 1} if means[0] - means[1] <= epsilon + 1e-12 else {0})
    assert problem.optimal(3, 0, epsilon) == good
    environment = problem.environment(3)
    assert {k for k in (0, 1) if not is_suboptimal(environment, epsilon, 0, 0, k)} == good
    spec = ExperimentSpec(arms=2, epsilon=epsilon, scheme={"quorum": 2})
    assert _truth(Scenario(spec, problem, 3), 0)[0] == good
