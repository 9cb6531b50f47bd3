"""What is asked once for a window, where rewards change with the number of pulls."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from devote.problems import Problem, is_suboptimal
from devote.simulate.engine.gpu.in_order import ASK, dealt_to, judge_arms, next_dealt

EPSILONS = st.sampled_from((0.0, 0.05, 0.25))
MEANS = st.lists(st.sampled_from((0.0, 0.2, 0.5, 0.7, 0.75, 1.0)), min_size=2, max_size=4)


@given(
    MEANS, st.integers(0, 200), st.integers(1, 60), st.sampled_from((0.0, 0.05, 0.25)), st.data()
)
def test_an_arm_is_judged_for_a_window_as_at_each_of_its_pulls(
    means, begin, n_pulls, epsilon, data
):
    slopes = data.draw(st.lists(st.sampled_from((0.0, 1e-3, -1e-3)), min_size=4, max_size=4))
    switch = data.draw(st.sampled_from((50, 150)))
    changes = data.draw(st.booleans())
    env = Problem(
        "changing",
        tuple(means),
        drift=tuple(slopes[: len(means)]),
        switches=((switch, tuple(means[::-1])),) if changes else (),
    ).environment(2)
    is_bad = np.zeros(len(means), dtype=np.int8)
    judge_arms(env, epsilon, 1, begin, begin + n_pulls, is_bad)
    for arm, judged in enumerate(is_bad):
        at_pulls = {is_suboptimal(env, epsilon, t, 1, arm) for t in range(begin, begin + n_pulls)}
        assert judged == ASK or at_pulls == {judged}


def test_arms_far_apart_are_judged_once():
    env = Problem("far", (0.9, 0.5, 0.1), drift=(0.0, -1e-5, 0.0)).environment(2)
    is_bad = np.full(3, ASK, dtype=np.int8)
    judge_arms(env, 0.25, 0, 1000, 1100, is_bad)
    assert is_bad.tolist() == [0, 1, 1]


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=8, unique=True).map(sorted),
    st.integers(0, 5),
    st.sampled_from((0.0, 0.5)),
    st.data(),
)
def test_a_stretch_has_the_dealt_pulls_up_to_a_moment(dealt, begin, half, data):
    """Pull t is at t + 1/2; a window ends between two pulls, or at that of a speaker."""
    place = data.draw(st.integers(0, len(dealt)))
    limit = data.draw(st.integers(0, 40)) + half
    left = [begin + pull + 0.5 for pull in dealt[place:]]
    n_pulls = sum(moment < limit for moment in left)
    assert dealt_to(dealt, place, len(dealt), begin, limit) == (n_pulls, place + n_pulls, 0, limit)
    assert next_dealt(dealt, place, len(dealt), begin, limit - 0.5) == place + n_pulls
