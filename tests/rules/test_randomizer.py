"""Randomized response, proved by counting: every one of the 2^53 values of the noise is accounted
for, and no odds are above exp(e).

``blur`` is constant on stretches of the noise, so its ends are counted, not its 2^53 values.
"""

from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devote.protocol import ExperimentSpec
from devote.rules.randomizer import GRID, LEAST, blur, truthful

getcontext().prec = 60

privacies = st.floats(LEAST, 30.0) | st.sampled_from([LEAST, 1.0, 2.0, 3.0, 4.0, 30.0])
arms = st.integers(2, 40) | st.sampled_from([2, 3, 10, 1_000, 2**16])


def odds(privacy):
    """exp(e) to 60 digits, rounded down in the last: a float e is an exact decimal."""
    return Fraction(Decimal(privacy).exp().next_minus())


def told(place, truth, privacy, n_arms):
    return blur(truth, place / GRID, truthful(privacy, n_arms), n_arms)


@given(privacies, arms)
def test_the_truth_has_at_most_exp_e_times_the_values_of_a_lie(privacy, n_arms):
    truths = truthful(privacy, n_arms)
    lies, left_over = divmod(GRID - truths, n_arms - 1)
    assert left_over == 0, "the lies are shared out evenly"
    assert 0 < lies <= truths, "no arm is likelier than the truth"
    assert Fraction(truths, lies) <= odds(privacy)


@given(privacies, arms)
def test_no_more_truth_could_be_told(privacy, n_arms):
    """One value less for each lie would break the promise, but for two digits of exp."""
    truths = truthful(privacy, n_arms)
    lies = (GRID - truths) // (n_arms - 1)
    more = Fraction(truths + n_arms - 1, lies - 1)
    assert more > odds(privacy) * (1 - Fraction(1, 2**50))


@given(privacies, arms, st.data())
def test_each_value_of_the_noise_tells_the_arm_that_the_count_says(privacy, n_arms, data):
    """The first ``truths`` tell the truth, then each other arm has its stretch, in order."""
    truth = data.draw(st.integers(0, n_arms - 1))
    truths = truthful(privacy, n_arms)
    lies = (GRID - truths) // (n_arms - 1)
    assert told(0, truth, privacy, n_arms) == told(truths - 1, truth, privacy, n_arms) == truth
    others = [k for k in range(n_arms) if k != truth]
    for i in data.draw(st.sets(st.sampled_from(range(n_arms - 1)), max_size=8)) | {n_arms - 2}:
        begin = truths + i * lies
        assert told(begin, truth, privacy, n_arms) == others[i]
        assert told(begin + lies - 1, truth, privacy, n_arms) == others[i]
    assert told(GRID - 1, truth, privacy, n_arms) == others[-1]


def uniform_stretches(n_arms):
    """How many values of the noise each arm has for a juror that is not done."""

    def first(arm):
        low, high = -1, GRID  # the first place at which the arm is at least this one
        while high - low > 1:
            middle = (low + high) // 2
            if int(middle / GRID * n_arms) >= arm:
                high = middle
            else:
                low = middle
        return high

    ends = [first(arm) for arm in range(n_arms + 1)]
    assert (ends[0], ends[-1]) == (0, GRID), "every value is an arm"
    return [end - begin for begin, end in pairwise(ends)]


@pytest.mark.parametrize("n_arms", [2, 3, 10, 37])
@pytest.mark.parametrize("privacy", [LEAST, 0.1, 1.0, 2.0, 4.0, 30.0])
def test_what_a_juror_says_is_private_also_towards_whether_it_was_done(privacy, n_arms):
    """All it can have learned: one arm is left, or several are. For any two of these, and any
    arm told, the odds are at most exp(e): e-local differential privacy, with nothing left out.
    """
    truths = truthful(privacy, n_arms)
    lies = (GRID - truths) // (n_arms - 1)
    counts = [[truths if k == truth else lies for k in range(n_arms)] for truth in range(n_arms)]
    counts.append(uniform_stretches(n_arms))
    assert all(sum(row) == GRID for row in counts)
    for arm in range(n_arms):
        column = [row[arm] for row in counts]
        assert Fraction(max(column), min(column)) <= odds(privacy)


@pytest.mark.parametrize(("privacy", "n_arms"), [(1.0, 2), (2.0, 3), (4.0, 10), (30.0, 2)])
def test_the_scheme_uses_these_counts(privacy, n_arms):
    jury = {"name": "jury", "privacy": privacy, "seats": 300, "vote_after": 5_000}
    spec = ExperimentSpec(arms=n_arms, eta=0.1, scheme=jury)
    p = truthful(privacy, n_arms) / GRID
    assert spec.scheme.truths(n_arms) == truthful(privacy, n_arms)
    assert spec.scheme.sending.noisy
    q = (1 - p) / (n_arms - 1)
    assert spec.scheme.wrong_pick(spec) == pytest.approx(q + (p - q) * (0.1 + 0.9 / n_arms))
