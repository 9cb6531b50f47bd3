import numpy as np
import pytest

from devote.plan.forecast import run_within
from devote.plan.plan import make_plan, web_shop
from devote.plan.promises import measured_answer
from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.simulator import Scenario, simulate

SPEC = ExperimentSpec(arms=3)
TOY = Problem("toy", [0.9, 0.1, 0.1])


def test_a_plan_runs_the_trials_that_simulate_runs_and_says_how_they_spread():
    plan = make_plan(SPEC, TOY, 40, trials=5, seed=5)
    result = simulate(SPEC, TOY, 40, trials=5, seed=5, trace=True)
    until_all = result.samples_until_all_know
    assert plan.result.samples_until_all_know.tolist() == until_all.tolist()
    last = [max(e.time for e in trace if e.kind == "elimination") for trace in result.traces]
    assert plan.decided == [time + 1 for time in last]
    found = plan.simulated()
    spread = found["to_decision"]
    assert spread["mean"] == pytest.approx(np.mean(plan.decided))
    assert spread["low"] < spread["mean"] < spread["high"]
    assert (spread["median"], spread["p95"]) == (sorted(plan.decided)[2], max(plan.decided))
    assert found["per_device"]["median"] < until_all.mean() / 40 < found["per_device"]["busiest"]


def test_where_every_arm_will_do_only_the_best_counts_as_right():
    spec = ExperimentSpec(arms=3, epsilon=0.4)
    scenario = Scenario(spec, Problem("near", [0.7, 0.3, 0.3]), 60)
    words = measured_answer(scenario, run_within(scenario, 4, seed=0, pulls=1e6)).words
    assert words.startswith("4 of 4 simulated runs ended with the best arm")


@pytest.mark.parametrize("n_arms", [2, 3, 4, 50])
def test_without_means_a_web_shop_is_assumed_whose_best_option_is_one(n_arms):
    shop = web_shop(n_arms)
    assert shop.n_arms == n_arms
    assert sorted(shop.means, reverse=True) == list(shop.means)
    assert shop.means[0] > shop.means[1] >= shop.means[-1] > 0.0
    assert "assumed" in shop.summary


def test_a_plan_warns_where_every_option_passes_and_where_devices_answer_often():
    loose = make_plan(ExperimentSpec(arms=3, epsilon=0.8), TOY, 40, trials=1)
    [warning] = loose.warnings
    assert "Every option passes" in warning
    assert "below 0.8" in warning
    often = SPEC.with_(scheme={"name": "survey", "answers": 20, "privacy": "none"})
    [warning] = make_plan(often, TOY, 200, trials=1).warnings
    assert "only if options pay all users alike" in warning
    once = SPEC.with_(scheme={"name": "survey", "privacy": "none"})
    assert make_plan(once, TOY, 400, trials=1).warnings == ()


@pytest.mark.parametrize(
    "problem",
    [
        Problem("drift", [0.9, 0.1, 0.1], drift=[0, -1e-5, -1e-5]),
        Problem("groups", groups=[(0.5, [0.9, 0.1, 0.1]), (0.5, [0.8, 0.2, 0.1])]),
    ],
)
def test_theorem_2_is_left_out_where_it_does_not_apply(problem):
    plan = make_plan(SPEC, problem, 40, trials=1)
    assert plan.bound is None
    assert "Assumption" in plan.why_no_bound
