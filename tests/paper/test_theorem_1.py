"""Theorem 1: "Using any ArmSelection subroutine, Decentralized Elimination is an (epsilon,
eta)-private algorithm, that finds an epsilon-optimal arm with a failure probability
delta <= eta^M and that exchanges at most M K - 1 messages."

Its privacy is erratum 8 (``test_definitions.py``), its failure probability errata 6 and 7
(``tests/statistical/test_worst_case.py``, ``tests/theory/test_vote.py``).
"""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devote.problems import Problem, get_problem
from devote.protocol import ExperimentSpec
from devote.rules.algorithm import ALGORITHMS
from devote.simulator import run_players
from devote.theory import message_bound

PHI = 1e-3


@st.composite
def instances(draw):
    """A specification, a problem, a number of players: any subroutine, quorum and activity."""
    name = draw(st.sampled_from(sorted(ALGORITHMS)))
    n_arms = draw(st.integers(2, 5))
    n_players = draw(st.integers(1, 8))
    spec = ExperimentSpec(
        arms=n_arms,
        algorithm=name,
        epsilon=draw(st.sampled_from([0.5, 1.0])),
        eta=draw(st.sampled_from([0.5, 0.9])),
        scheme={"quorum": draw(st.integers(1, n_players))},
        options={"phi": PHI} if ALGORITHMS[name].endless else {},
    )
    # Few different means, so that ties and split votes are common.
    means = draw(st.lists(st.sampled_from([0.1, 0.5, 0.9]), min_size=n_arms, max_size=n_arms))
    activity = draw(st.sampled_from(["uniform", "zipf:1"]))
    return spec, Problem("any", means).with_activity(activity), n_players


@given(instances(), st.integers(0, 10**6))
def test_theorem_1_at_most_quorum_times_arms_minus_one_votes(instance, seed):
    """Also when it has not stopped yet, when players contradict one another, and per term."""
    spec, problem, n_players = instance
    run = run_players(spec, problem, n_players, seed=seed, horizon=1_500, trace=True)
    votes = Counter(event.term for event in run.trace if event.kind == "vote")
    assert max(votes.values(), default=0) <= message_bound(spec.votes_needed, spec.n_arms)
    assert sum(votes.values()) + run.resets == run.broadcasts
    assert len(votes) <= run.resets + 1


@given(instances(), st.integers(0, 10**6))
def test_theorem_1_the_index_of_each_arm_is_sent_no_more_than_once_per_player(instance, seed):
    """Part 3 of its proof, "The index of each arm is sent to other players no more than once per
    player (see line 17)", and "When M messages have been sent for an arm, this arm is eliminated
    for all players (see lines 4-9)": at most M votes against any arm.
    """
    spec, problem, n_players = instance
    run = run_players(spec, problem, n_players, seed=seed, horizon=1_500, trace=True)
    votes = [(e.term, e.arm, e.player) for e in run.trace if e.kind == "vote"]
    assert len(set(votes)) == len(votes)
    against = Counter((term, arm) for term, arm, _ in votes)
    assert max(against.values(), default=0) <= spec.votes_needed


@pytest.mark.parametrize("n_players", [32, 64])
def test_erratum_2_the_quorum_is_met_exactly_where_the_printed_lines_exceed_the_bound(n_players):
    """Lines 5-10 as printed cost 283 and 530 messages here, against the theorem's 279."""
    spec = ExperimentSpec(arms=10, epsilon=0.25, eta=0.9, delta=0.05)
    run = run_players(spec, get_problem("1"), n_players)
    assert message_bound(spec.votes_needed, spec.n_arms) == 279
    assert run.broadcasts == 28 * 9
    assert run.deliveries == run.broadcasts * (n_players - 1)  # erratum 9


def test_theorem_1_the_bound_is_attained_but_for_nothing():
    """M K - 1 itself: M - 1 players err before the others vote the other arms out.

    Three arms, quorum 2, and each vote is read before the next: one player against arm 0, then
    two against arm 1 and two against arm 2.
    """
    spec = ExperimentSpec(arms=3, algorithm="worst_case", eta=0.5, scheme={"quorum": 2})
    lies, tells = 0.0, 0.99  # the subroutine's coin: below eta it keeps the last arm

    def pulls():
        for player, coin in ((0, lies), (1, tells), (2, tells), (3, tells), (0, tells)):
            yield (player + 0.5) / 4, coin, 0.5

    run = run_players(spec, Problem("p", [0.9, 0.5, 0.1]), 4, uniforms=pulls())
    assert (run.status, run.winners) == ("agreed", (0,))
    assert run.broadcasts == message_bound(2, 3) == 5
