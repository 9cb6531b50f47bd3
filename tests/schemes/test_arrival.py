"""The test that notices answers which are missing for a reason."""

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devote.schemes.survey.arrival import ALPHA, ArrivalTest


def answer(test, rng, asked, rates, seen):
    """One answer that arrives: arms are drawn until one's answer is not lost."""
    while True:
        arm = rng.choice(asked)
        if rng.random() < rates[arm]:
            return test.add(arm, seen)


@given(st.data())
def test_each_factor_has_mean_one_over_the_draw_of_the_arm(data):
    """So the capital is a martingale, whatever came before and whatever is asked about."""
    n_arms = data.draw(st.integers(2, 5))
    arms = st.integers(0, n_arms - 1)
    steps = data.draw(st.lists(st.tuples(st.sets(arms, min_size=1), arms), max_size=30))

    def capital_after(steps):
        test = ArrivalTest(n_arms)
        for n, (asked, arm) in enumerate(steps):
            test.asks(n, sorted(asked))
            test.add(arm, n)
        return test.log_capital

    asked = data.draw(st.sets(arms, min_size=1))
    before = capital_after(steps)
    after = [capital_after([*steps, (asked, arm)]) for arm in sorted(asked)]
    assert statistics.mean(math.exp(one - before) for one in after) == pytest.approx(1.0)


def test_an_answer_is_judged_by_the_set_of_the_snapshot_that_it_names():
    """Arm 2 was dropped at snapshot 5: a later answer about it from an older snapshot counts."""
    old, new = ArrivalTest(3), ArrivalTest(3)
    for test in (old, new):
        test.add(0, 0)
        test.asks(5, [0, 1])
    old.add(2, 4)
    assert old.log_capital != new.log_capital
    new.add(2, 5)  # devices that read snapshot 5 do not ask about it
    assert new.log_capital == 0.0
    new.add(0, 5)
    assert new.log_capital == pytest.approx(math.log(2 * (2 / 3) / (2 / 3 + 1 / 3)))


def test_a_withdrawn_arm_leaves_the_test():
    test, without = ArrivalTest(3), ArrivalTest(3)
    test.withdraw(2)
    without.asks(0, [0, 1])
    rng = random.Random(4)
    for _ in range(200):
        arm = rng.randrange(3)
        test.add(arm, 0)
        without.add(arm, 0)
    assert test.log_capital == without.log_capital


@pytest.mark.parametrize(
    ("n_arms", "rate", "median", "runs"), [(2, 0.5, 150, 40), (4, 0.7, 1_330, 20)]
)
def test_an_arm_that_is_answered_less_often_is_noticed(n_arms, rate, median, runs):
    """The median of the reference, within a half: seeds are fixed."""
    rates = [rate] + [1.0] * (n_arms - 1)
    taken = []
    for seed in range(runs):
        test, rng, n = ArrivalTest(n_arms), random.Random(seed), 0
        while not test.has_mismatch:
            answer(test, rng, range(n_arms), rates, 0)
            n += 1
        taken.append(n)
    assert 0.5 * median <= statistics.median(taken) <= 1.5 * median


@pytest.mark.parametrize("rate", [1.0, 0.3], ids=["all arrive", "a third arrives"])
def test_honest_runs_with_stale_snapshots_and_dropped_arms_raise_no_alarm(rate):
    """200 runs: more than 4 alarms at alpha .001 come with probability 2e-7.

    A test that alarms in one run of 20 is found with probability .97.
    """
    alarms = 0
    for seed in range(200):
        test, rng = ArrivalTest(4), random.Random(seed)
        sets = [(0, [0, 1, 2, 3]), (150, [0, 1, 3]), (220, [0, 3]), (260, [0, 1, 3]), (400, [0, 1])]
        for n in range(600):
            for begin, asked in sets:
                if begin == n:
                    test.asks(begin, asked)
            seen = max(0, n - rng.randrange(100))
            asked = next(arms for begin, arms in reversed(sets) if begin <= seen)
            answer(test, rng, asked, [rate] * 4, seen)
        alarms += test.has_mismatch
    assert ALPHA == 0.001
    assert alarms <= 4


def test_an_alarm_stays():
    test = ArrivalTest(2)
    for _ in range(40):
        test.add(0, 0)
    for _ in range(2_000):
        test.add(1, 0)
    assert test.has_mismatch
