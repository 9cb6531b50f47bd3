"""Counting votes: the quorum, the shared set, and a player's merge with it."""

from fractions import Fraction
from math import ceil, floor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import algorithm_2

from devote.rules import get_algorithm, merge, shared_set
from devote.rules.state import COUNT, drop
from devote.rules.votes import quorum

MANY = 10 * settings().max_examples
tallies = st.lists(st.integers(0, 6), min_size=1, max_size=8)


def shared_of(tally, votes_needed):
    shared = [7] * len(tally)
    size = shared_set(tally, votes_needed, shared)
    assert size == sum(shared)
    return {k for k, kept in enumerate(shared) if kept}


@settings(max_examples=MANY)
@given(tallies, st.integers(1, 6))
def test_the_shared_set_is_the_reference_s(tally, votes_needed):
    voters = {k: set(range(count)) for k, count in enumerate(tally)}
    assert shared_of(tally, votes_needed) == algorithm_2.shared_set(voters, votes_needed)


def test_erratum_3_the_arm_with_the_fewest_votes_stays_the_lowest_index_on_a_tie():
    assert shared_of([5, 4, 4, 6], 4) == {1}
    assert shared_of([3, 4, 4, 6], 4) == {0}
    assert shared_of([4, 4], 4) == {0}


@settings(max_examples=MANY)
@given(
    st.lists(st.booleans(), min_size=2, max_size=8).filter(any),
    st.sets(st.integers(0, 7)),
    st.data(),
)
def test_a_merge_intersects_and_erratum_4_starts_over_rather_than_leave_nothing(mask, own, data):
    algorithm = get_algorithm("naive")
    n_arms = len(mask)
    state = algorithm.new_state(n_arms)
    for k in range(n_arms):
        state.pulls[k], state.sums[k] = 3, 1.5
    keep = data.draw(st.integers(0, n_arms - 1))
    for k in own - {keep}:
        if k < n_arms:
            drop(state, k)
    before = {k for k in range(n_arms) if state.alive[k]}
    shared = {k for k in range(n_arms) if mask[k]}

    conflict = merge(state, [int(kept) for kept in mask])

    after = {k for k in range(n_arms) if state.alive[k]}
    assert conflict == (not before & shared)
    assert after == (shared if conflict else before & shared)
    assert state.ints[COUNT] == len(after)
    assert set(state.pulls) == {0 if conflict else 3}


@pytest.mark.parametrize("eta", [0.1, 0.5, 0.7, 0.9, 0.95, 0.99])
def test_erratum_6_delta_of_eta_to_the_m_needs_m_votes_by_both_rules(eta):
    for votes in range(1, 400):
        delta = float(Fraction(eta) ** votes)
        if delta > 1e-300:
            assert quorum(delta, eta) == quorum(delta, eta, "ceil") == votes


@given(st.integers(2, 500), st.floats(0.01, 0.99))
def test_the_rules_round_down_and_up(tenths, eta):
    ratio = tenths / 10 + 0.05
    delta = eta**ratio
    if delta > 1e-300:
        assert quorum(delta, eta) == floor(ratio)
        assert quorum(delta, eta, "ceil") == ceil(ratio)
