"""Erratum 7: with subroutines that fail with probability eta, how often the vote fails.

``worst_case`` fails with probability exactly eta = .9. With K = 2 arms and a quorum of M = 28,
the vote fails when arm 0, the best, is voted out. The count of failures is held to
``P(Bin(N, eta) >= M)`` by an exact two-sided test at 1e-7 per N: false alarm below 3e-7 over the
three. At N = 28, where the rate is .052, twice that and half of it are found with probability .97.
"""

import pytest

from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.simulator import simulate
from devote.theory import binomial_tail, claimed_failure, vote_failure

ETA, QUORUM = 0.9, 28
SPEC = ExperimentSpec(arms=2, algorithm="worst_case", eta=ETA, delta=0.05)
PROBLEM = Problem("two arms", [0.9, 0.1])
TRIALS = {28: 3_000, 32: 3_000, 64: 600}
FALSE_ALARM = 1e-7


def consistent(count, trials, probability):
    """Whether neither tail of the binomial law is below half of FALSE_ALARM."""
    above = binomial_tail(count, trials, probability=probability)
    below = binomial_tail(trials - count, trials, probability=1.0 - probability)
    return min(above, below) >= FALSE_ALARM / 2


def failures(n_players, trials):
    runs = simulate(SPEC, PROBLEM, n_players, trials=trials)
    return sum(0 not in winners for winners in runs.winners)


@pytest.mark.slow
@pytest.mark.parametrize("n_players", TRIALS)
def test_erratum_7_the_vote_fails_as_often_as_any_quorum_of_players_does(n_players):
    """Paper: Theorem 1, "a failure probability delta <= eta^M"; true at N = M only."""
    assert SPEC.votes_needed == QUORUM
    count = failures(n_players, TRIALS[n_players])
    print(f"N={n_players}: {count} of {TRIALS[n_players]} failed")
    exact = vote_failure(n_players, lone=ETA, quorum=QUORUM)
    assert consistent(count, TRIALS[n_players], exact)
    claimed = claimed_failure(ETA, QUORUM)
    assert consistent(count, TRIALS[n_players], claimed) == (n_players == QUORUM)
