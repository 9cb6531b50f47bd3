"""What arms pay: means, drift, switches, groups and replay."""

import math
from bisect import bisect_right

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devote.problems import Problem, Split, Uniform, Zipf, mean_reward, pay
from devote.problems.rewards import BERNOULLI, Environment, segment_at

LAST = math.nextafter(1.0, 0.0)
FAMILIES = ["bernoulli", "beta", "uniform"]
EXTREMES = [0.0, 5e-324, 1e-12, 0.1, 0.5, 0.7, 1 - 2**-53, 1.0]


def integral(env, arm, steps=20_000):
    """The mean of pay over u, by the midpoint rule."""
    return math.fsum(pay(env, 0, 0, arm, (i + 0.5) / steps) for i in range(steps)) / steps


@pytest.mark.parametrize("family", FAMILIES)
def test_the_mean_of_pay_over_u_is_the_mean_reward(family):
    means = [0.0, 0.05, 0.1, 0.3, 0.5, 0.7, 0.95, 1.0]
    env = Problem("p", means, rewards=family).environment(1)
    for arm, mean in enumerate(means):
        assert integral(env, arm) == pytest.approx(mean, abs=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
@given(mean=st.floats(0, 1) | st.sampled_from(EXTREMES), u=st.floats(0, LAST))
def test_rewards_lie_in_the_unit_interval(family, mean, u):
    env = Problem("p", [mean, 0.5], rewards=family).environment(1)
    for draw in (u, 0.0, 5e-324, LAST):
        reward = pay(env, 0, 0, 0, draw)
        assert isinstance(reward, float)
        assert 0.0 <= reward <= 1.0
        if mean in (0.0, 1.0):
            assert reward == mean


def test_beta_pays_the_quantiles_of_its_distribution():
    mean = 0.3
    env = Problem("p", [mean, 0.5], rewards="beta").environment(1)
    for u in (0.01, 0.3, 0.99):
        reward = pay(env, 0, 0, 0, u)
        assert reward ** (mean / (1 - mean)) == pytest.approx(u)  # the distribution function


def test_uniform_pays_from_the_widest_interval_around_the_mean():
    env = Problem("p", [0.7, 0.2], rewards="uniform").environment(1)
    assert pay(env, 0, 0, 0, 0.0) == pytest.approx(0.4)
    assert pay(env, 0, 0, 0, LAST) == pytest.approx(1.0)
    assert pay(env, 0, 0, 1, 0.0) == 0.0
    assert pay(env, 0, 0, 1, LAST) == pytest.approx(0.4)


def test_bernoulli_pays_one_exactly_below_the_mean():
    env = Problem("p", [0.7, 0.5]).environment(1)
    assert pay(env, 0, 0, 0, math.nextafter(0.7, 0)) == 1.0
    assert pay(env, 0, 0, 0, 0.7) == 0.0


def test_erratum_13_drifting_means_are_clipped_at_zero_and_at_one():
    env = Problem("p", [0.7, 0.1, 0.9], drift=[0, -1e-5, 1e-5]).environment(4)
    at = [[mean_reward(env, t, 0, k) for k in range(3)] for t in (0, 5_000, 10_001, 10**9)]
    assert at[0] == [0.7, 0.1, 0.9]
    assert at[1] == pytest.approx([0.7, 0.05, 0.95])
    assert at[2] == at[3] == [0.7, 0.0, 1.0]


@given(st.lists(st.integers(1, 1000), max_size=20, unique=True), st.integers(0, 1100))
def test_the_segment_at_t_is_that_of_the_last_switch_not_after_it(times, t):
    switches = [(time, [0.5, 0.5]) for time in sorted(times)]
    env = Problem("p", [0.5, 0.5], switches=switches).environment(1)
    assert segment_at(env, t) == bisect_right([0, *sorted(times)], t) - 1


def test_a_switch_takes_effect_at_its_time():
    env = Problem("p", [0.9, 0.1], switches=[(10, [0.1, 0.9]), (20, [0.5, 0.6])]).environment(2)
    means = [[mean_reward(env, t, 1, k) for k in range(2)] for t in (0, 9, 10, 19, 20, 10**6)]
    assert means == [[0.9, 0.1]] * 2 + [[0.1, 0.9]] * 2 + [[0.5, 0.6]] * 2


def test_groups_are_consecutive_blocks_of_players():
    env = Problem("p", groups=[(0.25, [0.9, 0.1]), (0.75, [0.2, 0.8])]).environment(8)
    assert env.groups == [0, 0, 1, 1, 1, 1, 1, 1]
    assert [mean_reward(env, 0, player, 0) for player in (0, 1, 2, 7)] == [0.9, 0.9, 0.2, 0.2]
    assert [mean_reward(env, 0, player, 1) for player in (0, 1, 2, 7)] == [0.1, 0.1, 0.8, 0.8]


@pytest.mark.parametrize("activity", [Uniform(), Zipf(1.1), Split(0.1, 0.9)])
def test_with_shares_groups_are_spread_over_players_however_often_they_wake(activity):
    shares, n = (0.5, 0.3, 0.2), 1_000
    rows = [(0.9, 0.1), (0.1, 0.9), (0.5, 0.5)]
    problem = Problem("p", groups=rows, shares=shares, activity=activity)
    groups = problem.environment(n).groups
    assert [groups.count(g) for g in range(3)] == [500, 300, 200]
    for most in range(n):
        for g, share in enumerate(shares):
            assert abs(groups[:most].count(g) - share * most) <= 1.0 + 1e-9
    assert problem.values(n, 0) == pytest.approx([0.58, 0.42], abs=0.05)
    assert problem.means == pytest.approx((0.58, 0.42))


def test_segments_groups_and_drift_combine_by_the_documented_index():
    means = [i / 100 for i in range(2 * 2 * 3)]
    env = Environment(
        kind=BERNOULLI,
        n_arms=3,
        n_groups=2,
        n_segments=2,
        means=means,
        slopes=[0.0, 1e-3, -1e-3],
        starts=[0, 50],
        groups=[0, 1],
        table=[0.0] * 3,
        firsts=[0] * 3,
        lengths=[1] * 3,
    )
    for t in (0, 49, 50, 51):
        for player in range(2):
            for arm in range(3):
                base = means[((t >= 50) * 2 + player) * 3 + arm]
                mean = min(1.0, max(0.0, base + env.slopes[arm] * t))
                assert mean_reward(env, t, player, arm) == mean


TABLE = [[0.0, 0.25], [0.5, 0.75], [1.0, 1.0]]


def test_replay_in_time_order_wraps_around_and_ignores_the_uniform():
    env = Problem("p", replay=TABLE).environment(2)
    for t in range(7):
        for arm in range(2):
            assert pay(env, t, 1, arm, 0.9) == pay(env, t, 0, arm, 0.1) == TABLE[t % 3][arm]


def test_the_mean_reward_of_replay_is_the_average_row():
    env = Problem("p", replay=TABLE).environment(2)
    assert [mean_reward(env, 1, 0, k) for k in range(2)] == pytest.approx([0.5, 2 / 3])


@pytest.mark.parametrize(
    "problem",
    [
        Problem("p", [1, 0]),
        Problem("p", [1, 0], drift=[0, 1], switches=[(3, [0, 1])]),
        Problem("p", groups=[(0.5, [1, 0]), (0.5, [0, 1])]),
        Problem("p", replay=[[1, 0]]),
        Problem("p", samples=[[1, 0], [1]]),
    ],
)
def test_buffers_are_never_empty_and_hold_one_type_each(problem):
    env = problem.environment(4)
    kinds = {"means": float, "slopes": float, "table": float, "starts": int, "groups": int}
    kinds |= {"firsts": int, "lengths": int}
    for name, value in env._asdict().items():
        if name in kinds:
            assert type(value) is list
            assert len(value) > 0
            assert {type(x) for x in value} == {kinds[name]}
        else:
            assert type(value) is int
