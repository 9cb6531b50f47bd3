"""The compiled functions give the bits of the plain ones."""

import numpy as np
import pytest
from tests.rules.compiled import compiled as compile_loop

from devote.problems import PROBLEMS, Problem, Split, Zipf, mean_reward, pay, pick

pytest.importorskip("numba")

ROW = [0.0, 1e-9, 0.1, 0.35, 0.7, 0.999, 1.0]
OTHER = ROW[::-1]
TABLE = np.random.default_rng(3).random((5, 7)).tolist()
CASES = [
    *(Problem(family, ROW, rewards=family) for family in ("bernoulli", "beta", "uniform")),
    Problem("drift", ROW, rewards="beta", drift=[1e-3, -1e-3, 0.1, -0.1, 1e-4, 1e-5, 0]),
    Problem("switches", ROW, rewards="uniform", switches=[(40, OTHER), (90, ROW)]),
    Problem("groups", groups=[(0.5, ROW), (0.5, OTHER)], rewards="beta"),
    Problem("replay", replay=TABLE),
    Problem("samples", samples=TABLE + TABLE[:2]),
    PROBLEMS["3"],
    PROBLEMS["5"],
]


def as_arrays(env):
    """The simulator's form of an environment: lists of numbers become arrays."""
    return env._replace(**{k: np.array(v) for k, v in env._asdict().items() if type(v) is list})


@pytest.fixture(scope="module")
def compiled():
    @compile_loop
    def draw(env, times, players, arms, u, rewards, means):
        for i in range(len(u)):
            rewards[i] = pay(env, times[i], players[i], arms[i], u[i])
            means[i] = mean_reward(env, times[i], players[i], arms[i])

    @compile_loop
    def wake(threshold, alias, u, players):
        for i in range(len(u)):
            players[i] = pick(threshold, alias, u[i])

    return draw, wake


@pytest.mark.parametrize("problem", CASES, ids=lambda p: p.name)
def test_compiled_rewards_are_equal_to_the_last_bit(compiled, problem):
    rng = np.random.default_rng(1)
    n = 3000
    times, players = rng.integers(0, 130, n), rng.integers(0, 8, n)
    arms, u = rng.integers(0, problem.n_arms, n), rng.random(n)
    u[:2] = 0.0, np.nextafter(1.0, 0.0)
    env = problem.environment(8)
    pulls = list(zip(times.tolist(), players.tolist(), arms.tolist(), u.tolist(), strict=True))
    rewards, means = np.empty((2, n))
    compiled[0](as_arrays(env), times, players, arms, u, rewards, means)
    assert rewards.tolist() == [pay(env, *pull) for pull in pulls]
    assert means.tolist() == [mean_reward(env, t, player, arm) for t, player, arm, _ in pulls]


@pytest.mark.parametrize("spec", [PROBLEMS["1"].activity, Split(), Zipf(1.1)])
def test_compiled_waking_is_equal(compiled, spec):
    threshold, alias = PROBLEMS["1"].with_activity(spec).waking(49)
    u = np.random.default_rng(2).random(3000)
    woken = np.empty(len(u), np.int64)
    compiled[1](np.array(threshold), np.array(alias), u, woken)
    assert woken.tolist() == [pick(threshold, alias, x) for x in u.tolist()]


def test_one_compilation_serves_every_problem(compiled):
    draw = compiled[0]
    zeros, u = np.zeros(1, np.int64), np.zeros(1)
    for problem in CASES:
        draw(as_arrays(problem.environment(8)), zeros, zeros, zeros, u, u.copy(), u.copy())
    assert len(draw.signatures) == 1
