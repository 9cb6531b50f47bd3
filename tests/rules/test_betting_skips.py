"""Betting computes no capital where a bound shows that it cannot reach the threshold."""

import math
import random

import pytest

from devote.rules import betting
from devote.rules.betting import ALGORITHM

INSTANCES = ((2, 0.002, 0.05), (4, 0.1, 0.2), (10, 0.25, 0.9), (3, 0.7, 1e-6), (50, 1e-3, 0.5))


@pytest.mark.parametrize("liars", [0, 1, 4, 30])
@pytest.mark.parametrize(("n_arms", "epsilon", "eta"), INSTANCES)
def test_the_bounds_skip_only_what_is_not_proved(n_arms, epsilon, eta, liars):
    """About one look in five is proved, and one in two is not, so that both bounds are at work."""
    rule = ALGORITHM.rule(n_arms=n_arms, epsilon=epsilon, eta=eta, liars=liars)
    threshold = math.log((n_arms - 1) / eta)
    draw = random.Random(1)
    proved = 0
    for _ in range(3_000):
        losses = draw.randrange(draw.choice((3, 40, 1_000)))
        draws = draw.randrange(draw.choice((3, 40, 30_000)))
        wins = max(0, round(losses + draw.uniform(-0.5, 4.0) * math.sqrt(losses + 20) + 2 * liars))
        rounds = wins + losses + draws
        undone = max(0, math.ceil((liars - draws) / 2))
        for s in (0.0, epsilon):
            capital = -math.inf
            if undone <= wins:
                left, lost = wins - undone, losses + liars - undone
                capital = betting.log_capital(epsilon, left, lost, rounds, s)
            is_proved = betting.is_proved(rule, wins, losses, rounds, s)
            assert is_proved == (capital >= threshold), (wins, losses, rounds, s)
            proved += is_proved
    assert 300 < proved < 5_700
