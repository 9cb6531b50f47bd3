"""What an algorithm says of itself for the sake of speed is true, and changes no result."""

from copy import deepcopy
from random import Random

import pytest

from devote.kernels import get_algorithm
from devote.kernels.registry import ALGORITHMS
from devote.kernels.state import COUNT, NEXT, in_turn


class Unread(list):
    """A buffer that may be written, not read."""

    def __getitem__(self, place):
        raise AssertionError(f"place {place} is read")


def played(name, pulls=None, steps=400):
    """The arms played, and which next pulls were said to take much work."""
    algorithm = get_algorithm(name)
    options = {"phi": 0.01} if algorithm.endless else {}
    rule = algorithm.rule(n_arms=4, epsilon=0.1, eta=0.5, options=options)
    state = algorithm.new_state(4)
    if pulls is not None:
        state = state._replace(pulls=pulls)
    rng, arms, labour = Random(5), [], []
    for _ in range(steps):
        if algorithm.laborious is not None:
            labour.append(algorithm.laborious(state))
        arms.append(algorithm.choose(rule, state, rng.random()))
        reward = float(rng.random() < (0.9, 0.6, 0.5, 0.1)[arms[-1]])
        algorithm.observe(rule, state, arms[-1], reward, [0] * 4)
    return arms, labour


QUIET = [name for name in ALGORITHMS if not get_algorithm(name).counts_pulls]
HINTING = [name for name in ALGORITHMS if get_algorithm(name).laborious is not None]
CALM = [name for name in ALGORITHMS if get_algorithm(name).calm is not None]


@pytest.mark.parametrize("name", QUIET)
def test_pulls_are_never_read_where_an_algorithm_says_so(name):
    assert played(name, Unread([0] * 4)) == played(name)


@pytest.mark.parametrize("name", HINTING)
def test_some_pulls_take_much_work_and_others_do_not(name):
    _, labour = played(name)
    assert {True, False} == set(labour)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1e-9])
@pytest.mark.parametrize("name", CALM)
def test_calm_pulls_only_add_whatever_they_pay(name, epsilon):
    """Rewards that bring arms apart as fast as can be, and such that do not."""
    algorithm, rng, calm = get_algorithm(name), Random(7), []
    rule = algorithm.rule(n_arms=4, epsilon=epsilon, eta=0.3)
    state = algorithm.new_state(4)
    while state.ints[COUNT] > 1 and len(calm) < 1500:
        calm.append(algorithm.calm(rule, state))
        best = max(range(4), key=lambda k: state.alive[k] and state.sums[k] + 1)
        for pays in (lambda k: k == best, lambda k: rng.random() < 0.5):  # noqa: B023
            ahead = deepcopy(state)
            added = deepcopy(state)
            for _ in range(min(calm[-1], 300)):
                arm = algorithm.choose(rule, ahead, rng.random())
                reward = float(pays(arm))
                assert arm == in_turn(added)
                assert algorithm.observe(rule, ahead, arm, reward, [0] * 4) == 0
                added.pulls[arm] += 1
                added.sums[arm] += reward
                added.ints[NEXT] = arm + 1
            for one, other in zip(ahead[:3], added[:3], strict=True):
                assert one == other
            assert in_turn(ahead) == in_turn(added)
            ahead.ints[NEXT] = added.ints[NEXT]
            assert ahead.ints == added.ints
        for _ in range(rng.choice((1, 3, 7))):
            arm = algorithm.choose(rule, state, rng.random())
            reward = float(rng.random() < (0.8, 0.6, 0.6, 0.2)[arm])
            algorithm.observe(rule, state, arm, reward, [0] * 4)
    assert 0 in calm
    assert max(calm) > 20


def test_some_algorithms_give_hints():
    assert "ser3" in QUIET
    assert {"ser3", "mixture_elimination", "kl_lucb"} <= set(HINTING)
    assert set(CALM) == {"median_elimination", "successive_elimination"}
