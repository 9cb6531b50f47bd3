"""Who wakes: shares of the events, and what is refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devote.problems import ProblemError, Split, Uniform, Weights, Zipf, parse_activity
from devote.problems.activity import block_sizes

SOME = [Uniform(), Split(), Split(0.25, 0.9), Zipf(1.1), Zipf(0), Weights((1, 2, 3, 4, 5, 6, 7))]


@pytest.mark.parametrize("activity", SOME, ids=lambda a: a.spec)
def test_shares_are_positive_and_add_up_to_one(activity):
    weights = activity.weights(7)
    assert len(weights) == 7
    assert min(weights) > 0
    assert math.fsum(weights) == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("activity", SOME, ids=lambda a: a.spec)
def test_a_spec_parses_back_to_an_equal_activity(activity):
    assert parse_activity(activity.spec) == activity


@given(st.lists(st.floats(1e-300, 1e308), min_size=1, max_size=30))
def test_any_weights_that_are_accepted_parse_back_exactly(values):
    try:
        activity = Weights(tuple(values))
    except ProblemError:  # so far apart that the smallest share is zero
        assert max(values) / min(values) > 1e300
        return
    assert parse_activity(activity.spec) == activity
    assert math.fsum(activity.weights(len(values))) == pytest.approx(1, abs=1e-12)


def test_zipf_follows_the_power_law_and_zero_is_uniform():
    weights = Zipf(2).weights(4)
    assert [weights[0] / w for w in weights] == pytest.approx([1, 4, 9, 16])
    assert Zipf(0).weights(5) == Uniform().weights(5)


def test_equal_weights_stay_equal_whatever_their_unit():
    for scale in (5e-324, 1e-9, 3.0, 1e308):
        assert Weights((scale,) * 49).weights(49) == Uniform().weights(49)


@given(st.lists(st.integers(1, 100), min_size=1, max_size=6), st.integers(1, 400))
def test_blocks_hold_everyone_and_are_within_one_of_their_fraction(parts, n_players):
    fractions = [part / sum(parts) for part in parts]
    try:
        sizes = block_sizes(fractions, n_players)
    except ProblemError:
        assert min(fractions) * n_players < 1.5
        return
    assert sum(sizes) == n_players
    assert all(abs(s - f * n_players) <= 1 for s, f in zip(sizes, fractions, strict=True))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Weights((1, -1)), r"weights\[1\]=-1 must be above 0.*\nBy Assumption 3"),
        (lambda: Weights((1, math.nan)), r"weights\[1\]=nan must be finite"),
        (lambda: Weights((1, math.inf)), r"weights\[1\]=inf must be finite"),
        (lambda: Weights(("1", 2)), r"weights\[0\]='1' must be a number"),
        (lambda: Weights((0, 0)), r"weights\[0\]=0 must be above 0.*\nBy Assum"),
        (lambda: Weights((1, 0)), r"weights\[1\]=0 must.*Assumption 3.*Algorithm 1"),
        (lambda: Weights((1e308, 1e-308)), r"share of weights\[1\]=1e-308=0.0 must.*Assumption 3"),
        (lambda: Weights(()), r"n_players=0 must be .*nobody ever wakes"),
        (lambda: Weights((1, 2)).weights(3), r"2 weights for n_players=3.\nGive one weight per"),
        (lambda: Uniform().weights(0), r"n_players=0 must be .*\nWith no player nobody"),
        (lambda: Uniform().weights(-1), r"n_players=-1 must be a whole number, 1 or more"),
        (lambda: Uniform().weights(2.5), r"n_players=2.5 must be a whole number"),
        (lambda: Split().weights(1), r"n_players=1 cut by.*without players.\nUse more players"),
        (lambda: Split(share=1), r"share=1 must be in \(0, 1\)"),
        (lambda: Split(fraction=0), r"fraction=0 must be in \(0, 1\)"),
        (lambda: Split(fraction=math.nan), r"fraction=nan must be finite"),
        (lambda: Zipf(-1), r"exponent=-1.0 must be.*\nUse 0 for equal players"),
        (lambda: Zipf(math.inf), r"exponent=inf must be finite"),
        (lambda: Zipf(400).weights(1000), r"weights\[\d+\]=0.0 must be above 0"),
        (lambda: parse_activity("zpif:1"), r"'zpif:1' is not known.\nDid you mean 'zipf'"),
        (lambda: parse_activity("zipf:x"), r"is not the numbers that .* takes.\nWrite unif"),
        (lambda: parse_activity("zipf"), r"is not the numbers that .* takes.\nWrite unif"),
        (lambda: parse_activity("uniform:3"), r"is not the numbers that .* takes.\nWrite unif"),
        (lambda: parse_activity("weights:1,nan"), r"weights\[1\]=nan must be finite"),
    ],
)
def test_an_error_gives_the_value_the_rule_and_the_remedy(make, message):
    with pytest.raises(ProblemError, match=f"(?s){message}"):
        make()
