import math
from fractions import Fraction

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from devote.theory import beta_quantile, betainc, binomial_tail
from devote.theory.binomial import tails

shape = st.floats(-3, 7).map(lambda exponent: 10.0**exponent)
inside = st.floats(1e-12, 1 - 1e-12)
deviations = st.floats(-20, 20)


def exact_betainc(a: int, b: int, x: float) -> Fraction:
    """The sum over the binomial law, in exact rational numbers."""
    n, success = a + b - 1, Fraction(x)
    return sum(
        (math.comb(n, j) * success**j * (1 - success) ** (n - j) for j in range(a, n + 1)),
        Fraction(0),
    )


def near_the_mean(a: float, b: float, deviation: float) -> float:
    mean = a / (a + b)
    spread = math.sqrt(mean * (b / (a + b)) / (a + b + 1))
    return min(max(mean + deviation * spread, 1e-12), 1 - 1e-12)


def test_erratum_10_the_regularised_value_of_the_footnote_is_one():
    assert betainc(500, 500, 0.99) == 1.0


def test_erratum_10_the_footnote_prints_the_beta_function_itself():
    exact = Fraction(math.factorial(499) ** 2, math.factorial(999))
    assert math.floor(exact * 10**304) == 147


@pytest.mark.parametrize("x", [0.001, 0.3, 0.5, 0.9, 0.999])
@pytest.mark.parametrize(("a", "b"), [(1, 1), (1, 40), (40, 1), (28, 5), (60, 60)])
def test_betainc_agrees_with_exact_rational_sums_to_1e_12(a, b, x):
    exact = exact_betainc(a, b, x)
    assert abs(Fraction(betainc(a, b, x)) / exact - 1) < 1e-12
    assert abs(Fraction(betainc_upper(a, b, x)) / (1 - exact) - 1) < 1e-12


def betainc_upper(a: float, b: float, x: float) -> float:
    return tails(float(a), float(b), float(x))[1]


@given(shape, shape, inside)
def test_betainc_agrees_with_scipy_anywhere(a, b, x):
    assert betainc(a, b, x) == pytest.approx(scipy.special.betainc(a, b, x), rel=2e-10, abs=1e-290)


@given(shape, shape, deviations)
def test_betainc_agrees_with_scipy_near_the_mean(a, b, deviation):
    x = near_the_mean(a, b, deviation)
    assert betainc(a, b, x) == pytest.approx(scipy.special.betainc(a, b, x), rel=2e-10, abs=1e-290)
    assert betainc_upper(a, b, x) == pytest.approx(
        scipy.special.betaincc(a, b, x), rel=2e-10, abs=1e-290
    )


@pytest.mark.parametrize(
    ("a", "b", "x", "value"),
    [
        (1e7, 1e7, 0.4966458980337503, 4.85728281525359202e-198),
        (1e6, 3e6, 0.245669873, 5.76777826266916017e-90),
        (1e3, 1e7, 9.3e-05, 1.21018330881332639e-02),
    ],
)
def test_betainc_agrees_with_sixty_digit_arithmetic_deep_in_the_tail(a, b, x, value):
    # From the hypergeometric series in decimals; scipy is 7e-12 away from the first.
    assert betainc(a, b, x) == pytest.approx(value, rel=1e-12)


def test_betainc_keeps_its_digits_at_parameters_of_ten_million():
    # By symmetry the median of Beta(a, a) is one half.
    assert betainc(1e7, 1e7, 0.5) == pytest.approx(0.5, rel=1e-13)
    assert betainc(1e7, 1e7, 0.499) == pytest.approx(betainc_upper(1e7, 1e7, 0.501), rel=1e-11)


@given(shape, shape)
def test_betainc_is_zero_at_zero_and_one_at_one(a, b):
    assert (betainc(a, b, 0), betainc_upper(a, b, 0)) == (0.0, 1.0)
    assert (betainc(a, b, 1), betainc_upper(a, b, 1)) == (1.0, 0.0)


@given(shape, shape, inside, inside)
def test_betainc_grows_with_x(a, b, x, other):
    low, high = sorted((x, other))
    assert betainc(a, b, low) <= betainc(a, b, high) * (1 + 1e-11)


@given(st.floats(-3, 100), st.floats(-3, 14), st.floats(0, 1))
def test_betainc_is_a_probability_for_every_shape_served(large, small, x):
    for a, b in ((10.0**large, 10.0**small), (10.0**small, 10.0**large)):
        assert 0.0 <= betainc(a, b, x) <= 1.0


@given(st.integers(0, 300), st.integers(0, 300), st.floats(0, 1))
def test_binomial_tail_agrees_with_scipy(successes, trials, probability):
    assert binomial_tail(successes, trials, probability=probability) == pytest.approx(
        scipy.stats.binom.sf(successes - 1, trials, probability), rel=1e-10, abs=1e-290
    )


@given(st.floats(1e-12, 1 - 1e-6), shape, shape)
def test_beta_quantile_agrees_with_scipy(probability, a, b):
    ours, theirs = beta_quantile(probability, a=a, b=b), scipy.stats.beta.ppf(probability, a, b)
    # scipy's own inverse is 1e-8 off at (1000, 1e7); the test below is the sharp one.
    assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-290)


@given(st.floats(1e-9, 1 - 1e-9), st.floats(0.5, 1e5), st.floats(0.5, 1e5))
def test_beta_quantile_inverts_betainc(probability, a, b):
    x = beta_quantile(probability, a=a, b=b)
    # One rounding of x moves I by up to its slope.
    slope = math.exp((a - 1) * math.log(x) + (b - 1) * math.log1p(-x) - scipy.special.betaln(a, b))
    assert betainc(a, b, x) == pytest.approx(probability, rel=1e-11, abs=1e-15 * slope)


def test_a_wrong_argument_is_named_with_its_rule():
    with pytest.raises(ValueError, match=r"x=1\.5 must be in \[0, 1\]"):
        betainc(1, 1, 1.5)
    with pytest.raises(ValueError, match="x=nan"):
        betainc(1, 1, math.nan)
    with pytest.raises(ValueError, match="a=0 is not between"):
        betainc(0, 1, 0.5)
    with pytest.raises(ValueError, match="both above"):
        betainc(1e15, 1e15, 0.5)
    with pytest.raises(ValueError, match=r"probability=1 must be in \(0, 1\)"):
        beta_quantile(1, a=1, b=1)
    with pytest.raises(ValueError, match="successes=-1 must be a whole number, 0 or more"):
        binomial_tail(-1, 3, probability=0.5)
