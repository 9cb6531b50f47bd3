import pytest

from devote.experiments.planning.figure import draw_plan
from devote.experiments.planning.sweep import PlanSweep, sweep_plan
from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.simulate import ResultError, simulate
from devote.simulate.cell import Cell
from devote.simulate.plan import default_problem, make_plan
from devote.simulate.promises import failure_bounds, measured_answer, promises
from devote.simulate.quick import look_quickly
from devote.simulate.setting import Setting

SPEC = ExperimentSpec(arms=3)
TOY = Problem("toy", [0.9, 0.1, 0.1])


def test_a_quick_look_runs_the_trials_that_simulate_runs():
    look = look_quickly(Setting.of(SPEC, TOY, 40), trials=3, seed=5)
    result = simulate(SPEC, TOY, 40, trials=3, seed=5, trace=True)
    assert [run.samples for run in look.runs] == result.samples.tolist()
    last = [max(e.time for e in trace if e.kind == "elimination") for trace in result.traces]
    assert list(look.decided) == [time + 1 for time in last]


def test_the_pulls_of_all_devices_add_up():
    look = look_quickly(Setting.of(SPEC, TOY, 1, "isolated"), trials=1)
    assert look.median == look.p90 == look.busiest == look.runs[0].samples


def test_devices_that_pool_are_not_told_apart():
    look = look_quickly(Setting.of(SPEC, TOY, 40, "pooled"), trials=1)
    assert look.busiest is None


def test_erratum_7_the_claim_holds_only_where_all_must_be_wrong_together():
    spec = SPEC.with_(algorithm="worst_case")
    tight, loose = (failure_bounds(Setting.of(spec, TOY, n)) for n in (28, 32))
    assert tight.proved == pytest.approx(tight.claimed)
    assert loose.proved == pytest.approx(0.789, abs=1e-3)


def test_errata_19_and_22_the_vote_has_a_bound_where_one_arm_alone_is_good():
    one, two = (Problem("toy", means) for means in ([0.9, 0.1, 0.1], [0.9, 0.9, 0.1]))
    assert failure_bounds(Setting.of(SPEC, one, 64)).proved < 1e-40
    assert failure_bounds(Setting.of(SPEC, two, 64)).proved is None


@pytest.mark.parametrize("absent", [0, 1])
def test_a_jurys_bound_is_proved_and_meets_delta(absent):
    bounds = failure_bounds(Setting.of(SPEC.with_(absent=absent), TOY, 200, "jury"))
    assert bounds.proved == bounds.claimed <= SPEC.delta


@pytest.mark.parametrize("protocol", ["decentralized", "jury", "isolated", "pooled"])
@pytest.mark.parametrize("n_players", [30, 64])
def test_every_promise_has_words_under_every_protocol(protocol, n_players):
    setting = Setting.of(SPEC, TOY, n_players, protocol)
    for promise in promises(setting):
        assert promise.standing in {"proved", "measured", "claimed", "refuted"}
        assert promise.words.endswith((".", ")."))


def test_where_every_arm_will_do_only_the_best_counts_as_right():
    spec = ExperimentSpec(arms=3, epsilon=0.4)
    setting = Setting.of(spec, Problem("near", [0.7, 0.3, 0.3]), 60)
    words = measured_answer(setting, look_quickly(setting, trials=4).runs).words
    assert words.startswith("4 of 4 simulated runs ended with the best arm")


def test_no_other_problem_takes_as_many_samples_as_the_one_a_plan_assumes():
    """Ten runs each. The next, three of four arms tied, takes 218 thousand samples against 259,
    more than 13 standard errors away: false alarm below 1e-9. A default of one arm epsilon above
    the others, at 58 thousand, is caught as surely.
    """
    spec = ExperimentSpec(arms=4)
    level, epsilon = 0.5, spec.epsilon
    others = [
        [level + epsilon / 2, *[level - epsilon / 2] * 3],
        [level + epsilon / 4, *[level - epsilon / 4] * 3],
        [*[level] * 3, level - 0.9 * epsilon],
        [*[level + epsilon / 2] * 2, *[level - 0.51 * epsilon] * 2],
        [level + epsilon * (1 / 2 - k / 3) for k in range(4)],
    ]
    problems = [default_problem(4), *(Problem("other", means) for means in others)]
    assumed, *rest = (
        simulate(spec, problem, 256, trials=10, seed=3).samples.mean() for problem in problems
    )
    assert max(rest) < assumed


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


def test_a_sweep_leaves_out_what_cannot_work():
    base = Cell(SPEC, TOY, 40)
    swept = sweep_plan(base, "eta", trials=1, workers=1)
    assert 0.9 in swept.values
    assert 0.95 not in swept.values  # 58 votes of 40 players


def test_a_picture_is_drawn_from_a_saved_sweep(tmp_path, monkeypatch):
    base = Cell(SPEC, Problem("tied", [0.7, 0.7, 0.1]), 32)
    file = sweep_plan(base, "players", trials=2, workers=1).save(tmp_path / "sweep.json")
    monkeypatch.setattr("devote.experiments.planning.sweep.run_sweep", None)
    picture = draw_plan(PlanSweep.load(file), tmp_path / "sweep.png")
    assert picture.read_bytes().startswith(b"\x89PNG")
    vector = draw_plan(PlanSweep.load(file), tmp_path / "sweep.svg")
    assert "some runs without one answer" in vector.read_text(encoding="utf-8")


def test_a_truncated_sweep_is_refused(tmp_path):
    file = sweep_plan(Cell(SPEC, TOY, 28), "players", trials=1, workers=1).save(tmp_path / "s.json")
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(ResultError, match=r"s\.json is not a whole sweep"):
        PlanSweep.load(file)
