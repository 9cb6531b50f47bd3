"""The bounds by Newton's iteration solve the equation that bisection solves."""

from math import exp, inf, log, nextafter

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tests.reference.subroutines import kl, kl_lower, kl_upper

from devote.rules.bernoulli_kl import divergence, lower, upper

MANY = 20 * settings().max_examples

unit = st.floats(0.0, 1.0)
levels = st.floats(1e-12, 50.0) | st.floats(-12.0, 2.5).map(lambda x: 10.0**x)


@settings(max_examples=MANY)
@given(unit, unit)
def test_the_divergence_is_the_textbook_one(p, q):
    assert divergence(p, q) == pytest.approx(kl(p, q), abs=1e-15, nan_ok=False)


@settings(max_examples=MANY)
@given(unit, levels)
@example(5e-324, 1.0)
@example(nextafter(1.0, 0.0), 1.0)
@example(0.3, 1e300)
def test_newton_and_bisection_agree_to_1e_9(p, level):
    assert upper(p, level) == pytest.approx(kl_upper(p, 1, level), abs=1e-9)
    assert lower(p, level) == pytest.approx(kl_lower(p, 1, level), abs=1e-9)


@settings(max_examples=MANY)
@given(unit, levels)
def test_the_upper_bound_solves_the_equation_to_1e_9(p, level):
    q = upper(p, level)
    assume(q < 1.0)
    slope = (q - p) / (q * (1.0 - q)) if q > 0.0 else 1.0
    assert abs(divergence(p, q) - level) <= 1e-9 * max(1.0, slope)


@settings(max_examples=MANY)
@given(unit, levels)
def test_bounds_stay_in_the_unit_interval_around_the_mean(p, level):
    assert 0.0 <= lower(p, level) <= p + 1e-15
    assert p <= upper(p, level) <= 1.0


@given(levels)
def test_bounds_in_closed_form_at_0_and_1(level):
    # d(0, q) = -ln(1 - q)
    assert upper(0.0, level) == pytest.approx(1.0 - exp(-level), abs=1e-12)
    assert lower(1.0, level) == pytest.approx(exp(-level), abs=1e-12)
    assert upper(1.0, level) == 1.0
    assert lower(0.0, level) == 0.0


@given(unit)
def test_a_level_of_zero_leaves_the_mean(p):
    assert upper(p, 0.0) == pytest.approx(p, abs=1e-15)
    assert lower(p, 0.0) == pytest.approx(p, abs=1e-15)


def test_the_divergence_is_infinite_where_one_law_excludes_what_the_other_allows():
    assert divergence(0.5, 0.0) == divergence(0.5, 1.0) == inf
    assert divergence(0.0, 0.5) == pytest.approx(log(2))
