"""What the planner says of segments: what they take, and which are too small."""

import math

import pytest

from devote.plan.forecast import Effort
from devote.plan.promises import case_of
from devote.plan.question import Question
from devote.plan.segments import means_of_segments, plan_segments, private_segments
from devote.problems import Problem
from devote.protocol import ExperimentSpec, SpecError, Wish
from devote.schemes import Survey
from devote.simulator import Scenario
from devote.simulator.segments import simulate_segments

FEW = Effort(runs=8, seconds=1.0, seed=3)
SHARES = {"phone": 6.0, "tablet": 0.01, "desktop": 4.0}


def question_of(**more):
    given = {"n_players": 20_000, "n_arms": 3, "epsilon": 0.2, "delta": 0.05, "privacy": 4.0}
    problem = Problem("toy", (0.8, 0.4, 0.4))
    return Question(Wish(**(given | more)), problem, visitors_per_day=2_000.0, days=10.0)


def test_large_segments_are_decided_and_a_tiny_one_is_too_small():
    """Gaps of .4: a segment of .001 has 20 of all visitors, and none of 8 runs decides it."""
    made = plan_segments(question_of(), SHARES, FEW)
    assert [one["privacy"] for one in made["private"]] == [None, 4.0, 2.0, 1.0]
    for rows in (made["private"][1]["segments"], made["public"]):
        assert [row["segment"] for row in rows] == ["phone", "tablet", "desktop", "all"]
        assert [row["ends"] for row in rows] == ["decided", "too small"] * 2
        assert math.fsum(row["share"] for row in rows[:3]) == pytest.approx(1.0)
        phone, tablet, desktop, _ = rows
        assert 0 < phone["answers"]["p95"] < desktop["answers"]["p95"] < 20_000
        assert phone["days"]["p95"] == pytest.approx(phone["answers"]["p95"] / 2_000)
        assert tablet["answers"]["p95"] is tablet["days"]["p95"] is None
    hidden, public = made["private"][1]["segments"][2], made["public"][2]
    assert hidden["answers"]["median"] > public["answers"]["median"]


def test_the_forecast_is_the_simulated_survey():
    question = question_of()
    found = private_segments(question, {"a": 1.0, "b": 1.0}, FEW)
    scheme = Survey(privacy=4.0, segments=("a", "b"))
    spec = ExperimentSpec(arms=3, epsilon=0.2, delta=0.05, scheme=scheme)
    means = means_of_segments(question.problem.means, 2)
    runs = simulate_segments(spec, means, [1.0, 1.0], runs=8, seed=3)
    assert [one.answers.tolist() for one in found[:2]] == runs.decided.T.tolist()
    assert found[2].answers.tolist() == runs.answers.tolist()


def test_what_there_is_no_time_to_see_is_not_called_too_small():
    brief = Effort(runs=4, seconds=0.0001)
    *_, everything = private_segments(question_of(), {"a": 1.0, "b": 1.0}, brief)
    assert everything.to_dict()["ends"] == "unknown"


def test_segments_that_no_survey_takes_are_refused():
    with pytest.raises(SpecError, match="from 2 to 64"):
        plan_segments(question_of(), {"all": 1.0}, FEW)


@pytest.mark.parametrize("segments", [(), ("a", "b")])
def test_nothing_is_proved_where_users_differ_and_means_drift_as_well(segments):
    """Segments, or one answer of each device, allow for the first and not for the second."""
    spec = ExperimentSpec(arms=2, epsilon=0.2, scheme=Survey(segments=segments))
    for drift, name in ((None, "proved"), ((0.0, -1e-5), "claimed")):
        problem = Problem("w", groups=[(0.9, 0.1), (0.1, 0.9)], shares=[0.5, 0.5], drift=drift)
        case = case_of(Scenario(spec, problem, 5_000))
        [bound] = spec.scheme.guarantees(case).bounds
        assert bound.name == name, bound.text
