"""The jury by the engine and by ``Player`` objects: the same runs, the same seats.

And the seats do not move when the rewards change and the activity does not, which is what makes
the jury a fixed group in the sense of its proof.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from devote.problems import Problem, Split, Uniform, Zipf
from devote.protocol import ExperimentSpec
from devote.rules.algorithm import ALGORITHMS
from devote.simulator import Scenario, run_players, run_trial, simulate

WORLDS = ((0.9, 0.1, 0.1), (0.1, 0.1, 0.9), (0.5, 0.5, 0.5), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
ENDING = [name for name, algorithm in ALGORITHMS.items() if not algorithm.endless]


def both(scenario, *, seed=0, trial=0):
    engine = run_trial(scenario, seed=seed, trial=trial, trace=True)
    players = run_players(
        scenario.spec,
        scenario.problem,
        scenario.n_players,
        seed=seed,
        trial=trial,
        horizon=scenario.horizon,
        trace=True,
    )
    # Not by assert: pytest would spend minutes on telling two long traces apart.
    if engine != players:
        pytest.fail(f"{scenario.spec} with {scenario.n_players} players, {seed=} {trial=}")
    return engine


def scenario_of(algorithm, means, *, n_players=9, horizon=15_000, activity=None, eta=0.4, **jury):
    scheme = {"name": "jury", "seats": 7, "seat_after": 20} | jury
    spec = ExperimentSpec(
        arms=len(means),
        algorithm=algorithm,
        epsilon=0.95 if algorithm == "median_elimination" else 0.6,
        eta=eta,
        delta=0.1,
        scheme=scheme,
    )
    problem = Problem("w", means, activity=activity or Uniform())
    return Scenario(spec, problem, n_players, horizon)


@given(
    means=st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.7, 0.9, 1.0]), min_size=2, max_size=5),
    spare=st.integers(0, 4),
    liars=st.integers(0, 1),
    seat_after=st.integers(1, 60),
    privacy=st.sampled_from([None, None, 1.0, 4.0]),
    vote_after=st.integers(50, 150),
    activity=st.sampled_from([Uniform(), Split(), Zipf(1.0)]),
    seed=st.integers(0, 2**64),
)
def test_engine_equals_players_in_any_small_jury(
    means, spare, liars, seat_after, privacy, vote_after, activity, seed
):
    scenario = scenario_of(
        "ser3",
        means,
        n_players=12 + spare,
        horizon=2_500,
        activity=activity,
        eta=0.2,
        seats=12,
        liars=liars,
        seat_after=seat_after,
        privacy=privacy,
        vote_after=vote_after,
    )
    run = both(scenario, seed=seed)
    event(run.status)
    event(f"private {privacy is not None}")
    assert run.broadcasts <= 2 * 12


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ENDING)
def test_engine_equals_players_for_every_subroutine(algorithm):
    for means in ((0.9, 0.1, 0.1), (0.6, 0.6, 0.1)):
        for liars in (0, 1):
            run = both(scenario_of(algorithm, means, liars=liars, n_players=16), seed=2)
            assert len(seats(run)) == 7 or run.status == "agreed"


def test_a_jury_split_over_two_equal_arms_stalls_and_says_so():
    """Erratum 5 for juries: reported at once, never spun on, in both engines."""
    runs = [both(scenario_of("ser3", (0.7, 0.7, 0.7, 0.7)), trial=trial) for trial in range(6)]
    assert {run.status for run in runs} >= {"stalled"}
    for run in runs:
        assert run.status != "unfinished"
        if run.status == "stalled":
            assert run.samples_until_all_know == run.samples
            assert len(run.winners) > 1


def test_the_decision_comes_with_the_last_pick_it_takes_and_before_all_hold_it():
    run = both(scenario_of("ser3", (0.9, 0.1, 0.1), n_players=16))
    assert run.status == "agreed"
    last = max(event.time for event in run.trace if event.kind == "elimination")
    assert run.samples == last + 1 < run.samples_until_all_know


def test_a_juror_whose_guess_is_the_verdict_may_find_the_same_arm_by_its_next_reward():
    """All are done with the very play before which they must pick: so the last one guesses, and
    holds the verdict before it can hear of it. Such a run once counted one holder too few and
    never ended."""
    jury = scenario_of("ser3", (0.8, 0.0), privacy=1.0, seat_after=5, vote_after=16)
    scenario = replace(jury, problem=Problem("sure", samples=((0.8,), (0.0,))))
    result = simulate(scenario.spec, scenario.problem, 9, trials=1_000, horizon=3_000)
    right = np.flatnonzero(~result.leaves(1)).tolist()
    assert 2 < len(right) < 30, "seven who guess agree on an arm in one trial of 128"
    for trial in right:
        assert both(scenario, trial=trial).status == "agreed"


def test_seats_that_are_never_filled_leave_the_run_unfinished():
    run = both(scenario_of("ser3", (0.9, 0.1), seat_after=10_000, horizon=3_000))
    assert (run.status, run.samples) == ("unfinished", -1)
    assert run.broadcasts == 0


def seats(run):
    return [(event.time, event.player) for event in run.trace if event.kind == "claim"]


@pytest.mark.parametrize("activity", [Uniform(), Split(), Zipf(1.0)], ids=lambda a: a.spec)
def test_the_jury_is_the_same_when_rewards_change_and_activity_does_not(activity):
    """By the engine and by players; the same streams wake the same players in every world."""
    for trial in range(3):
        found = [
            seats(both(scenario_of("ser3", means, activity=activity), seed=5, trial=trial))
            for means in WORLDS
        ]
        longest = max(found, key=len)
        assert len(longest) == 7
        # Nobody claims after the verdict, which does depend on rewards: it can cut the row short.
        assert all(one == longest[: len(one)] for one in found)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ENDING)
def test_the_jury_is_the_same_for_every_subroutine(algorithm):
    """Who sits does not even depend on the subroutine, but that a verdict ends the claims."""
    whole = seats(run_trial(scenario_of("ser3", WORLDS[2]), seed=6, trial=0, trace=True))
    assert len(whole) == 7
    for means in WORLDS:
        run = run_trial(scenario_of(algorithm, means), seed=6, trial=0, trace=True)
        assert seats(run) == whole[: len(seats(run))]
        assert len(seats(run)) == 7 or run.status == "agreed"
