"""Each kernel plays the arms and eliminates the arms of the subroutine written the obvious way."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.subroutines import SUBROUTINES
from tests.rules.instances import instances, play

from devote.rules import get_algorithm

QUICK = 2 * settings().max_examples


def read(learner, mask):
    """What a player does with the shared set when it wakes; whether that was a conflict."""
    shared = {k for k, kept in enumerate(mask) if kept}
    conflict = not learner.remaining & shared
    if conflict:
        learner.restart()
    for k in learner.remaining - shared:
        learner.drop(k)
    return conflict


def rounding_decides(learner, arm, other):
    """Kullback-Leibler bounds this close are ordered by how their equation was solved."""
    return abs(learner.upper(arm) - learner.upper(other)) < 1e-12


def compare(name, instance):
    """Step by step; how many steps were compared."""
    algorithm = get_algorithm(name)
    learner = SUBROUTINES[name](instance.n_arms, instance.epsilon, instance.eta, **instance.options)
    state = algorithm.new_state(instance.n_arms)
    steps = play(algorithm, instance, state, [0] * instance.n_arms)
    for t, (conflict, arm, eliminated) in enumerate(steps):
        assert conflict == read(learner, instance.shared[t])
        expected = learner.choose(instance.uniforms[t])
        if arm != expected and name == "kl_lucb" and rounding_decides(learner, arm, expected):
            return t
        assert arm == expected
        assert eliminated == learner.observe(arm, instance.rewards[t][arm])
        assert {k for k, alive in enumerate(state.alive) if alive} == learner.remaining
    return len(instance.uniforms)


@pytest.mark.parametrize("name", [name for name in SUBROUTINES if name != "kl_lucb"])
@settings(max_examples=QUICK)
@given(data=st.data())
def test_a_kernel_plays_and_eliminates_as_its_reference_does(name, data):
    instance = data.draw(instances(get_algorithm(name)))
    assert compare(name, instance) == len(instance.uniforms)


@given(instances(get_algorithm("kl_lucb")))
def test_kl_lucb_plays_and_eliminates_as_its_reference_does_but_for_ties_of_rounding(instance):
    compare("kl_lucb", instance)
