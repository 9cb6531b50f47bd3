"""Drawing the next player: exact probabilities from one uniform."""

import math
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from devote.problems import Uniform, pick
from devote.problems.activity import alias_table, normalise

LAST = math.nextafter(1.0, 0.0)

weight_lists = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=200)


def implied(threshold, alias):
    """The probability of each player under a table, in exact arithmetic."""
    chance = [Fraction(0)] * len(threshold)
    for cell, cut in enumerate(threshold):
        chance[cell] += Fraction(cut) / len(threshold)
        chance[alias[cell]] += (1 - Fraction(cut)) / len(threshold)
    return chance


@settings(deadline=None)
@given(weight_lists)
def test_the_table_implies_the_weights(weights):
    threshold, alias = alias_table(weights)
    assert all(0 < cut <= 1 for cut in threshold)
    exact = [Fraction(w) / sum(map(Fraction, weights)) for w in weights]
    worst = max(abs(a - b) for a, b in zip(implied(threshold, alias), exact, strict=True))
    assert worst < 1e-12


@given(st.integers(1, 3000))
def test_equal_weights_own_whole_cells(n_players):
    threshold, alias = alias_table(Uniform().weights(n_players))
    assert threshold == [1.0] * n_players
    assert alias == list(range(n_players))


@given(st.integers(1, 10**6), st.floats(0, LAST))
def test_a_uniform_below_one_stays_below_n_players_after_rounding(n_players, u):
    assert int(u * n_players) < n_players
    assert int(LAST * n_players) == n_players - 1


@given(st.integers(1, 300), st.floats(0, LAST))
def test_equal_players_wake_as_int_u_times_n(n_players, u):
    assert pick(*alias_table([1.0] * n_players), u) == int(u * n_players)


@settings(deadline=None)
@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=12))
def test_pick_over_a_fine_grid_wakes_each_player_its_share(weights):
    threshold, alias = alias_table(weights)
    steps = 4000
    woken = [0] * len(weights)
    for step in range(steps):
        woken[pick(threshold, alias, (step + 0.5) / steps)] += 1
    # Each cell boundary misplaces at most one grid point.
    slack = 2 * len(weights) / steps
    for count, share in zip(woken, normalise(weights), strict=True):
        assert abs(count / steps - share) <= slack
