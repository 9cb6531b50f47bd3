"""The compiled survey with segments and ``Respondent`` objects make the same run."""

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from tests.schemes.test_survey_engine import both

from devote import simulate
from devote.problems import PROBLEMS, Problem, Uniform, Zipf
from devote.protocol import ExperimentSpec, SpecError
from devote.schemes import Survey
from devote.simulator import Scenario

ROW = st.lists(st.sampled_from([0.0, 0.1, 0.7, 1.0]), min_size=3, max_size=3)


def spec_of(n_segments, privacy=None, **more):
    names = tuple(f"kind {z}" for z in range(n_segments))
    scheme = Survey(privacy=privacy, segments=names, liars=more.pop("liars", 0))
    return ExperimentSpec(**{"arms": 3, "epsilon": 0.5, "delta": 0.4, "scheme": scheme, **more})


@given(
    means=st.lists(ROW, min_size=2, max_size=4),
    family=st.sampled_from(["bernoulli", "beta"]),
    privacy=st.sampled_from([None, 4.0]),
    liars=st.integers(0, 1),
    extra=st.integers(0, 300),
    activity=st.sampled_from([Uniform(), Zipf(1.0)]),
    seed=st.integers(0, 2**64),
)
def test_engine_equals_players_in_any_small_survey_with_segments(
    means, family, privacy, liars, extra, activity, seed
):
    n = len(means)
    spec = spec_of(n, privacy, liars=liars)
    problem = Problem("w", groups=means, shares=[1 / n] * n, activity=activity, rewards=family)
    n_players = spec.scheme.fewest_players(spec) + extra
    run = both(Scenario(spec, problem, n_players, horizon=1_500), seed=seed, trial=0)
    event(run.status)


OPPOSITE = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


@pytest.mark.parametrize("n_players", [400, 120])
@pytest.mark.parametrize("privacy", [None, 4.0])
def test_engine_equals_players_to_the_end(privacy, n_players):
    """With 400 players both segments are decided; 120 are too few for the smaller one."""
    problem = Problem("w", groups=OPPOSITE, shares=[0.9, 0.1])
    run = both(Scenario(spec_of(2, privacy), problem, n_players, horizon=20_000), seed=3, trial=1)
    if n_players == 400:
        assert (run.status, run.epsilon_optimal) == ("agreed", True)
        assert run.player_answers == tuple(problem.environment(400).groups)
        assert run.samples <= run.samples_until_all_know


def test_each_segment_is_scored():
    """Delta .01 and gaps of 1: both segments are right in all five runs."""
    problem = Problem("w", groups=OPPOSITE, shares=[0.75, 0.25], activity=Zipf(1.0))
    result = simulate(spec_of(2, delta=0.01), problem, 400, trials=5, seed=1, record=True)
    assert result.status_counts()["agreed"] == 5
    assert result.epsilon_optimal.all()
    for row in result.rows("groups"):
        assert row["answer"] == str(row["group"])
        assert (row["segment"], row["players"]) == (
            f"kind {row['group']}",
            (300, 100)[row["group"]],
        )
        assert row["good"] == 1.0
    at, left = result.curve("arms_left", group=1)
    assert (left[:, 0] == 3).all()
    assert (left[:, -1] == 1).all()
    at, plays = result.curve("suboptimal_plays", group=0)
    both_groups = plays + result.curve("suboptimal_plays", group=1)[1]
    assert (both_groups == result.curve("suboptimal_plays")[1]).all()
    assert (at == result.curve("suboptimal_plays")[0]).all()


def test_a_segment_that_is_not_decided_has_no_answer():
    problem = Problem("w", groups=OPPOSITE, shares=[0.95, 0.05])
    result = simulate(spec_of(2), problem, 120, trials=4, seed=1)
    assert result.status_counts()["unfinished"] == 4
    assert not result.epsilon_optimal.any()
    assert {(row["answer"], row["good"]) for row in result.rows("groups")} == {
        ("0", 1.0),
        (None, 0.0),
    }


def test_a_problem_must_have_a_group_for_each_segment():
    for problem in (PROBLEMS["5"], Problem("w", [0.9, 0.1, 0.1])):
        spec = spec_of(3, arms=problem.n_arms)
        with pytest.raises(SpecError, match="The specification has 3 segments, the problem"):
            Scenario(spec, problem, 500)
