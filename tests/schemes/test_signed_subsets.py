"""Signed subsets, proved by counting: every place of the noise, every subset and every sign."""

import itertools
import math
import random
from collections import Counter
from decimal import Decimal, getcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devote.rules.randomizer import GRID, LEAST
from devote.schemes.survey.signed_subsets import (
    MOST_SEGMENTS,
    Noise,
    SignedSubsets,
    best_size,
    draw_noise,
    is_signed_subset,
    signed_subset,
)

getcontext().prec = 60

REWARDS = (0.0, 0.3, 1.0)
SIZES = [(n, size) for n in range(2, 7) for size in range(1, n)]
privacies = st.floats(LEAST, 30.0) | st.sampled_from([LEAST, 1.0, 2.0, 4.0, 30.0])


def odds(privacy):
    """exp(e) to 60 digits, rounded down in the last: a float e is an exact decimal."""
    return Fraction(Decimal(privacy).exp().next_minus())


def places_of_cases(subsets, reward):
    """A place of each case and how many places there are of it, by probing the ends."""
    first_zero = subsets.absent + subsets.other + int(reward * (subsets.own - subsets.other))
    ends = [0, subsets.absent, first_zero, GRID]
    for begin, end in itertools.pairwise(ends):
        if begin < end:
            empty = Noise(begin, (), ())
            last = Noise(end - 1, (), ())
            alone = SignedSubsets(subsets.n_segments, 1, subsets.own, subsets.other)
            assert signed_subset(alone, 0, reward, empty) == signed_subset(alone, 0, reward, last)
            yield begin, end - begin


def chances(subsets, segment, reward):
    """The exact probability of each output: all places, ordered subsets of others and signs."""
    strangers = [z for z in range(subsets.n_segments) if z != segment]
    noises = [
        (others, signs)
        for others in itertools.permutations(strangers, subsets.size)
        for signs in itertools.product((-1, 1), repeat=subsets.size)
    ]
    found = Counter()
    for place, n_places in places_of_cases(subsets, reward):
        for others, signs in noises:
            output = signed_subset(subsets, segment, reward, Noise(place, others, signs))
            assert is_signed_subset(subsets, output)
            found[output] += n_places
    return {output: Fraction(n, GRID * len(noises)) for output, n in found.items()}


@pytest.mark.parametrize(("n_segments", "size"), SIZES)
@pytest.mark.parametrize("privacy", [0.1, 1.0, 4.0])
def test_no_output_is_more_than_exp_e_times_as_likely_for_another_segment_or_reward(
    n_segments, size, privacy
):
    subsets = SignedSubsets.of(n_segments, size, privacy)
    inputs = [(z, reward) for z in range(n_segments) for reward in REWARDS]
    if n_segments == 6:
        inputs = [(0, 0.0), (0, 0.3), (0, 1.0), (1, 1.0), (5, 0.0)]
    tables = [chances(subsets, *given) for given in inputs]
    possible = set().union(*tables)
    assert len(possible) == math.comb(n_segments, size) * 2**size
    for output in possible:
        likely = [table.get(output, Fraction(0)) for table in tables]
        assert min(likely) > 0
        assert max(likely) <= odds(privacy) * min(likely)
    assert all(sum(table.values()) == 1 for table in tables)


@given(st.integers(2, MOST_SEGMENTS), st.data(), privacies)
def test_the_odds_of_each_case_are_at_most_exp_e_and_no_better_ones_exist(
    n_segments, data, privacy
):
    """The absent case is shared by the ways to choose and sign d of the others: the same weight."""
    size = data.draw(st.integers(1, n_segments - 1))
    subsets = SignedSubsets.of(n_segments, size, privacy)
    unit, left_over = divmod(subsets.other, size)
    assert left_over == 0
    assert subsets.absent == 2 * (n_segments - size) * unit
    assert Fraction(subsets.own, subsets.other) <= odds(privacy)
    more = subsets.own + (2 * n_segments - size)
    assert Fraction(more, size * (unit - 1)) > odds(privacy) * (1 - Fraction(1, 2**50))


def test_the_other_members_are_exactly_uniform():
    """Of all streams of draws that end, as many give each ordered choice of the others."""
    subsets = SignedSubsets.of(5, 2, 1.0)
    seen = Counter()
    for stream in itertools.product(range(8), repeat=4):
        draws = iter([0, *stream])

        def bits(n, draws=draws):
            return 0 if n == 1 else next(draws)

        try:
            seen[draw_noise(subsets, 3, bits).others] += 1
        except StopIteration:
            continue
    assert set(seen) == set(itertools.permutations([0, 1, 2, 4], 2))
    assert len(set(seen.values())) == 1


def test_noise_takes_its_bits_from_the_source_that_it_is_given():
    asked = []

    def bits(n):
        asked.append(n)
        return random.Random(len(asked)).getrandbits(n)

    noise = draw_noise(SignedSubsets.of(10, 3, 2.0), 4, bits)
    assert asked[0] == 53
    assert asked.count(4) >= 3
    assert asked[-3:] == [1, 1, 1]
    assert len(set(noise.others) - {4}) == 3


def test_without_privacy_an_answer_is_the_segment_and_its_bit():
    subsets = SignedSubsets.of(4, 1, None)
    noise = draw_noise(subsets, 2, random.Random(1).getrandbits)
    assert signed_subset(subsets, 2, 1.0, noise) == (0, 0, 1, 0)
    assert signed_subset(subsets, 2, 0.0, noise) == (0, 0, -1, 0)


@pytest.mark.parametrize(
    ("n_segments", "sizes"), [(3, [1, 1, 1, 2]), (10, [1, 1, 3, 8])], ids=["3", "10"]
)
def test_the_best_size_is_that_of_the_reference(n_segments, sizes):
    assert [best_size(n_segments, e, 0.1) for e in (None, 4.0, 2.0, 1.0)] == sizes


@given(st.integers(2, 12), st.data(), privacies)
def test_means_of_signs_and_presence_are_what_the_learner_assumes(n_segments, data, privacy):
    """E t = slope (2 mu - 1) in the own segment and 0 elsewhere; presence as stated."""
    size = data.draw(st.integers(1, n_segments - 1))
    subsets = SignedSubsets.of(n_segments, size, privacy)
    own, other = Fraction(subsets.own, GRID), Fraction(subsets.other, GRID)
    member, stranger = subsets.presence
    assert math.isclose(subsets.slope, own - other, rel_tol=1e-12)
    assert math.isclose(member, own + other, rel_tol=1e-12)
    assert math.isclose(member + (n_segments - 1) * stranger, size, rel_tol=1e-9)


@pytest.mark.parametrize(
    "signs",
    [(1, 0), (1, 1, 0), (0, 0, 0), (2, 0, 0), (True, 0, 0), (1.0, 0, 0)],
)
def test_what_is_no_signed_subset_is_refused(signs):
    subsets = SignedSubsets.of(3, 1, 1.0)
    assert is_signed_subset(subsets, (0, -1, 0))
    assert not is_signed_subset(subsets, signs)
