"""Betting does not look at a pair again before anything new can be proved of it."""

import random

import pytest

from devote.kernels import betting
from devote.kernels.betting import ALGORITHM


def rules():
    found = []
    for n_arms, epsilon, eta in ((2, 0.002, 0.05), (4, 0.1, 0.2), (10, 0.25, 0.9), (3, 0.7, 1e-6)):
        for liars in (0, 1, 4, 30):
            found.append(ALGORITHM.rule(n_arms=n_arms, epsilon=epsilon, eta=eta, liars=liars))
    return found


@pytest.mark.parametrize("rule", rules(), ids=str)
def test_nothing_is_proved_in_the_rounds_that_are_skipped_even_if_every_one_is_won(rule):
    """Wins are the strongest rounds there are, so that any other course is proved later."""
    draw = random.Random(1)
    skipped = 0
    for _ in range(300):
        wins, losses, draws = (draw.randrange(draw.choice((3, 40, 1_000))) for _ in range(3))
        rounds = wins + losses + draws
        for s in (0.0, rule.epsilon):
            if betting.is_proved(rule, wins, losses, rounds, s):
                continue
            away = betting.rounds_away(rule, wins, losses, rounds, s)
            assert away >= 1
            for more in {n for n in (1, away // 2, away - 2, away - 1) if 0 < n < away}:
                assert not betting.is_proved(rule, wins + more, losses, rounds + more, s)
                some = draw.randrange(more + 1)
                assert not betting.is_proved(rule, wins + some, losses, rounds + more, s)
            skipped += away - 1
    assert skipped > 300


def course(rule, means, seed):
    """After each pull: what is alive, and what is asked about."""
    draw = random.Random(seed)
    state, out = ALGORITHM.new_state(rule.n_arms), [0] * rule.n_arms
    steps = []
    while state.ints[0] > 1 and len(steps) < 3_000:
        arm = ALGORITHM.choose(rule, state, draw.random())
        n_out = ALGORITHM.observe(rule, state, arm, float(draw.random() < means[arm]), out)
        asked = [bool(ALGORITHM.asks(rule, state, k)) for k in range(rule.n_arms)]
        steps.append((arm, out[:n_out], list(state.alive), asked))
    return steps


@pytest.mark.parametrize("liars", [0, 3])
@pytest.mark.parametrize(
    ("means", "epsilon"), [((0.9, 0.5, 0.4), 0.1), ((0.5, 0.5, 0.5), 0.2), ((0.3, 0.25), 0.05)]
)
def test_runs_are_those_of_a_rule_that_looks_after_every_round(monkeypatch, means, epsilon, liars):
    rule = ALGORITHM.rule(n_arms=len(means), epsilon=epsilon, eta=0.2, liars=liars)
    rarely = [course(rule, means, seed) for seed in range(8)]
    monkeypatch.setattr(betting, "rounds_away", lambda *pair: 1)
    assert rarely == [course(rule, means, seed) for seed in range(8)]
