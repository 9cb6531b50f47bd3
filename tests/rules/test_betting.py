"""Betting against its slow twin, and the steps of its proof, each checked by computing it.

The twin (``tests.reference``) adds nothing up: it answers each question from the list of all
rounds. Capitals are compared with exact fractions here.
"""

import math
from fractions import Fraction
from functools import cache
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.subroutines import Betting

from devote.rules import drop, get_algorithm
from devote.rules.betting import is_proved, log_capital
from devote.rules.state import COUNT

BETTING = get_algorithm("betting")


def shares_of(epsilon):
    """The grid: 1.4 epsilon, then times 1.5, up to .9, the last one .9 itself."""
    share, shares = Fraction(7, 5) * Fraction(epsilon), []
    while share < Fraction(9, 10):
        shares.append(share)
        share *= Fraction(3, 2)
    return [*shares, Fraction(9, 10)]


@cache
def capital(epsilon, wins, losses, draws, s):
    """The mean over the grid, as an exact fraction."""
    terms = [
        (1 + g * (1 + s)) ** wins * (1 - g * (1 - s)) ** losses * (1 + g * s) ** draws
        for g in shares_of(epsilon)
    ]
    return sum(terms) / len(terms)


def placements(wins, losses, draws, liars):
    """What the rounds of a pair may have been before up to so many steps, each against it."""
    found = {(wins, losses, draws)}
    for _ in range(liars):
        for won, lost, drawn in list(found):
            found |= {(won - 1, lost, drawn + 1)} if won else set()
            found |= {(won, lost + 1, drawn - 1)} if drawn else set()
    return found


def least_capital(epsilon, wins, losses, draws, s, liars):
    return min(capital(epsilon, *where, s) for where in placements(wins, losses, draws, liars))


def a_removal(rng, state, rate):
    """An arm to take out from outside now: any, in the middle of a round too, often the leader."""
    if state.ints[COUNT] <= 2 or rng.random() >= rate:
        return None
    alive = [k for k in range(len(state.alive)) if state.alive[k]]
    return max(alive, key=lambda k: state.sums[k]) if rng.random() < 0.4 else rng.choice(alive)


def reward_of(rng, mean, real):
    if not real:
        return float(rng.random() < mean)
    return mean + min(mean, 1.0 - mean) * (2.0 * rng.random() - 1.0)


def assert_plays_as_its_twin(means, epsilon, eta, liars, removals, real, seed, most):
    """Arms go from outside at any moment: within a round, the leader too, several in a row."""
    n_arms, rng = len(means), Random(seed)
    rule = BETTING.rule(n_arms=n_arms, epsilon=epsilon, eta=eta, liars=liars)
    state, out = BETTING.new_state(n_arms), [0] * n_arms
    twin = Betting(n_arms, epsilon, eta, liars=liars)
    for _ in range(most):
        while (arm := a_removal(rng, state, removals)) is not None:
            drop(state, arm)
            twin.drop(arm)
        u = rng.random()
        arm = BETTING.choose(rule, state, u)
        assert arm == twin.choose(u)
        reward = reward_of(rng, means[arm], real)
        n_out = BETTING.observe(rule, state, arm, reward, out)
        assert out[:n_out] == twin.observe(arm, reward)
        assert {k for k in range(n_arms) if state.alive[k]} == twin.remaining
        asked = {k for k in range(n_arms) if BETTING.asks(rule, state, k)}
        assert asked == twin.asked()
        if state.ints[COUNT] == 1:
            break


MEANS = st.sampled_from([0.0, 0.05, 0.3, 0.5, 0.5, 0.7, 0.9, 1.0])


@given(
    means=st.lists(MEANS, min_size=2, max_size=5),
    epsilon=st.sampled_from([0.001, 0.05, 0.25, 0.5, 0.9]),
    eta=st.sampled_from([0.05, 0.5, 0.9]),
    liars=st.sampled_from([0, 0, 1, 2]),
    removals=st.sampled_from([0.0, 0.02, 0.1]),
    real=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_a_short_run_equals_that_of_a_list_of_all_rounds(**case):
    assert_plays_as_its_twin(**case, most=70)


LONG = [
    # means, epsilon, eta, liars, removals, real
    ((0.5, 0.5), 0.001, 0.2, 0, 0.0, False),
    ((0.05, 0.04, 0.03, 0.03), 0.001, 0.05, 0, 0.0, False),
    ((0.05, 0.04, 0.03, 0.03), 0.005, 0.05, 5, 0.0, False),
    ((0.5, 0.49, 0.48, 0.5, 0.2, 0.1, 0.5), 0.01, 0.9, 0, 0.001, False),
    ((0.5, 0.49, 0.48, 0.5, 0.2, 0.1, 0.5), 0.05, 0.9, 3, 0.001, False),
    ((0.6, 0.5, 0.55), 0.05, 0.01, 2, 0.0, True),
    ((0.3, 0.3, 0.3, 0.3), 0.1, 0.5, 1, 0.005, False),
    ((0.7, 0.65, 0.6, 0.1, 0.1), 0.03, 0.1, 4, 0.002, True),
    ((1.0, 1.0, 0.999), 0.004, 0.5, 0, 0.0, False),
    ((0.0, 0.0, 0.0), 0.02, 0.9, 1, 0.0, False),
    ((0.45, 0.5, 0.4, 0.5, 0.3), 0.9, 0.05, 5, 0.01, False),
]


@pytest.mark.parametrize("case", LONG, ids=str)
def test_a_long_run_equals_that_of_a_list_of_all_rounds(case):
    most = 1_800 if case[3] < 3 else 700
    assert_plays_as_its_twin(*case, seed=str(case), most=most)


COUNTS = st.integers(0, 40)
EPSILONS = st.sampled_from([0.001, 0.005, 0.1, 0.25, 0.6, 0.65, 0.9, 1.0])


@given(COUNTS, COUNTS, st.integers(0, 400), EPSILONS, st.booleans())
def test_the_logarithm_of_the_capital_is_that_of_the_exact_fraction(
    wins, losses, draws, epsilon, plain
):
    s = 0.0 if plain else epsilon
    exact = capital(epsilon, wins, losses, draws, Fraction(s))
    found = log_capital(epsilon, wins, losses, wins + losses + draws, s)
    logarithm = math.log(exact.numerator) - math.log(exact.denominator)
    assert found == pytest.approx(logarithm, rel=1e-9, abs=1e-9)


@given(
    counts=st.tuples(*3 * [st.integers(0, 9)]),
    liars=st.integers(0, 8),
    epsilon=st.sampled_from([0.01, 0.25, 0.7]),
    plain=st.booleans(),
    log_threshold=st.floats(0.05, 12.0),
)
def test_what_is_proved_is_what_holds_wherever_lies_may_stand(
    counts, liars, epsilon, plain, log_threshold
):
    """Against the least of all placements of up to ``liars`` steps."""
    wins, losses, draws = counts
    s = 0.0 if plain else epsilon
    least = least_capital(epsilon, wins, losses, draws, Fraction(s), liars)
    logarithm = math.log(least.numerator) - math.log(least.denominator)
    rule = BETTING.rule(n_arms=2, epsilon=epsilon, eta=math.exp(-log_threshold), liars=liars)
    if abs(logarithm - log_threshold) > 1e-9:
        assert is_proved(rule, wins, losses, sum(counts), s) == (logarithm > log_threshold)


@given(
    pairs=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=40),
    changed=st.lists(st.tuples(st.integers(0, 39), st.integers(0, 1)), max_size=6),
    epsilon=st.sampled_from([0.05, 0.25, 0.7]),
    plain=st.booleans(),
    eta=st.sampled_from([0.05, 0.5, 0.9]),
)
def test_what_is_proved_with_lies_is_proved_by_the_honest_bits_they_replaced(
    pairs, changed, epsilon, plain, eta
):
    """Change any bits, as many as ``liars`` allows: what the rule then proves, the capital of the
    bits as they were proves too. On this the proof for liars rests.
    """
    lied = [list(pair) for pair in pairs]
    places = {(i, side) for i, side in changed if i < len(pairs)}
    for i, side in places:
        lied[i][side] = 1 - lied[i][side]
    s = 0.0 if plain else epsilon
    rule = BETTING.rule(n_arms=2, epsilon=epsilon, eta=eta, liars=len(places))
    wins, losses = lied.count([1, 0]), lied.count([0, 1])
    if is_proved(rule, wins, losses, len(pairs), s):
        honest = pairs.count((1, 0)), pairs.count((0, 1))
        assert log_capital(epsilon, *honest, len(pairs), s) >= math.log(1 / eta)


@pytest.mark.parametrize("epsilon", [0.001, 0.05, 0.25, 0.6, 0.9])
@pytest.mark.parametrize("best", [Fraction(1), Fraction(1, 2), Fraction(19, 20)])
def test_a_bet_against_the_better_arm_does_not_pay_on_average(epsilon, best):
    """The step of the proof: an arm s worse, or more, and any share of the grid."""
    for s in (Fraction(0), Fraction(epsilon)):
        for worse in (s, s + Fraction(1, 100), best):
            other = best - worse
            if other < 0 or worse < s:
                continue
            up, down = other * (1 - best), best * (1 - other)
            for g in shares_of(epsilon):
                mean = up * (1 + g * (1 + s)) + down * (1 - g * (1 - s))
                mean += (1 - up - down) * (1 + g * s)
                assert mean <= 1
                assert (mean == 1) == (worse == s)


@pytest.mark.parametrize(
    ("best", "epsilon", "eta"),
    [(0.5, 0.1, 0.2), (0.9, 0.3, 0.5), (0.06, 0.02, 0.2), (1.0, 0.25, 0.9), (0.8, 0.8, 0.05)],
)
@pytest.mark.parametrize("liars", [0, 1, 3])
def test_an_arm_just_epsilon_worse_is_proved_to_be_less_at_most_as_often_as_allowed(
    best, epsilon, eta, liars
):
    """Exact: the chances of all counts of 120 rounds, of which those that prove it are taken off.

    Two arms, the other exactly epsilon below the best. No sample: only chances below 1e-12 are
    left out.
    """
    rule = BETTING.rule(n_arms=2, epsilon=epsilon, eta=eta, liars=liars)
    other = best - epsilon
    up, down = other * (1.0 - best), best * (1.0 - other)
    chances, wrong = {(0, 0): 1.0}, 0.0
    for rounds in range(1, 121):
        after = {}
        for (won, lost), chance in chances.items():
            steps = ((won + 1, lost), up), ((won, lost + 1), down), ((won, lost), 1 - up - down)
            for where, share in steps:
                after[where] = after.get(where, 0.0) + chance * share
        chances = {}
        for (won, lost), chance in after.items():
            if is_proved(rule, won, lost, rounds, epsilon):
                wrong += chance
            elif chance > 1e-12:
                chances[won, lost] = chance
    assert wrong <= eta
    if liars == 0 and other > 0.0 and best < 1.0:
        assert wrong > eta / 12, "so seldom that the threshold is not the right one"


def most_often_wrong(best, other, *, epsilon, delta, lies, liars, rounds=25):
    """How often a board is wrong about two arms at most, whatever liars do; exact, backwards.

    Liars know everything: they see one arm's honest bit before they say whether the other's is a
    lie. They choose which arm's answer comes first, and may lie about both.
    """
    rule = BETTING.rule(n_arms=2, epsilon=epsilon, eta=delta, liars=liars)
    after = {}
    for t in range(rounds, -1, -1):
        now = {}
        for won, lost, left in product(range(t + 1), range(t + 1), range(lies + 1)):
            if won + lost > t:
                continue
            if t and won >= lost and is_proved(rule, won, lost, t, epsilon):
                now[won, lost, left] = 1.0
                continue
            if t == rounds or (t and won < lost and is_proved(rule, lost, won, t, epsilon)):
                now[won, lost, left] = 0.0
                continue

            def then(bad, good, left, after=after, won=won, lost=lost):
                return after[won + (bad > good), lost + (good > bad), left]

            def lied(bad, left, then=then):
                """The bad arm's bit is known, the best arm's is honest or a lie."""
                honest = best * then(bad, 1, left) + (1.0 - best) * then(bad, 0, left)
                return max(honest, then(bad, 0, left - 1)) if left else honest

            def lied_for(good, left, then=then):
                honest = other * then(1, good, left) + (1.0 - other) * then(0, good, left)
                return max(honest, then(1, good, left - 1)) if left else honest

            values = [
                other * lied(1, left) + (1.0 - other) * lied(0, left),
                best * lied_for(1, left) + (1.0 - best) * lied_for(0, left),
            ]
            if left:
                values += [lied(1, left - 1), lied_for(0, left - 1)]
            now[won, lost, left] = max(values)
        after = now
    return after[0, 0, lies]


@pytest.mark.parametrize("lies", [1, 2])
@pytest.mark.parametrize(
    ("best", "other", "epsilon", "delta"),
    [(0.3, 0.0, 0.29, 0.5), (0.9, 0.699, 0.2, 0.5), (0.5, 0.399, 0.1, 0.2), (1.0, 0.79, 0.2, 0.2)],
)
def test_the_best_liars_there_are_do_not_break_the_promise(best, other, epsilon, delta, lies):
    """Two arms, a gap just past epsilon, as many lies as are allowed; no sample."""
    case = {"epsilon": epsilon, "delta": delta, "lies": lies}
    wrong = most_often_wrong(best, other, liars=lies, **case)
    assert wrong <= delta
    assert most_often_wrong(best, other, liars=lies - 1, **case) > 1.5 * wrong


@pytest.mark.parametrize("lies", [1, 2])
def test_one_lie_more_than_allowed_can_break_the_promise(lies):
    """The allowance is not more than it takes: .696 and .618 where .5 is promised."""
    case = {"epsilon": 0.29, "delta": 0.5, "lies": lies}
    assert most_often_wrong(0.3, 0.0, liars=lies, **case) < 0.25
    assert most_often_wrong(0.3, 0.0, liars=lies - 1, **case) > 0.6


@given(st.floats(0, 1), st.floats(0, 1, exclude_max=True))
def test_a_reward_is_rounded_by_the_uniform_of_its_pull(reward, u):
    rule = BETTING.rule(n_arms=2, epsilon=0.1, eta=0.5)
    state = BETTING.new_state(2)
    BETTING.choose(rule, state, u)
    BETTING.observe(rule, state, 0, reward, [0] * 2)
    assert state.sums[0] == float(u < reward)
    assert reward not in (0.0, 1.0) or state.sums[0] == reward, "bits stay as they are"
