"""A survey simulated as a stream of answers is the survey of the board's tally."""

import math
from statistics import mean, stdev

import numpy as np
import pytest
from tests.schemes.surveys import answer

from devote.problems import PROBLEMS, Problem
from devote.problems.activity import ProblemError
from devote.protocol import ExperimentSpec, SpecError
from devote.rules.randomizer import blur_reward
from devote.schemes import Survey
from devote.simulator import simulate
from devote.simulator.answers import simulate_answers

MEANS = PROBLEMS["1"].means

DRAWN = {0.5: (2474, 21), 1.0: (737, 6), 2.0: (308, 2), 4.0: (226, 1), None: (214, 1)}
STALE = {0.5: (2630, 32), 1.0: (907, 11), 2.0: (409, 5), 4.0: (288, 3), None: (272, 3)}
LONG = {0.5: 4219, 1.0: 1223, 2.0: 470, 4.0: 326, None: 310}
"""Reference values of a program written apart: betting, problem 1, epsilon .25, delta .05."""

CLICKS = {None: (11_311, 244), 4.0: (16_496, 348), 2.0: (57_641, 1_189)}
"""The same for means .05 .04 .03 .03 and epsilon .005."""


def spec_of(privacy, **more):
    return ExperimentSpec(**{"arms": 10, "scheme": Survey(privacy), **more})


def in_plain_python(spec, means, seed, run, stale=0, crowd=0, lag=0, most=2_000):
    """The same run, folded by the board's own tally."""
    rng = np.random.default_rng([seed, run])
    tally = spec.scheme.tally(spec)
    seen, sent, under_way = tally.asked, 0, []
    while tally.status() == "open" and sent < most:
        if sent >= crowd and (not stale or sent % stale == 0):
            seen = tally.asked
        arm = seen[int(rng.random() * len(seen))]
        reward = float(rng.random() < means[arm])
        bit = blur_reward(reward, rng.random(), spec.scheme.truths)
        under_way.append((arm, bit))
        if len(under_way) > lag:
            tally.add(answer(*under_way.pop(0), sent))
            sent += 1
    return sent, tally.answer[0] if tally.status() == "agreed" else -1


@pytest.mark.parametrize("algorithm", ["betting", "mixture_elimination", "ugapec"])
@pytest.mark.parametrize(
    "how",
    [{}, {"stale": 30}, {"crowd": 150}, {"stale": 7, "crowd": 500}, {"lag": 1}, {"lag": 60}],
)
def test_every_run_is_that_of_the_tally_in_plain_python(algorithm, how):
    """No statistics: fed the same random numbers, both end after the same answer."""
    for spec, means in (
        (spec_of(2.0, arms=4, algorithm=algorithm, epsilon=0.3), [0.8, 0.7, 0.2, 0.1]),
        (spec_of(None, arms=3, algorithm=algorithm, epsilon=0.2), [0.05, 0.5, 0.4]),
    ):
        found = simulate_answers(spec, means, runs=6, first=2, seed=5, most=2_000, **how)
        pairs = zip(found.answers.tolist(), found.winner.tolist(), strict=True)
        assert list(pairs) == [in_plain_python(spec, means, 5, run, **how) for run in range(2, 8)]


def test_every_run_that_tolerates_lies_is_that_of_the_tally():
    spec = spec_of(None, arms=3, scheme=Survey(None, liars=5))
    found = simulate_answers(spec, [0.9, 0.5, 0.1], runs=5, seed=1)
    expected = [in_plain_python(spec, [0.9, 0.5, 0.1], 1, run) for run in range(5)]
    assert list(zip(found.answers.tolist(), found.winner.tolist(), strict=True)) == expected


def assert_as_printed(values, reference):
    """Within 4.9 standard errors of both together: false alarm 1e-6.

    1,000 runs have a standard error of 1.3 % or less, the references of 1.3 % or less: a mean that
    is 13 % off is found with probability .95. *Stale* and *drawn* differ by 6 to 33 %.
    """
    printed, error = reference
    own = stdev(values) / math.sqrt(len(values))
    assert own < 0.016 * printed
    assert abs(mean(values) - printed) <= 4.9 * math.hypot(own, error)


@pytest.mark.parametrize("privacy", DRAWN)
def test_answers_needed_are_those_of_the_reference(privacy):
    found = simulate_answers(spec_of(privacy), MEANS, runs=1_000, seed=3)
    assert set(found.winner.tolist()) <= {0, 1}
    assert_as_printed(found.answers.tolist(), DRAWN[privacy])
    # 4.9 standard errors of both shares; the reference's is of 2,000 runs.
    above = float((found.answers > LONG[privacy]).mean())
    assert abs(above - 0.05) <= 4.9 * math.sqrt(0.05 * 0.95 * (1 / 1_000 + 1 / 2_000))


@pytest.mark.parametrize("privacy", STALE)
def test_answers_needed_with_a_stale_tally_are_those_of_the_reference(privacy):
    found = simulate_answers(spec_of(privacy), MEANS, runs=1_000, seed=4, stale=200)
    assert_as_printed(found.answers.tolist(), STALE[privacy])


@pytest.mark.parametrize("privacy", CLICKS)
def test_answers_needed_at_click_rates_are_those_of_the_reference(privacy):
    """4.9 standard errors of both; 300 runs find a mean that is 20 % off with probability .95."""
    spec = spec_of(privacy, arms=4, epsilon=0.005)
    found = simulate_answers(spec, [0.05, 0.04, 0.03, 0.03], runs=300, seed=6)
    printed, error = CLICKS[privacy]
    own = found.answers.std(ddof=1) / math.sqrt(300)
    assert own < 0.04 * printed
    assert abs(found.answers.mean() - printed) <= 4.9 * math.hypot(own, error)


def test_the_stream_has_the_law_of_the_survey_with_devices():
    """Means of 300 runs each, 4.9 standard errors: 1e-6; 12 % are found with probability .95."""
    spec, means = spec_of(1.0, arms=4, epsilon=0.1), [0.5, 0.45, 0.2, 0.1]
    stream = simulate_answers(spec, means, runs=300).answers
    full = simulate(spec, Problem("x", means), 100_000, trials=300, seed=1, horizon=20_000)
    devices = full.broadcasts[full.samples > 0]
    assert len(devices) == 300
    error = math.hypot(stream.std(ddof=1), devices.std(ddof=1)) / math.sqrt(300)
    assert error < 0.05 * stream.mean()
    assert abs(stream.mean() - devices.mean()) < 4.9 * error


def test_where_all_are_asked_before_the_first_answer_comes_it_takes_more():
    spec = spec_of(None)
    fresh, crowd = (simulate_answers(spec, MEANS, runs=200, crowd=n).answers for n in (0, 10**9))
    assert crowd.mean() > 1.5 * fresh.mean()


def test_runs_do_not_depend_on_which_others_are_made():
    spec = spec_of(None)
    some = simulate_answers(spec, MEANS, runs=4, first=3).answers.tolist()
    assert simulate_answers(spec, MEANS, runs=7).answers.tolist()[3:] == some
    assert simulate_answers(spec, MEANS, runs=0).answers.tolist() == []


def test_a_run_is_given_up_after_so_many_answers():
    found = simulate_answers(spec_of(1.0), MEANS, runs=3, most=50)
    assert found.answers.tolist() == [50] * 3
    assert not found.decided.any()


def test_a_queue_may_grow_long():
    """All answers of a crowd that come about an arm that the learner does not want yet wait."""
    spec = spec_of(None, arms=2, epsilon=0.02)
    means = [0.5, 0.48]
    found = simulate_answers(spec, means, runs=2, seed=9, crowd=10**9)
    pairs = zip(found.answers.tolist(), found.winner.tolist(), strict=True)
    expected = [in_plain_python(spec, means, 9, run, crowd=10**9, most=10**6) for run in (0, 1)]
    assert list(pairs) == expected


@pytest.mark.parametrize(
    ("means", "error"), [([1.5, 0.2], ProblemError), ([0.5], SpecError), ([0.1] * 3, SpecError)]
)
def test_means_that_do_not_fit_are_refused(means, error):
    with pytest.raises(error):
        simulate_answers(ExperimentSpec(arms=2, scheme="survey"), means, runs=1)
