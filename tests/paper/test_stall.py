"""Errata 5 and 20: tied best arms and too few players for one of them to win.

The paper says that there is a time at which K - 1 arms have M votes each. With two equal arms
and N <= 2M - 2 half of the players keep one and half the other, and there is none.
"""

from functools import cache

import pytest

from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.schemes import Ballot, Vote
from devote.simulator import Scenario, run_trial, simulate
from devote.theory import stall_possible

TIED = Problem("tied", [0.7, 0.7, *[0.1] * 8])
SPEC = ExperimentSpec(arms=10, algorithm="ser3", epsilon=0.25, eta=0.9, delta=0.05)


def votes_of(run):
    return [
        Vote(SPEC.name, event.term, event.arm, str(event.player))
        for event in run.trace
        if event.kind == "vote"
    ]


def ballot_of(votes):
    ballot = Ballot(SPEC)
    for vote in votes:
        ballot.add(vote)
    return ballot


@cache
def run_of(n_players, seed):
    return run_trial(Scenario(SPEC, TIED, n_players), seed=seed, trial=0, trace=True)


@pytest.mark.parametrize("seed", range(2))
def test_two_tied_arms_stall_32_players_at_the_very_vote_that_decides_it(seed):
    assert SPEC.votes_needed == 28
    assert stall_possible(n_players=32, quorum=28)
    run = run_of(32, seed)
    assert run.status == "stalled"
    assert set(run.winners) == {0, 1}
    assert run.epsilon_optimal

    last = run.trace[-1]
    assert (last.kind, last.time) == ("vote", run.samples_until_all_know - 1)
    votes = votes_of(run)
    assert ballot_of(votes[:-1]).status(32) == "open"
    assert ballot_of(votes).status(32) == "stalled"


@pytest.mark.parametrize("seed", range(2))
def test_the_answer_of_a_stall_is_the_two_arms_the_fewest_votes_first(seed):
    run = run_of(32, seed)
    counts = ballot_of(votes_of(run)).counts
    assert sorted(run.winners) == [0, 1]
    assert counts[run.winners[0]] <= counts[run.winners[1]] < SPEC.votes_needed
    # each player ends with one arm, so those against one are for the other
    assert counts[0] + counts[1] == 32


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 20))
def test_two_tied_arms_stall_32_players_every_time(seed):
    assert run_of(32, seed).status == "stalled"


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))]
)
def test_64_players_agree_on_one_of_two_tied_arms(seed):
    assert not stall_possible(n_players=64, quorum=28)
    run = run_of(64, seed)
    assert run.status == "agreed"
    assert run.winners in ((0,), (1,))
    assert run.epsilon_optimal


@pytest.mark.parametrize("n_arms", [2, 3])
def test_erratum_20_tied_arms_stall_2m_minus_2_players_and_never_2m_minus_1(n_arms):
    """M = 4: six players can split three to three, seven cannot.

    Seven must never stall, so there is no false alarm; the rule N < 2M would have called it
    possible. Six stall when three keep one arm and three another: in 537 of 2,000 runs with two
    arms and 352 with three, so that none in 200 has probability below 1e-14.
    """
    spec = ExperimentSpec(arms=n_arms, algorithm="naive", epsilon=1.0, eta=0.5, delta=0.06)
    assert spec.votes_needed == 4
    tied = Problem("tied", [0.5] * n_arms)
    six, seven = (simulate(spec, tied, n, trials=200, seed=1).status for n in (6, 7))
    assert stall_possible(6, 4)
    assert six.count("stalled") > 0
    assert not stall_possible(7, 4)
    assert set(seven) == {"agreed"}
