"""Binomial tails to 1e-12, down to 1e-300 and up to ten million trials."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from devote.theory import binomial_tail

BERNOULLI = ((1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360360), (1, 156))
PI = Decimal("3.14159265358979323846264338327950288419716939937510582")


def log_factorial(n: int) -> Decimal:
    """Exact below a thousand; above, seven terms of Stirling's series are right to 1e-40."""
    if n < 1000:
        return Decimal(math.factorial(n)).ln()
    z = Decimal(n)
    total = (z + Decimal("0.5")) * z.ln() - z + (2 * PI).ln() / 2
    for i, (above, below) in enumerate(BERNOULLI):
        total += Decimal(above) / below / z ** (2 * i + 1)
    return total


def slow_tail(successes: int, trials: int, probability: float) -> float:
    """The first probability in sixty digits, then term after term until nothing is added."""
    with localcontext() as context:
        context.prec = 60
        p = Decimal(probability)
        q = 1 - p
        log = log_factorial(trials) - log_factorial(successes) - log_factorial(trials - successes)
        term = (log + successes * p.ln() + (trials - successes) * q.ln()).exp()
        total = Decimal(0)
        for j in range(successes, trials + 1):
            total += term
            if term < total * Decimal("1e-25"):
                break
            term *= Decimal(trials - j) / (j + 1) * p / q
        return float(total)


CELLS = [
    (64, 0.9, (45, 60, 64)),
    (1_000, 0.3, (310, 589, 860)),
    (100_000, 0.001, (120, 299, 660)),
    (10_000_000, 0.5, (5_004_743, 5_031_622, 5_058_502)),
    (10_000_000, 1e-6, (19, 127, 260)),
    (10_000_000, 0.999, (9_990_299, 9_991_998, 9_993_400)),
]


@pytest.mark.parametrize(("trials", "probability", "counts"), CELLS)
def test_a_tail_agrees_with_sixty_digit_arithmetic_to_1e_12(trials, probability, counts):
    for successes in counts:
        expected = slow_tail(successes, trials, probability)
        assert expected > 1e-304
        tail = binomial_tail(successes, trials, probability=probability)
        assert tail == pytest.approx(expected, rel=1e-12)


@given(st.integers(0, 10**7), st.integers(1, 10**7), st.floats(1e-9, 1 - 1e-9))
def test_a_tail_agrees_with_scipy(successes, trials, probability):
    expected = scipy.stats.binom.sf(successes - 1, trials, probability)
    tail = binomial_tail(successes, trials, probability=probability)
    assert tail == pytest.approx(expected, rel=1e-9, abs=1e-300)


def exact_tail(successes: int, trials: int, probability: float) -> Fraction:
    """The sum over the binomial law, in exact rational numbers."""
    p = Fraction(probability)
    return sum(
        (
            math.comb(trials, j) * p**j * (1 - p) ** (trials - j)
            for j in range(successes, trials + 1)
        ),
        Fraction(0),
    )


@pytest.mark.parametrize("probability", [0.001, 0.3, 0.5, 0.9, 0.999])
@pytest.mark.parametrize(
    ("successes", "trials"), [(1, 1), (1, 40), (40, 40), (28, 32), (60, 119), (10, 29)]
)
def test_a_tail_agrees_with_exact_rational_sums_to_1e_12(successes, trials, probability):
    exact = exact_tail(successes, trials, probability)
    assert abs(Fraction(binomial_tail(successes, trials, probability=probability)) / exact - 1) < (
        1e-12
    )


@given(st.integers(0, 300), st.integers(0, 300), st.floats(0, 1))
def test_a_tail_of_few_trials_agrees_with_scipy(successes, trials, probability):
    assert binomial_tail(successes, trials, probability=probability) == pytest.approx(
        scipy.stats.binom.sf(successes - 1, trials, probability), rel=1e-10, abs=1e-290
    )


def test_more_than_half_of_ten_million_tosses_is_a_half():
    trials = 10**7 - 1
    assert binomial_tail(5 * 10**6, trials, probability=0.5) == pytest.approx(0.5, rel=1e-13)


@given(st.integers(0, 10**4), st.integers(0, 10**4), st.floats(0, 1), st.floats(0, 1))
def test_a_tail_is_a_probability_and_grows_with_that_of_one_trial(successes, trials, p, other):
    low, high = (binomial_tail(successes, trials, probability=one) for one in sorted((p, other)))
    assert 0.0 <= low <= high * (1 + 1e-11)
    assert high <= 1.0


def test_nobody_and_everybody_for_certain():
    assert binomial_tail(0, 0, probability=0.0) == 1.0
    assert binomial_tail(3, 3, probability=1.0) == 1.0
    assert binomial_tail(1, 3, probability=0.0) == 0.0


def test_a_wrong_argument_is_named_with_its_rule():
    with pytest.raises(ValueError, match="successes=-1 must be a whole number, 0 or more"):
        binomial_tail(-1, 3, probability=0.5)
    with pytest.raises(ValueError, match=r"probability=1\.5 must be in \[0, 1\]"):
        binomial_tail(1, 3, probability=1.5)
