"""What an algorithm says of itself for the sake of a GPU is true, and changes no result."""

from random import Random

import pytest

from devote.kernels import get_algorithm
from devote.kernels.registry import ALGORITHMS


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


@pytest.mark.parametrize("name", QUIET)
def test_pulls_are_never_read_where_an_algorithm_says_so(name):
    assert played(name, Unread([0] * 4)) == played(name)


@pytest.mark.parametrize("name", HINTING)
def test_some_pulls_take_much_work_and_others_do_not(name):
    _, labour = played(name)
    assert {True, False} == set(labour)


def test_some_algorithms_give_hints():
    assert "ser3" in QUIET
    assert {"ser3", "mixture_elimination", "kl_lucb"} <= set(HINTING)
