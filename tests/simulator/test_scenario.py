"""A run that cannot work is refused before anybody plays."""

import json

import pytest
from tests.simulator.settings import PROBLEMS

from devote.problems import PROBLEMS as CATALOGUE
from devote.problems import Problem, ProblemError, Weights
from devote.protocol import ExperimentSpec, SpecError
from devote.simulator import Scenario, run_players, simulate

SPEC = ExperimentSpec(arms=2, eta=0.5, delta=0.1)
RESETS = ExperimentSpec(arms=2, algorithm="ser4", options={"phi": 0.1}, scheme={"quorum": 2})
TOY = Problem("toy", [0.9, 0.1])


def unused():
    raise AssertionError("a uniform was drawn")
    yield


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"n_players": 0}, "n_players=0 must be a whole number, 1 or more"),
        ({"n_players": -2}, "n_players=-2 must be"),
        ({"n_players": 2}, "needs 3 votes to eliminate an arm, but there are 2 players"),
        ({"n_players": 0, "spec": SPEC.with_(scheme="isolated")}, "n_players=0 must be"),
        ({"n_players": 0, "spec": SPEC.with_(scheme="pooled")}, "n_players=0 must be"),
        ({"problem": Problem("three", [0.1, 0.2, 0.3])}, "has 2 arms, the problem 3"),
        ({"horizon": 0}, "horizon=0 must be a whole number, 1 or more.\nIt is a number of pulls"),
        ({"horizon": -5}, "horizon=-5 must be"),
        ({"horizon": 2.5}, "horizon=2.5 must be"),
        ({"horizon": True}, "horizon=True must be"),
        (
            {"spec": RESETS},
            "ser4 never stops by itself.\nGive a horizon",
        ),
        (
            {"spec": SPEC.with_(scheme={"quorum": 9})},
            "quorum=9 needs 9 votes .* there are 8 players.\nUse at least 9 players, or a lower",
        ),
    ],
)
def test_a_bad_setting_is_refused_before_any_work(change, match):
    arguments = {"spec": SPEC, "problem": TOY, "n_players": 8, "uniforms": unused()} | change
    with pytest.raises(SpecError, match=match) as caught:
        run_players(**arguments)
    assert "\n" in str(caught.value)


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        ((1, -1, 1), r"weights\[1\]=-1 must be above 0"),
        ((1, 1), "2 weights for n_players=3"),
    ],
)
def test_bad_weights_are_refused_before_any_work(weights, match):
    with pytest.raises(ProblemError, match=match) as caught:
        run_players(SPEC, TOY.with_activity(Weights(weights)), 3, uniforms=unused())
    assert "\n" in str(caught.value)


EVERY_PROBLEM = [*PROBLEMS.values(), *CATALOGUE.values()]


@pytest.mark.parametrize("problem", EVERY_PROBLEM, ids=lambda problem: problem.name)
@pytest.mark.parametrize("scheme", ["decentralized", "jury", "isolated", "pooled"])
def test_a_scenario_is_a_value_that_can_be_hashed_and_written_down(problem, scheme):
    spec = ExperimentSpec(arms=problem.n_arms, scheme=scheme)
    scenario = Scenario(spec, problem, 32, horizon=1_000)
    again = Scenario.from_dict(json.loads(json.dumps(scenario.to_dict())))
    assert again == scenario
    assert hash(again) == hash(scenario)
    assert {scenario: "found"}[again] == "found"
    assert again.scheme == spec.scheme
    assert scheme in scenario.label


def test_the_scheme_is_the_specification_s_and_nobody_else_s():
    spec = ExperimentSpec(arms=2, scheme={"name": "jury", "seats": 8, "seat_after": 2})
    assert Scenario(spec, TOY, 8).scheme is spec.scheme
    for run in (run_players, simulate):
        with pytest.raises(TypeError, match="protocol"):
            run(spec, TOY, 8, protocol="decentralized")
    run = run_players(spec, TOY, 8, trace=True)
    assert {event.kind for event in run.trace} == {"claim", "pick", "elimination"}
