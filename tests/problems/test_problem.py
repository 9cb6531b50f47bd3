"""A problem: values, optimal arms, JSON, and what is refused."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devote.problems import PROBLEMS, Problem, ProblemError, Split, Uniform, Weights, Zipf

unit = st.floats(0, 1)


@st.composite
def problems(draw):
    n_arms = draw(st.integers(2, 5))
    row = st.lists(unit, min_size=n_arms, max_size=n_arms)
    common = {
        "activity": draw(
            st.sampled_from([Uniform(), Split(0.3, 0.7), Zipf(1.1), Weights((1, 1 / 3))])
        ),
        "summary": draw(st.text(max_size=5)),
    }
    family = draw(st.sampled_from(["bernoulli", "beta", "uniform"]))
    shape = draw(st.sampled_from(["plain", "drift", "switches", "groups", "shares", "replay"]))
    if shape == "replay":
        return Problem("p", replay=draw(st.lists(row, min_size=1, max_size=4)), **common)
    if shape == "groups":
        pairs = [(1 / 3, draw(row)), (2 / 3, draw(row))]
        return Problem("p", groups=pairs, rewards=family, **common)
    if shape == "shares":
        rows = [draw(row), draw(row)]
        return Problem("p", groups=rows, shares=(1 / 3, 2 / 3), rewards=family, **common)
    if shape == "switches":
        pairs = [(time, draw(row)) for time in draw(st.sets(st.integers(1, 99)).map(sorted))]
        return Problem("p", draw(row), switches=pairs, rewards=family, **common)
    drift = draw(st.lists(st.floats(-1, 1), min_size=n_arms, max_size=n_arms))
    drifting = {"drift": drift} if shape == "drift" else {}
    return Problem("p", draw(row), rewards=family, **drifting, **common)


@settings(deadline=None)
@given(problems())
def test_a_problem_survives_json_exactly(problem):
    document = json.loads(json.dumps(problem.to_dict(), allow_nan=False))
    assert document == problem.to_dict()
    assert Problem.from_dict(document) == problem
    assert hash(Problem.from_dict(document)) == hash(problem)


@settings(deadline=None)
@given(problems(), st.integers(0, 200))
def test_some_arm_is_always_optimal_and_values_are_means(problem, t):
    n_players = 2
    values = problem.values(n_players, t)
    assert len(values) == problem.n_arms
    assert all(0.0 <= value <= 1.0 + 1e-12 for value in values)
    best = values.index(max(values))
    assert best in problem.optimal(n_players, t, 0.0)
    assert problem.optimal(n_players, t, 1.0) == frozenset(range(problem.n_arms))


def test_erratum_12_either_of_the_two_best_arms_counts():
    problem = PROBLEMS["1"]
    assert problem.optimal(32, 0, 0.25) == {0, 1}
    assert problem.optimal(32, 0, 0.1) == {0}


def test_definition_1_includes_the_arm_exactly_epsilon_below():
    for best, epsilon in ((0.8, 0.25), (0.7, 0.1), (0.3, 0.2)):
        other = float(f"{best - epsilon:.2f}")
        assert Problem("p", [best, other]).optimal(1, 0, epsilon) == {0, 1}


def test_values_weigh_groups_by_their_activity():
    problem = Problem("p", groups=[(0.5, [1, 0]), (0.5, [0, 1])], activity=Split(0.5, 0.8))
    assert problem.values(10, 0) == pytest.approx([0.8, 0.2])
    assert problem.with_activity("uniform").values(10, 0) == pytest.approx([0.5, 0.5])
    assert problem.means == (0.5, 0.5)
    crossed = problem.with_activity(Weights((1, 2, 3, 4)))
    assert crossed.values(4, 0) == pytest.approx([0.3, 0.7])


def test_a_document_may_leave_out_what_has_a_default():
    assert Problem.from_dict({"name": "p", "means": [0.5, 1], "drift": None}) == Problem(
        "p", (0.5, 1.0)
    )


def test_derived_means_may_be_repeated_but_not_contradicted():
    problem = Problem("p", replay=[[0.1, 0.2], [0.4, 0.9]])
    assert Problem("p", problem.means, replay=problem.replay) == problem
    with pytest.raises(ProblemError, match="not the averages"):
        Problem("p", (0.5, 0.5), replay=problem.replay)


TWO = [0.5, 0.6]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Problem("p", [0.5]), r"1 arm\(s\): there is nothing.*\nGive at least 2 arms"),
        (lambda: Problem("p"), r"0 arm\(s\)"),
        (lambda: Problem("", TWO), r"name='' is not a name.\nGive"),
        (lambda: Problem("p", [0.5, 1.5]), r"means\[1\]=1.5 must be in \[0, 1\].*\nRescale"),
        (lambda: Problem("p", [0.5, -0.1]), r"means\[1\]=-0.1 must be in"),
        (lambda: Problem("p", [0.5, math.nan]), r"means\[1\]=nan must be finite"),
        (lambda: Problem("p", ["a", 0.5]), r"means\[0\]='a' must be a number"),
        (lambda: Problem("p", 0.5), r"means=0.5 must be a row of numbers"),
        (lambda: Problem("p", TWO, rewards="normal"), r"'normal' is not known.\nUse bernoulli or"),
        (lambda: Problem("p", TWO, activity="split"), r"activity='split' is not.*parse_activity"),
        (lambda: Problem("p", TWO, drift=[1]), r"drift has 1 slopes for 2 arms.\nGive one slope"),
        (lambda: Problem("p", TWO, drift=[0, math.inf]), r"drift\[1\]=inf must be finite"),
        (
            lambda: Problem("p", TWO, switches=[(0, TWO)]),
            r"switches\[0\] time=0 must be a whole number, 1 or",
        ),
        (
            lambda: Problem("p", TWO, switches=[(9, TWO), (9, TWO)]),
            r"switches\[1\] time=9 must be a whole number, 10 or more.\nGive switches in",
        ),
        (lambda: Problem("p", TWO, switches=[(1.5, TWO)]), r"time=1.5 must be a whole number"),
        (lambda: Problem("p", TWO, switches=[(-1, TWO)]), r"time=-1 must be a whole number"),
        (lambda: Problem("p", TWO, switches=[9]), r"switches\[0\]=9 is not a pair.\nGive \(time"),
        (lambda: Problem("p", TWO, switches=[(9, [0.5])]), r"switches\[0\] has 1 values for 2 arm"),
        (lambda: Problem("p", groups=[(0.5, TWO)]), r"add up to 0.5; they must be positive"),
        (lambda: Problem("p", groups=[(2, TWO), (-1, TWO)]), r"they must be positive"),
        (
            lambda: Problem("p", groups=[(0.5, TWO), (0.5, [0.5])]),
            r"groups\[1\] has 1 values for 2 arms.\nGive one value per arm",
        ),
        (
            lambda: Problem("p", groups=[(1.0, TWO)], switches=[(9, TWO)]),
            r"groups and switches together are ambiguous.*\nUse groups or switches",
        ),
        (
            lambda: Problem("p", TWO, groups=[(0.5, [1, 0]), (0.5, [0, 1])]),
            r"not the averages of the groups.*\nLeave means out",
        ),
        (lambda: Problem("p", groups=[TWO, TWO], shares=[1]), r"1 shares for 2 groups.\nGive"),
        (lambda: Problem("p", TWO, shares=[1]), r"1 shares for 0 groups"),
        (lambda: Problem("p", groups=[TWO, TWO], shares=[1, 0]), r"must be positive"),
        (lambda: Problem("p", groups=[TWO, TWO]), r"groups\[0\].*\nGive|must be"),
        (
            lambda: Problem("p", groups=[(0.5, TWO), (0.5, TWO)]).environment(1),
            r"n_players=1 cut by.*without players",
        ),
        (lambda: Problem("p", replay=[]), r"replay has no row, or an empty one.\nGive"),
        (lambda: Problem("p", replay=[TWO, [1]]), r"row 1 of replay has 1 rewards"),
        (lambda: Problem("p", replay=[TWO], rewards="beta"), r"replay pays.*\nGive replay alone"),
        (lambda: Problem("p", replay=[TWO], drift=[0, 0]), r"replay pays recorded rewards"),
        (lambda: Problem("p", TWO).environment(0), r"n_players=0"),
        (lambda: Problem("p", TWO).values(2, -1), r"t=-1 must be a whole number, 0 or more"),
        (lambda: Problem("p", TWO).optimal(2, 0, 2), r"epsilon=2 must be in \[0, 1\]"),
        (lambda: Problem.from_dict({"means": TWO}), r"document has no name.\nUse a name"),
        (lambda: Problem.from_dict({"name": "p", "arms": 2}), r"unknown keys \['arms'\]"),
        (lambda: Problem.from_dict({"name": "p", "activity": "x"}), r"activity 'x' is not known"),
    ],
)
def test_an_error_gives_the_value_the_rule_and_the_remedy(make, message):
    with pytest.raises(ProblemError, match=f"(?s){message}"):
        make()


def test_a_recorded_reward_never_appears_in_an_error():
    for wrong in (7.125, -7.125, "7.125"):
        with pytest.raises(ProblemError, match="row 1 of replay holds") as error:
            Problem("p", replay=[[0.5, 0.5], [0.5, wrong]])
        assert "7.125" not in str(error.value)
