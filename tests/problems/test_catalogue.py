"""The catalogue: the numbers of section 5.1, and what the added problems promise."""

import math

import pytest

from devote.problems import PROBLEMS, Problem, ProblemError, get_problem


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_has_its_name_one_line_and_a_source(name):
    problem = get_problem(name)
    assert problem.name == name
    assert problem.summary
    assert "\n" not in problem.summary
    assert problem.source
    assert Problem.from_dict(problem.to_dict()) == problem
    assert len(problem.environment(32).groups) == len(problem.waking(32)[0]) == 32


def test_problem_4_the_one_right_arm_switches_twice():
    problem = get_problem("4")
    right = [problem.optimal(64, t, 0.25) for t in (0, 59_999, 60_000, 119_999, 120_000)]
    assert right == [{0}, {0}, {4}, {4}, {8}]
    for t in (0, 60_000, 120_000):
        first, second = sorted(problem.values(64, t))[:-3:-1]
        assert first - second == pytest.approx(0.4)


def test_problem_5_the_frequent_half_holds_one_best_arm_and_the_rare_half_another():
    problem = get_problem("5")
    weights = problem.activity.weights(64)
    env = problem.environment(64)
    assert math.fsum(w for w, g in zip(weights, env.groups, strict=True) if g == 0) == (
        pytest.approx(0.8)
    )
    best = [means.index(max(means)) for _, means in problem.groups]
    assert best == [0, 5]
    assert problem.optimal(64, 0, 0.25) == {0}


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(ProblemError, match=r"'problem 2' is not .*\n.* 1, 2, 3, 4, 5"):
        get_problem("problem 2")
    with pytest.raises(ProblemError, match=r"'xyz' is not in the catalogue.\nKnown names: 1, 2"):
        get_problem("xyz")
