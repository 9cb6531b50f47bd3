"""Numbers drawn from one uniform number: exact where that is promised, alike on every path."""

import math
from random import Random

import numpy as np
import pytest
import scipy
from tests.rules.compiled import compiled

from devote.rules.uniforms import HIGH, LOW, below, permuted, scrambled, split

GRID = 2**53


@pytest.mark.parametrize("n", [2, 8, 2**20])
def test_a_draw_below_a_power_of_two_and_what_is_left_are_exactly_independent(n):
    """Every number is drawn by as many places, and what is left has log2(n) bits less."""
    for whole in {0, 1, n // 2, n - 1}:
        places = [whole * (GRID // n) + Random(1).randrange(GRID // n) for _ in range(50)]
        for place in [*places, whole * (GRID // n), (whole + 1) * (GRID // n) - 1]:
            found, rest = below(n, place / GRID)
            assert found == whole
            assert rest == (place - whole * (GRID // n)) / (GRID // n)


@pytest.mark.parametrize("n", [3, 7, 10, 1_000])
def test_a_draw_below_any_number_is_uniform_up_to_the_grid(n):
    begins = [math.ceil(GRID * k / n) for k in range(n + 1)]
    for k in range(n):
        assert begins[k + 1] - begins[k] == pytest.approx(GRID / n, abs=1)
        # Rounding may shift where one number ends and the next begins by a place.
        assert below(n, (begins[k] + 1) / GRID)[0] == k
        assert below(n, (begins[k + 1] - 2) / GRID)[0] == k
        assert 0.0 <= below(n, (begins[k + 1] - 2) / GRID)[1] < 1.0


def unpermuted(x, first, second):
    """The uniform number that ``permuted`` made x of."""
    high, low = divmod(int(x * GRID), LOW)
    for _ in range(2):
        high ^= scrambled(low + 1, second) % HIGH
        low ^= scrambled(high + 1, first) % LOW
    return (high * LOW + low) / GRID


def test_each_number_of_a_split_is_a_permutation_of_the_values_of_u():
    draw = Random(3)
    for u in [0.0, 0.5, 1.0 - 2.0**-53, *(draw.random() for _ in range(1_000))]:
        for factors in ((0x21F0AAAD, 0x735A2D97), (0x2C1B3C6D, 0x297A2D39)):
            assert unpermuted(permuted(u, *factors), *factors) == u


def test_numbers_split_off_one_after_another_are_uniform_and_seem_independent():
    """Each alarm is false with probability 1e-7; 100,000 numbers tell .02 of probability mass."""
    draw = Random(7)
    columns = [[] for _ in range(5)]
    for i in range(100_000):
        # Also from numbers that differ little, or have few bits.
        rest = [draw.random(), i / 2**32, i / GRID][i % 3]
        columns[0].append(rest)
        for column in columns[1:]:
            drawn, rest = split(rest)
            column.append(drawn)
    table = np.array(columns)
    for values in table[1:]:
        assert scipy.stats.kstest(values, "uniform").pvalue > 1e-7
    for i, values in enumerate(table):
        for other in table[:i]:
            cells = np.histogram2d(
                scipy.stats.rankdata(values, "ordinal"), scipy.stats.rankdata(other, "ordinal"), 16
            )[0]
            assert scipy.stats.chisquare(cells.ravel()).pvalue > 1e-7


def test_compiled_code_draws_the_same():
    def draws(uniforms, found):
        for i in range(len(uniforms)):
            a, b = split(uniforms[i])
            k, rest = below(7, b)
            found[i, 0], found[i, 1], found[i, 2], found[i, 3] = a, b, k, rest

    uniforms = np.random.default_rng(1).random(1_000)
    fast, slow = np.zeros((2, 1_000, 4))
    compiled(draws)(uniforms, fast)
    draws(uniforms.tolist(), slow)
    assert np.array_equal(fast, slow)
