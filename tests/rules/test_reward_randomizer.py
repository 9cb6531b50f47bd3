"""The randomizer of rewards keeps its promise to the last place of the grid.

Probabilities are counted in places of the grid, as whole numbers, so nothing here is statistical.
"""

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devote.rules.randomizer import GRID, LEAST, blur_reward, truthful

PRIVACY = st.floats(LEAST, 30.0)
REWARDS = st.floats(0.0, 1.0)


def just_below_exp(privacy):
    """A fraction just below exp(privacy), right to 60 digits."""
    with localcontext() as context:
        context.prec = 80
        return Fraction(Decimal(privacy).exp() * (1 - Decimal(10) ** -60))


def ones(reward, truths):
    """How many places of the grid say 1, by bisection: once 0, all places after it are."""
    low, high = 0, GRID
    while low < high:
        middle = (low + high) // 2
        if blur_reward(reward, middle / GRID, truths):
            low = middle + 1
        else:
            high = middle
    return low


@given(privacy=PRIVACY, x=REWARDS, y=REWARDS)
def test_whatever_the_rewards_the_odds_of_a_bit_are_at_most_exp_e(privacy, x, y):
    truths = truthful(privacy, 2)
    a, b = ones(x, truths), ones(y, truths)
    most = just_below_exp(privacy)
    for p, q in ((a, b), (b, a), (GRID - a, GRID - b), (GRID - b, GRID - a)):
        assert Fraction(p, q) <= most


@given(privacy=PRIVACY, x=REWARDS)
def test_a_bit_has_the_mean_that_the_reward_gives_it(privacy, x):
    truths = truthful(privacy, 2)
    lies = GRID - truths
    assert abs(ones(x, truths) - (lies + Fraction(x) * (truths - lies))) <= 2


@given(x=REWARDS, noise=st.floats(0.0, 1.0, exclude_max=True))
def test_without_privacy_a_reward_is_only_rounded(x, noise):
    assert abs(ones(x, GRID) - Fraction(x) * GRID) <= 2
    assert blur_reward(0.0, noise, GRID) == 0
    assert blur_reward(1.0, noise, GRID) == 1


@pytest.mark.parametrize("privacy", [0.5, 1.0, 2.0, 4.0])
def test_the_truth_is_told_as_often_as_the_promise_allows(privacy):
    truths = truthful(privacy, 2)
    p = just_below_exp(privacy) / (1 + just_below_exp(privacy))
    # exp is lowered by two digits, which costs a place or two for each factor of exp(e)
    assert 0 <= p * GRID - truths <= 4
