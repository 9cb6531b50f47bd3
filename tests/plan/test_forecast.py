"""A forecast is simulated, says how many devices are enough, and can be believed."""

import math

import numpy as np
import pytest

from devote.plan.forecast import (
    DECIDES,
    SURE,
    Effort,
    enough,
    forecast,
    percentile,
    spread_of,
    why_not_simulated,
)
from devote.plan.question import Question
from devote.problems import PROBLEMS, Problem, parse_activity
from devote.protocol import ExperimentSpec, SpecError
from devote.protocol.planning import Wish
from devote.schemes import Jury, Survey
from devote.simulator import simulate
from devote.simulator.answers import simulate_answers
from devote.theory import binomial_tail

EASY = Problem("easy", [0.8, 0.4, 0.2])
EFFORT = Effort(runs=200, seconds=2.0, seed=0)


def spec_of(scheme="survey", **more):
    return ExperimentSpec(**{"arms": 3, "epsilon": 0.2, "scheme": scheme, **more})


RATE = 1e-3
"""Plays a day of each device: so few that no answer is under way when another is drawn."""


def asked(n_players=10_000, problem=EASY, **more):
    rates = {} if "visitors_per_day" in more else {"plays_per_day": RATE}
    given = {"days": 1e6, **rates, **more}
    return Question(Wish(n_players, 3, epsilon=0.2, delta=0.05), problem, **given)


@pytest.mark.parametrize("n", [90, 200, 400])
def test_what_is_enough_is_so_with_the_confidence_that_is_named(n):
    """Of n values from any law the k-th exceeds the 95th percentile with that probability."""
    k = int(enough(np.arange(1.0, n + 1.0)))
    assert binomial_tail(k, n, probability=DECIDES) <= 1.0 - SURE
    assert binomial_tail(k - 1, n, probability=DECIDES) > 1.0 - SURE


def test_of_few_runs_what_is_enough_lies_beyond_all_of_them():
    values = np.array([3.0, 4.0, 8.0])
    assert enough(values) > 8.0
    assert enough(values[:1]) >= 3.0


def test_runs_without_an_answer_count_in_percentiles_and_not_in_the_mean():
    found = spread_of(np.array([1.0] * 18 + [math.inf] * 2))
    assert (found["mean"], found["median"], found["p95"]) == (1.0, 1.0, None)
    assert spread_of(np.array([math.inf]))["mean"] is None
    assert percentile(np.array([]), 0.5) == math.inf


def test_a_forecast_of_a_survey_is_what_the_stream_gives():
    made = forecast(spec_of(), asked(), EFFORT)
    answers = simulate_answers(spec_of(), EASY.means, runs=200, seed=0).answers
    assert made.takes.tolist() == answers.tolist()
    assert (made.runs, made.decided, made.is_cut) == (200, 200, False)
    assert made.devices == enough(answers)


@pytest.mark.parametrize(
    ("scheme", "more", "n_players"),
    [
        (Survey(2.0), {}, 5_000),
        (Survey(None, answers=3), {}, 2_000),
        (Jury(seats=20), {"eta": 0.2}, 60),
        (Jury(seats=90, privacy=2.0, vote_after=80), {"eta": 0.1}, 200),
        ("decentralized", {"algorithm": "betting"}, 60),
    ],
)
def test_a_forecast_agrees_with_simulated_fleets(scheme, more, n_players):
    """Days of 200 runs each, within 4.9 standard errors of both: false alarm 1e-6 each.

    The standard errors are below 3.5 % of the mean: a forecast that is 35 % off, as formulas were,
    is found with probability .99.
    """
    spec = spec_of(scheme, **more)
    made = forecast(spec, asked(n_players), EFFORT)
    fleet = simulate(spec, EASY, n_players, trials=200, seed=7)
    assert made.decided == 200
    days = fleet.samples[fleet.samples > 0] / (n_players * RATE)
    own = made.days.std(ddof=1) / math.sqrt(made.runs)
    error = math.hypot(own, days.std(ddof=1) / math.sqrt(len(days)))
    assert error < 0.05 * days.mean()
    assert abs(made.days.mean() - days.mean()) < 4.9 * error
    messages = fleet.broadcasts.mean()
    assert made.messages == pytest.approx(messages, rel=0.2)


def test_the_devices_named_are_enough_and_half_of_them_are_not():
    """Of 300 other runs at least .93 decide: those named suffice for .95 with confidence .99.

    The share that decides is .975 on average, with standard errors of .011 for which devices are
    named and .009 for these runs: below .93 in 1 of 1,000 seeds, and this seed is fixed. Half as
    many devices decide less than .8 of runs.
    """
    for privacy in (1.0, None):
        spec = spec_of(Survey(privacy))
        made = forecast(spec, asked(), EFFORT)
        others = simulate_answers(spec, EASY.means, runs=300, seed=99).answers
        assert (others <= made.devices).mean() >= 0.93
        assert (others <= made.devices / 2).mean() < 0.9


def test_the_cost_of_a_survey_does_not_depend_on_the_number_of_devices():
    few, many = (forecast(spec_of(), asked(n, plays_per_day=1 / n), EFFORT) for n in (2_000, 10**9))
    assert few.takes.tolist() == many.takes.tolist()
    assert few.days.mean() > many.days.mean()  # the last devices take long to play


def test_what_runs_out_of_devices_has_no_answer_there_and_the_devices_needed_are_told():
    made = forecast(spec_of(), asked(60), EFFORT)
    assert made.decided < 20
    assert not made.is_enough
    [why] = made.why_not(asked(60))
    assert f"{made.decided} of 200 simulated runs come to an answer" in why
    assert f"{made.devices:,} devices would be needed" in why


def test_visitors_come_at_their_rate_and_each_answers_once():
    question = asked(10_000, visitors_per_day=500.0)
    made = forecast(spec_of(), question, EFFORT)
    assert made.days.tolist() == pytest.approx((made.takes / 500.0 + 69 / 86400).tolist())
    assert forecast(spec_of("jury"), question, EFFORT) is None


def test_answers_that_are_under_way_make_it_take_more_and_later():
    """10,000 visitors a minute: as an answer takes 69 s, 11,500 are asked before one arrives."""
    quick, slow = (
        forecast(spec_of(), asked(10**8, visitors_per_day=rate), EFFORT)
        for rate in (14_400_000.0, 1.0)
    )
    assert (slow.under_way, quick.under_way) == (0, 11_500)
    crowd = forecast(spec_of(), asked(), EFFORT, crowd=10**9)
    assert quick.takes.tolist() == crowd.takes.tolist()
    assert quick.takes.mean() > 1.1 * slow.takes.mean()
    assert quick.days.min() > 69 / 86_400


@pytest.mark.parametrize("activity", ["uniform", "split", "zipf:1"])
@pytest.mark.parametrize("each", [1, 3])
def test_when_answers_are_there_is_what_fleets_take(activity, each):
    """Plays until n answers are there, over 40 runs: within 5 %, ten standard errors."""
    problem = Problem("any", [0.5, 0.5, 0.5], activity=parse_activity(activity))
    n, wanted = 400, 250 * each
    weights = np.array(problem.activity.weights(n))
    plays = []
    for seed in range(40):
        who = np.random.default_rng(seed).choice(n, size=12_000, p=weights)
        given, left = np.zeros(n, dtype=int), wanted
        for place, device in enumerate(who):
            left -= given[device] < each
            given[device] += 1
            if left == 0:
                plays.append((place + 1) / n)
                break
    assert len(plays) == 40
    [expected] = asked(n, problem).days_for_answers(np.array([float(wanted)]), each)
    assert expected * RATE == pytest.approx(np.mean(plays), rel=0.05)


def test_there_are_never_more_answers_than_devices_give():
    """And the last of 100 devices to play for the first time is waited for about ln 100 + .6."""
    one, three = (asked(100).days_for_answers(np.array([100.0 * k, 301]), k) for k in (1, 3))
    assert one[0] * RATE == pytest.approx(sum(1 / k for k in range(1, 101)), rel=0.03)
    assert one[0] < three[0] < math.inf
    assert one[1] == three[1] == math.inf


def test_what_takes_too_long_is_cut_and_said_to_take_more():
    hard = Problem("hard", [0.5, 0.499, 0.498])
    spec = spec_of(epsilon=0.0005)
    made = forecast(spec, asked(problem=hard), Effort(runs=50, seconds=0.1))
    assert made.is_cut
    [why] = made.why_not(asked())
    assert "it takes more than 250,000 answers" in why
    assert made.to_dict()["takes"] is None
    assert made.to_dict()["takes_at_least"] == 250_000.0


def test_a_jury_that_often_stalls_is_not_enough_and_its_runs_are_all_counted():
    tied = Problem("tied", [0.6, 0.6, 0.6])
    spec = spec_of(Jury(seats=25, privacy=2.0, vote_after=100), eta=0.1)
    made = forecast(spec, asked(100, tied), EFFORT)
    assert made.runs == 200
    assert 0 < made.decided < 0.9 * 200
    assert len(made.takes) == made.decided
    assert made.devices is None
    assert made.why_not(asked(100)) == [f"{made.decided} of 200 simulated runs come to an answer"]


def test_what_cannot_be_simulated_says_why():
    drift = Problem("drift", [0.8, 0.4, 0.2], drift=[0, -1e-6, -1e-6])
    visitors = asked(10_000, drift, visitors_per_day=500.0)
    assert "visitors" in why_not_simulated(spec_of(), visitors)
    assert forecast(spec_of(), visitors, EFFORT) is None
    assert "too many to simulate" in why_not_simulated(spec_of("decentralized"), asked(10**7))
    assert "too few" in why_not_simulated(spec_of("jury"), asked(5))
    assert why_not_simulated(spec_of("jury"), asked(10**7)) == ""


def test_the_same_question_gives_the_same_numbers_and_another_seed_others():
    first, again, other = (
        forecast(spec_of(), asked(), Effort(50, 1.0, seed)).takes.tolist() for seed in (3, 3, 4)
    )
    assert first == again != other


@pytest.mark.parametrize(
    "problem",
    [
        Problem("drift", [0.8, 0.4, 0.2], drift=[0, -1e-6, -1e-6]),
        Problem("groups", groups=[(0.5, [0.9, 0.4, 0.2]), (0.5, [0.7, 0.4, 0.2])]),
        PROBLEMS["1"],
    ],
)
def test_problems_of_any_kind_are_forecast(problem):
    """Where a stream cannot stand for the fleet, the fleet is simulated."""
    spec = ExperimentSpec(arms=problem.n_arms, epsilon=0.2, scheme=Survey(None))
    question = Question(Wish(3_000, problem.n_arms, 0.2, 0.05), problem, plays_per_day=1.0)
    made = forecast(spec, question, Effort(5, 1.0))
    assert made.decided == made.runs == 5


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"plays_per_day": 0}, "plays_per_day=0"),
        ({"plays_per_day": None}, "one of them is needed"),
        ({"visitors_per_day": 5.0}, "one of them is needed"),
        ({"plays_per_day": None, "visitors_per_day": -1.0}, "visitors_per_day=-1"),
        ({"plays_per_day": None, "visitors_per_day": 2_000.0}, "cannot come from 1,000 devices"),
        ({"days": -1}, "days=-1"),
        ({"days": float("nan")}, "finite"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(change, words):
    given = {"plays_per_day": 10.0, **change}
    with pytest.raises(SpecError, match=words):
        Question(Wish(1_000, 3, epsilon=0.2, delta=0.05), EASY, **given)


@pytest.mark.parametrize(
    "wish", [{"privacy": 0.0}, {"privacy": math.nan}, {"n_players": 0}, {"liars": -1}]
)
def test_a_wish_that_makes_no_sense_is_refused(wish):
    given = {"n_players": 100, "n_arms": 3, "epsilon": 0.2, "delta": 0.05, **wish}
    with pytest.raises(SpecError):
        Question(Wish(**given), EASY, plays_per_day=1.0)
