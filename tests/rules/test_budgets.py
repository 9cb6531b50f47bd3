"""The radii and budgets are the formulas they are documented as."""

from math import log, sqrt
from random import Random

import pytest

from devote.rules import (
    get_algorithm,
    kl_lucb,
    kl_racing,
    lucb,
    median_elimination,
    mixture_elimination,
    naive,
    ser3,
    successive_elimination,
    ugapec,
)
from devote.rules.state import COUNT

MEANS = [0.7, 0.5, 0.3] + [0.1] * 7
K = 10


def rule(name, eta=0.9, **options):
    return get_algorithm(name).rule(n_arms=K, epsilon=0.25, eta=eta, options=options)


def pulls_alone(name, eta):
    algorithm = get_algorithm(name)
    state, constants, rng = algorithm.new_state(K), rule(name, eta), Random(1)
    pulls = 0
    while state.ints[COUNT] > 1:
        arm = algorithm.choose(constants, state, rng.random())
        algorithm.observe(constants, state, arm, float(rng.random() < MEANS[arm]), [0] * K)
        pulls += 1
    return pulls


@pytest.mark.parametrize(
    ("name", "eta", "pulls"),
    [
        ("naive", 0.9, 1_990),
        ("naive", 0.05, 3_840),
        ("median_elimination", 0.9, 120_651),
        ("median_elimination", 0.05, 237_881),
    ],
)
def test_a_player_alone_on_ten_arms_takes_the_pulls_of_the_reference_values(name, eta, pulls):
    assert pulls_alone(name, eta) == pulls


def test_budgets_are_as_documented():
    assert naive.budget(rule("naive")) == 199
    halving = rule("median_elimination")
    # 4/.0625^2 ln(3/.45) and 4/.046875^2 ln(3/.225)
    assert [median_elimination.budget(halving, epoch) for epoch in (0, 1)] == [1_943, 4_716]


@pytest.mark.parametrize("t", [1, 2, 17, 1_000, 10**6])
def test_radii_and_levels_are_as_documented(t):
    eta = 0.9
    shown = pytest.approx
    assert successive_elimination.radius(rule("naive"), t) == shown(
        sqrt(log(4.01 * K * t**2 / eta) / t)
    )
    assert kl_racing.exploration(rule("kl_racing"), t) == shown(log(11.1 * K * t**1.1 / eta))
    a = 405.5 * K * t**1.1 / eta
    assert kl_lucb.exploration(rule("kl_lucb"), t) == shown(log(a) + log(log(a)))
    assert lucb.radius(lucb.exploration(rule("lucb"), t), 7) == shown(
        sqrt(log(1.25 * K * t**4 / eta) / (2 * 7))
    )
    assert ugapec.radius(ugapec.exploration(rule("ugapec"), t), 7) == shown(
        sqrt(0.5 * log(4 * K * t**3 / eta) / 7)
    )
    assert ser3.radius(rule("ser3"), t, 3) == shown(sqrt(log(4 * K * t**2 / eta) / (2 * t)))
    assert ser3.radius(rule("ser3", radius="active"), t, 3) == shown(sqrt(log(2 * 3 * t / eta) / t))
    for rho in (5.0, 40.0):
        b = sqrt((1 + rho / t) / t * log(sqrt(1 + t / rho) * (K - 1) / eta))
        mixture = rule("mixture_elimination", rho=rho)
        assert mixture_elimination.bound(mixture, t) == shown(t * b)
