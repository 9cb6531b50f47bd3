"""Quorums, messages, stalls and splits; binomial tails to 1e-12; and who is wrong how often."""

import math
from decimal import Decimal, localcontext

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from devote import theory
from devote.rules import (
    get_algorithm,
    kl_racing,
    lucb,
    median_elimination,
    naive,
    successive_elimination,
    ugapec,
    votes,
)
from devote.rules import ser3 as ser3_kernel
from devote.rules.algorithm import ALGORITHMS
from devote.rules.bernoulli_kl import lower, upper
from devote.theory import (
    TheoryError,
    binomial_tail,
    claimed_failure,
    lone_failure,
    message_bound,
    quorum,
    stall_possible,
    vote_failure,
)

etas = st.floats(0.01, 0.99)


def test_the_quorum_is_that_of_the_rules_28_or_29_by_honest_rounding():
    assert theory.quorum is votes.quorum
    assert quorum(0.05, 0.9, "paper") == 28
    assert quorum(0.05, 0.9, "ceil") == 29


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_erratum_6_ceil_meets_delta_and_paper_is_at_most_one_vote_short(delta, eta):
    enough = quorum(delta, eta, "ceil")
    assert eta**enough <= delta * (1 + 1e-9)
    if delta <= eta:
        assert enough - quorum(delta, eta, "paper") in (0, 1)


def splits(n_players, needed):
    """Every split of the players over two arms, no arm with a quorum against it."""
    return [
        keep_first
        for keep_first in range(n_players + 1)
        if keep_first < needed and n_players - keep_first < needed
    ]


@given(st.integers(1, 40), st.integers(1, 40))
def test_erratum_20_a_stall_is_possible_exactly_where_a_split_without_quorum_is(n_players, quorum):
    assert stall_possible(n_players, quorum) == bool(splits(n_players, quorum))


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
    (1, 0.3, (1,)),
    (40, 0.001, (1, 2, 40)),
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


@given(
    st.one_of(st.integers(1, 300), st.integers(1, 10**7)).flatmap(
        lambda trials: st.tuples(st.integers(0, trials), st.just(trials))
    ),
    st.floats(1e-9, 1 - 1e-9),
)
def test_a_tail_agrees_with_scipy(counts, probability):
    successes, trials = counts
    expected = scipy.stats.binom.sf(successes - 1, trials, probability)
    tail = binomial_tail(successes, trials, probability=probability)
    assert tail == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_nobody_and_everybody_for_certain():
    assert binomial_tail(0, 0, probability=0.0) == 1.0
    assert binomial_tail(3, 3, probability=1.0) == 1.0
    assert binomial_tail(1, 3, probability=0.0) == 0.0


def test_erratum_6_the_papers_own_quorum_misses_its_delta():
    assert claimed_failure(0.9, 28) == pytest.approx(0.0523, abs=5e-5)
    assert claimed_failure(0.9, 28) > 0.05 > claimed_failure(0.9, 29)


@pytest.mark.parametrize(("n_players", "failure"), [(28, 0.052), (32, 0.79), (64, 1.0)])
def test_erratum_7_any_quorum_of_many_players_fails_far_more_often(n_players, failure):
    assert vote_failure(n_players, lone=0.9, quorum=28) == pytest.approx(failure, abs=2e-3)


@given(etas, st.integers(1, 200))
def test_claim_and_truth_agree_when_every_player_must_vote(eta, quorum):
    assert vote_failure(quorum, lone=eta, quorum=quorum) == pytest.approx(
        claimed_failure(eta, quorum), rel=1e-11
    )


@given(etas, st.integers(1, 60), st.integers(0, 60))
def test_the_vote_failure_grows_with_every_player(eta, quorum, spare):
    now = vote_failure(quorum + spare, lone=eta, quorum=quorum)
    more = vote_failure(quorum + spare + 1, lone=eta, quorum=quorum)
    assert claimed_failure(eta, quorum) * (1 - 1e-11) <= now <= more * (1 + 1e-12)


@pytest.mark.parametrize(
    ("formula", "arguments", "message"),
    [
        (binomial_tail, (-1, 3), r"successes=-1 must be a whole number, 0 or more"),
        (claimed_failure, (1, 28), r"eta=1 must be in \(0, 1\)"),
        (message_bound, (2.5, 10), r"quorum=2\.5 must be a whole number, 1 or more"),
        (message_bound, (True, 10), "quorum=True must be a whole number"),
        (message_bound, (28, 1), "n_arms=1 must be a whole number, 2 or more"),
    ],
)
def test_a_wrong_argument_is_named_with_its_rule(formula, arguments, message):
    more = {"probability": 0.5} if formula is binomial_tail else {}
    with pytest.raises(TheoryError, match=message):
        formula(*arguments, **more)
    with pytest.raises(ValueError, match="n_players=0 must be a whole number"):
        vote_failure(0, lone=0.9, quorum=1)


PROVED = (
    "naive",
    "median_elimination",
    "successive_elimination",
    "lucb",
    "kl_lucb",
    "ugapec",
    "ser3",
    "mixture_elimination",
    "betting",
    "worst_case",
)


@pytest.mark.parametrize("name", PROVED)
@pytest.mark.parametrize("n_arms", [2, 3, 10, 100])
@pytest.mark.parametrize("eta", [0.05, 0.5, 0.9, 0.99])
def test_a_proved_bound_is_at_most_eta(name, n_arms, eta):
    found = lone_failure(name, n_arms=n_arms, epsilon=0.1, eta=eta)
    assert found.standing == "proved"
    assert found.wrong_vote <= found.bound <= eta


def test_every_known_subroutine_has_a_verdict():
    for name in ALGORITHMS:
        found = lone_failure(name, n_arms=10, epsilon=0.25, eta=0.9)
        assert "nothing is known" not in found.why
        assert (found.standing == "proved") == (name in PROVED)
        assert (found.bound is None) == (name not in PROVED)
        assert (found.wrong_vote is None) == (name == "ser4")


def deviations(name, rule):
    """The probabilities that the proof adds up, from the kernel's own radius or budget."""
    arms, epsilon = rule.n_arms, rule.epsilon
    if name == "naive":
        yield 2 * arms * math.exp(-naive.budget(rule) * epsilon**2 / 2)
    elif name == "median_elimination":
        for epoch in range(8):
            epsilon_l = epsilon / 4 * 0.75**epoch
            yield 3 * math.exp(-median_elimination.budget(rule, epoch) * epsilon_l**2 / 2)
    elif name == "successive_elimination":
        for t in range(1, 2_000):
            yield 2 * arms * math.exp(-2 * t * successive_elimination.radius(rule, t) ** 2)
    elif name == "kl_racing":
        for t in range(1, 20_000):
            yield arms * math.exp(-kl_racing.exploration(rule, t))
    else:
        exploration = {"lucb": lucb, "ugapec": ugapec}[name].exploration
        for t in range(2, 2_000):
            yield arms * t * math.exp(-2 * exploration(rule, t))


@pytest.mark.parametrize(
    ("name", "nearly"),
    [
        ("naive", 0.9),
        ("median_elimination", 0.9),
        ("successive_elimination", 0.99),
        ("lucb", 0.99),
        ("ugapec", 0.99),
        ("kl_racing", 0.6),  # its sum of t^-1.1 ends slowly
    ],
)
@pytest.mark.parametrize(("n_arms", "eta"), [(2, 0.9), (10, 0.9), (50, 0.05)])
def test_a_bound_is_the_sum_of_what_the_kernel_s_own_constants_allow(name, nearly, n_arms, eta):
    rule = get_algorithm(name).rule(n_arms=n_arms, epsilon=0.1, eta=eta)
    bound = lone_failure(name, n_arms=n_arms, epsilon=0.1, eta=eta).wrong_vote
    assert nearly * bound <= sum(deviations(name, rule)) <= bound


def test_with_one_good_arm_the_chains_of_ser3_do_not_count():
    found = lone_failure("ser3", n_arms=10, epsilon=0.25, eta=0.9)
    assert 0.0 < found.wrong_vote < found.bound / 1_000
    unproved = lone_failure("ser3", n_arms=100, epsilon=0.0001, eta=0.9)
    assert unproved.bound is None
    assert unproved.wrong_vote < 1e-3


def test_kl_racing_with_two_arms_has_no_chain():
    found = lone_failure("kl_racing", n_arms=2, epsilon=0.25, eta=0.9)
    assert found.standing == "proved"
    assert found.bound == found.wrong_vote < 0.9


def test_the_bound_for_ser3_is_the_sum_over_pairs_of_rounds():
    """Against the double sum written out, at a small size."""
    n_arms, epsilon, eta = 4, 0.5, 0.9

    def r(tau):
        return math.sqrt(math.log(4 * n_arms * tau**2 / eta) / (2 * tau))

    begin = max(math.ceil(math.log(n_arms / eta)), 1)
    last = next(tau for tau in range(begin, 10**6) if 2 * r(tau) <= epsilon)
    rounds = [tau for tau in range(begin, last + 1) if 2 * r(tau) - epsilon <= 1]
    direct = sum(3 * math.exp(-4 * tau * r(tau) ** 2) for tau in rounds)
    chains = sum(2 * math.exp(-4 * tau * r(tau) ** 2) for tau in rounds for _ in range(tau, last))
    found = lone_failure("ser3", n_arms=n_arms, epsilon=epsilon, eta=eta).bound
    assert direct + chains <= found <= 2.5 * (direct + chains)


CHAIN = (0.55, 0.5137, 0.4774, 0.4411, 0.4048)
REWARDS = {
    "ser3": {
        200: (0.370, 0.693, 0.657, 0.621, 0.584),
        400: (0.0, 0.068, 0.564, 0.528, 0.492),
        800: (0.0, 0.0, 0.147, 0.505, 0.468),
        1600: (0.0, 0.0, 0.0, 0.198, 0.452),
    },
    "kl_racing": {
        200: (0.397, 0.667, 0.630, 0.594, 0.558),
        360: (0.0, 0.057, 0.551, 0.515, 0.478),
        648: (0.0, 0.0, 0.127, 0.497, 0.461),
        1166: (0.0, 0.0, 0.0, 0.172, 0.448),
    },
}
"""What each arm pays until which of its pulls."""


@pytest.mark.parametrize("name", REWARDS)
def test_a_chain_of_drops_ends_2_9_epsilon_below_the_best_while_every_interval_holds(name):
    """That the intervals hold proves neither epsilon nor 2 epsilon.

    Each arm goes for the next, .726 epsilon worse, when its own mean is at the lower end of what
    its interval allows and the next one's at the upper end.
    """
    algorithm, n_arms, epsilon = get_algorithm(name), 5, 0.05
    rule = algorithm.rule(n_arms=n_arms, epsilon=epsilon, eta=0.9)
    state, out = algorithm.new_state(n_arms), [0] * n_arms
    pulls, sums, went = [0] * n_arms, [0.0] * n_arms, []
    while sum(state.alive) > 1:
        arm = algorithm.choose(rule, state, 0.0)
        reward = next(rewards[arm] for last, rewards in REWARDS[name].items() if pulls[arm] < last)
        pulls[arm] += 1
        sums[arm] += reward
        assert holds(name, rule, sums[arm] / pulls[arm], pulls[arm], CHAIN[arm])
        went += out[: algorithm.observe(rule, state, arm, reward, out)]
    assert went == [0, 1, 2, 3]
    assert CHAIN[0] - CHAIN[4] > 2.9 * epsilon


def holds(name, rule, found, pulls, mean):
    """Whether the interval after so many pulls contains the mean."""
    if name == "ser3":
        return abs(found - mean) < ser3_kernel.radius(rule, pulls, rule.n_arms)
    level = kl_racing.exploration(rule, pulls) / pulls
    return lower(found, level) < mean < upper(found, level)
