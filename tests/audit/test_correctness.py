"""The audit of correctness: what it counts, when it stops, what it refuses."""

from dataclasses import replace

import pytest

from devote.audit import (
    AuditError,
    Rate,
    Refusal,
    audit_correctness,
    audit_worst_case,
    hard_problems,
    has_failed,
    proved_failure,
)
from devote.audit.correctness import failed_terms
from devote.audit.rates import Batches, runs_needed
from devote.problems import PROBLEMS, Problem
from devote.protocol import ExperimentSpec
from devote.schemes import Decentralized, Jury, Survey, lone_spec
from devote.simulator import Event, Scenario, Trial

EASY = Scenario(ExperimentSpec(arms=2, epsilon=0.5), Problem("easy", (0.9, 0.1)), 32)
WORST = Scenario(
    ExperimentSpec(arms=2, algorithm="worst_case", eta=0.5, delta=0.1), Problem("w", (0.9, 0.1)), 8
)


def trial(status, winners, epsilon_optimal=True):
    return Trial(10, 10, 2, 2, status, winners, epsilon_optimal, epsilon_optimal, 0, 0, 0, ())


@pytest.mark.parametrize(
    ("status", "winners", "failed"),
    [
        ("agreed", (0,), False),
        ("agreed", (1,), True),
        ("stalled", (1, 0), False),
        ("unfinished", (0, 1), False),
    ],
)
def test_a_run_fails_when_no_good_arm_is_left_to_it(status, winners, failed):
    assert has_failed(EASY, trial(status, winners)) == failed


def test_it_runs_until_the_interval_is_tight_enough():
    found = audit_correctness(WORST, precision=0.04)
    assert found.failure.half_width <= 0.04
    assert found.failure.runs >= 100
    coarse = audit_correctness(WORST, precision=0.2)
    assert coarse.failure.runs < found.failure.runs


def test_the_lone_error_of_the_worst_subroutine_is_eta():
    """False alarm below 1e-6: 1,000 coins of .5 outside .42 to .58."""
    found = audit_correctness(WORST, precision=0.2)
    assert 0.42 < found.lone.value < 0.58


def test_more_workers_give_the_same_counts():
    one, two = (audit_correctness(WORST, precision=0.1, workers=n) for n in (1, 2))
    assert one.failure == two.failure
    assert one.mean_samples == two.mean_samples


def test_a_precision_that_takes_days_is_refused_with_the_time_it_takes():
    with pytest.raises(AuditError, match=r"more runs .* which take .* days") as refusal:
        audit_correctness(EASY, precision=1e-6)
    assert "--yes" in str(refusal.value)


@pytest.mark.parametrize("precision", [0.0, -1.0, 0.5, float("nan")])
def test_a_precision_that_means_nothing_is_refused(precision):
    with pytest.raises(AuditError, match="precision"):
        Batches(EASY, precision=precision).until(lambda run: False)


def test_runs_needed_grow_as_the_square():
    rate = Rate(50, 100)
    assert runs_needed(rate, 0.01) == pytest.approx(100 * runs_needed(rate, 0.1), rel=0.01)


def test_the_jury_refuses_28_players_and_says_what_it_needs():
    [row] = audit_worst_case(players=[28], schemes=[Jury()])
    assert isinstance(row, Refusal)
    assert "at least 29 players" in row.why


def test_an_eta_at_which_no_jury_of_this_size_can_be_sure_is_a_refusal_too():
    [row] = audit_worst_case(eta=0.95, players=[32], schemes=[Jury()])
    assert isinstance(row, Refusal)
    assert "29 jurors cannot be sure" in row.why


def test_a_horizon_before_which_nobody_speaks_is_refused():
    spec = ExperimentSpec(arms=2, epsilon=0.5, scheme=Jury(seat_after=2_000))
    with pytest.raises(AuditError, match="Nobody had sent a message about an arm") as refusal:
        audit_correctness(Scenario(spec, EASY.problem, 32, 3_000), precision=0.2)
    assert "--horizon" in str(refusal.value)
    assert "3,000 events" in str(refusal.value)


def test_a_jury_that_has_begun_but_is_late_is_counted_as_unfinished():
    spec = ExperimentSpec(arms=2, epsilon=0.5, scheme=Jury(seat_after=50))
    found = audit_correctness(Scenario(spec, EASY.problem, 32, 1_350), precision=0.2)
    assert found.unfinished.value > 0.9


@pytest.mark.parametrize(
    ("scheme", "algorithm", "n_players", "proved"),
    [
        (Jury(), "ser3", 64, True),
        (Jury(), "naive", 29, True),
        (Jury(), "kl_racing", 64, False),
        (Decentralized(), "ser3", 28, True),
        (Decentralized(), "ser3", 29, False),
    ],
)
def test_what_is_proved_of_whom(scheme, algorithm, n_players, proved):
    spec = ExperimentSpec(arms=10, algorithm=algorithm, scheme=scheme)
    assert (proved_failure(Scenario(spec, PROBLEMS["1"], n_players)) is not None) == proved


@pytest.mark.parametrize("algorithm", ["betting", "ser3", "lucb"])
@pytest.mark.parametrize("scheme", [Jury(), Decentralized(), Survey()])
def test_one_device_alone_runs_the_subroutine_of_the_group_at_its_eta(algorithm, scheme):
    spec = ExperimentSpec(arms=4, algorithm=algorithm, eta=0.3, scheme=scheme)
    alone = lone_spec(spec)
    assert (alone.algorithm, alone.delta, alone.scheme.name) == (algorithm, 0.3, "isolated")


def test_the_lone_error_is_that_of_the_subroutine_that_the_jury_runs():
    """Betting, one arm just past epsilon: .10 of 1,000 are wrong; ser3, a jury's default before,
    was never seen to be. False alarm below 1e-6 at .1.
    """
    [two_arms, *_] = hard_problems(0.25)
    spec = ExperimentSpec(arms=two_arms.n_arms, epsilon=0.25, scheme=Jury())
    assert spec.algorithm == "betting"
    found = audit_correctness(Scenario(spec, two_arms, 32), precision=0.2)
    assert 0.05 < found.lone.value <= spec.eta


@pytest.mark.parametrize("problem", list(PROBLEMS))
@pytest.mark.parametrize(("scheme", "n_players"), [(Jury(), 64), (Decentralized(), 28)])
def test_nothing_is_proved_where_rewards_change_or_players_differ(problem, scheme, n_players):
    scenario = Scenario(ExperimentSpec(arms=10, scheme=scheme), PROBLEMS[problem], n_players)
    assert (proved_failure(scenario) is not None) == (problem in {"1", "2"})


@pytest.mark.parametrize("epsilon", [0.05, 0.25, 0.9])
def test_hard_problems_are_hard(epsilon):
    for problem in hard_problems(epsilon):
        good = problem.optimal(8, 0, epsilon)
        assert 0 < len(good) < problem.n_arms
        just_past = max(mean for k, mean in enumerate(problem.means) if k not in good)
        assert max(problem.means) - just_past == pytest.approx(1.02 * epsilon)


def test_hard_problems_need_room_below_the_best():
    with pytest.raises(AuditError, match="epsilon"):
        hard_problems(0.95)


def test_a_stall_is_counted_by_its_set_and_by_its_first_arm():
    """Voters wrong with probability .4: both arms are left, and the bad one often comes first."""
    spec = ExperimentSpec(
        arms=2, algorithm="worst_case", epsilon=0.25, eta=0.4, scheme=Decentralized(12)
    )
    scenario = Scenario(spec, Problem("two", [0.9, 0.1]), 16)
    audited = audit_correctness(scenario, precision=0.05, seed=0)
    stalls = audited.stalled.count
    assert audited.set_wrong.count == 0 < audited.plurality_wrong.count < stalls
    assert audited.set_wrong.runs == audited.plurality_wrong.runs == stalls
    told = audited.to_dict()
    assert told["set_wrong"]["count"] == 0 < told["plurality_wrong"]["count"]


def traced(*events):
    moments = [Event(time, kind, 0, arm, 0) for time, kind, arm in events]
    return replace(trial("unfinished", (0,)), trace=tuple(moments))


RESETS = ExperimentSpec(arms=3, algorithm="ser4", options={"phi": 0.01})


@pytest.mark.parametrize(
    ("events", "failed"),
    [
        ([(10, "elimination", 1), (11, "elimination", 2)], [False]),
        ([(10, "elimination", 0)], [True]),
        ([(10, "elimination", 0), (11, "elimination", 1)], [True]),
        ([(10, "elimination", 1), (11, "reset", -1), (12, "elimination", 2)], []),
        # Arm 1 is best from pull 50 on: a term that opened before may answer for either side.
        ([(60, "elimination", 2), (61, "elimination", 0)], [False]),
        ([(60, "elimination", 2), (61, "elimination", 1)], [False]),
        ([(55, "reset", -1), (60, "elimination", 1), (61, "elimination", 0)], [True]),
        (
            [
                (9, "elimination", 0),
                (55, "reset", -1),
                (60, "elimination", 0),
                (61, "elimination", 2),
            ],
            [True, False],
        ),
    ],
)
def test_a_term_fails_when_no_good_arm_is_left_to_it(events, failed):
    switching = Problem("switch", (0.9, 0.1, 0.1), switches=[(50, (0.1, 0.9, 0.1))])
    scenario = Scenario(RESETS, switching, 32, 100)
    assert failed_terms(scenario, traced(*events)) == failed
    assert has_failed(scenario, traced(*events)) == any(failed)
