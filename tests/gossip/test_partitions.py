"""What a part of the votes may decide that all of them would not: nothing, under one condition.

The rule: an arm is out once M voters are against it; were that all arms, the one with the fewest
votes stays. So as long as some arm has fewer than M votes, more votes only throw out more arms. Two
parts of a network can contradict each other only if every arm gets M votes, and honest players cast
too few for that unless ``split_possible`` (``theory.vote`` has the proof).
"""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from devote.protocol import ExperimentSpec
from devote.schemes import Reset, Vote
from devote.theory import split_possible

VOTES = st.sets(st.tuples(st.integers(0, 3), st.integers(0, 7)), max_size=32)


def ballot(spec, votes, term=0):
    counted = spec.scheme.tally(spec)
    for arm, voter in votes:
        counted.add(Vote(spec.name, term, arm, str(voter)))
    return counted


@given(VOTES, st.integers(1, 8), st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_unless_every_arm_has_a_quorum_part_of_the_votes_decides_nothing_that_all_contradict(
    votes, quorum, dice
):
    spec = ExperimentSpec(arms=4, scheme={"quorum": quorum})
    whole = ballot(spec, votes)
    part = ballot(spec, [vote for vote in votes if dice.random() < 0.6])
    if min(whole.counts) >= quorum:
        return
    assert set(whole.shared) <= set(part.shared)
    if part.status() == "agreed":
        assert whole.answer == part.answer


def read_late(spec, n_players, dice, parts=2, pulls=4_000):
    """Players who read only their own side until the end; returns their decisions and all votes."""
    players = [spec.scheme.player(spec, str(n)) for n in range(n_players)]
    side = [dice.randrange(parts) for _ in players]
    votes, decided = [], []
    for _ in range(pulls):
        n = dice.randrange(n_players)
        player = players[n]
        player.activate(dice.random())
        for message in player.reward(float(dice.random() < 0.5)):
            votes.append(message)
            for other, where in zip(players, side, strict=True):
                if where == side[n]:
                    other.receive(message)
        decided.append((player.tally.term, player.shared))
    return set(decided), votes


def check_all(spec, decided, votes):
    whole = spec.scheme.tally(spec)
    for message in sorted(votes, key=lambda message: message.term):
        whole.add(message)
    wrong = [d for d in decided if d[0] == whole.term and not set(whole.shared) <= set(d[1])]
    return whole, wrong


def test_parts_of_a_network_never_decide_differently_when_the_quorum_is_high_enough():
    n_players, n_arms = 6, 3
    quorum = n_players * (n_arms - 1) // n_arms + 1
    assert not split_possible(n_players, quorum, n_arms)
    spec = ExperimentSpec(arms=n_arms, epsilon=0.6, scheme={"quorum": quorum})
    decisions = 0
    for seed in range(25):
        decided, votes = read_late(spec, n_players, random.Random(seed), pulls=1_500)
        whole, wrong = check_all(spec, decided, votes)
        assert not wrong, seed
        assert min(whole.counts) < quorum
        decisions += len(decided) > 1
    assert decisions > 0


def test_with_a_low_quorum_two_parts_can_differ_until_they_meet():
    spec = ExperimentSpec(arms=2, scheme={"quorum": 2})
    assert split_possible(4, 2, 2)
    left, right = ballot(spec, [(0, 0), (0, 1)]), ballot(spec, [(1, 2), (1, 3), (1, 4)])
    assert (left.answer, right.answer) == ((1,), (0,))
    whole = [(0, 0), (0, 1), (1, 2), (1, 3), (1, 4)]
    assert ballot(spec, whole).answer == (0,)  # as both count once they have read all
    assert ballot(spec, reversed(whole)).answer == (0,)


def test_a_lying_member_counts_for_one_vote_more():
    assert not split_possible(32, 29, 8)
    assert not split_possible(32, 29, 8, liars=7)
    assert split_possible(32, 29, 8, liars=8)


def test_decisions_of_a_term_stand_within_the_term():
    spec = ExperimentSpec(
        arms=3,
        epsilon=0.6,
        algorithm="ser4",
        options={"phi": 0.002},
        scheme={"quorum": 5},
    )
    terms = set()
    for seed in range(12):
        decided, votes = read_late(spec, 6, random.Random(seed), pulls=1_500)
        whole, wrong = check_all(spec, decided, votes)
        terms.add(whole.term)
        assert not wrong, seed
        assert any(isinstance(message, Reset) for message in votes) == (whole.term > 0)
    assert max(terms) > 0
