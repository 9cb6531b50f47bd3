"""Which subroutines keep an epsilon-optimal arm: the bounds, and the proof that does not do."""

import math

import pytest

from devote.rules import (
    get_algorithm,
    kl_racing,
    lucb,
    median_elimination,
    naive,
    successive_elimination,
    ugapec,
)
from devote.rules import ser3 as ser3_kernel
from devote.rules.bernoulli_kl import lower, upper
from devote.rules.registry import ALGORITHMS
from devote.theory import lone_failure

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


def test_median_elimination_is_proved_to_eta_squared_over_9():
    found = lone_failure("median_elimination", n_arms=10, epsilon=0.25, eta=0.9)
    assert found.bound == pytest.approx(0.09)


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


def test_ser3_can_be_wrong_although_every_confidence_interval_holds():
    """Why SER3 needs a lemma of its own: a chain of two drops loses more than epsilon.

    At every round every empirical mean lies within the radius of its mean, and yet the arm left
    is not epsilon-optimal: arm 0 goes for arm 1, which is within epsilon, and arm 1 for arm 2.
    """
    ser3 = get_algorithm("ser3")
    means, epsilon, eta = (0.75, 0.5, 0.2), 0.5, 0.9
    rule = ser3.rule(n_arms=3, epsilon=epsilon, eta=eta)
    state = ser3.new_state(3)
    turn = 60
    early, late = (0.47, 0.575, 0.482), (0.47, 0.2, 0.385)
    out, pulls, sums = [0] * 3, [0] * 3, [0.0] * 3
    went = []
    while sum(state.alive) > 1:
        arm = ser3.choose(rule, state, 0.0)
        reward = early[arm] if pulls[arm] < turn else late[arm]
        pulls[arm] += 1
        sums[arm] += reward
        tau = pulls[arm]
        radius = math.sqrt(math.log(4 * 3 * tau**2 / eta) / (2 * tau))
        assert abs(sums[arm] / tau - means[arm]) < radius
        went += out[: ser3.observe(rule, state, arm, reward, out)]
    assert went == [0, 1]
    assert max(means) - means[2] > epsilon


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
