"""How many answers a survey takes, and how often it is wrong whatever the order of arrival.

Reference values come from programs written apart from this project: 2,000 runs each, problem 1,
epsilon .25, delta .05, rho 5.
"""

import math
import random
from statistics import mean, stdev

import pytest
from tests.schemes.surveys import answer
from tests.statistical.mixture_alone import play_alone

from devote.problems import PROBLEMS
from devote.protocol import ExperimentSpec
from devote.schemes import Survey
from devote.simulator import Scenario
from devote.simulator.run import Run
from devote.theory import binomial_tail

MEANS = PROBLEMS["1"].means
GOOD = {0, 1}
"""The arms of .7 and .5, with epsilon .25."""

E = (0.5, 1.0, 2.0, 4.0, None)
IN_ORDER = dict(zip(E, ((3786, 34), (1056, 9), (406, 3), (263, 2), (249, 2)), strict=True))
DRAWN = dict(zip(E, ((4117, 35), (1184, 9), (487, 3), (334, 2), (316, 2)), strict=True))
STALE = dict(zip(E, ((4223, 36), (1267, 10), (552, 4), (387, 3), (369, 2)), strict=True))
LONG = dict(zip(E, (6902, 1895, 748, 498, 469), strict=True))
"""The 95th percentile, drawn."""


def spec_of(privacy):
    return ExperimentSpec(arms=10, algorithm="mixture_elimination", scheme=Survey(privacy))


def assert_as_printed(values, reference, most=0.018):
    """Within 4 standard errors of both together.

    False alarm 6e-5 each. Of 500 runs it finds a mean that is 10 % off with probability .96 or
    more, as the standard error of such runs is below 1.8 % of the mean, the reference's below
    1 %: ``drawn`` differs from both of the others by 7 to 27 %.
    """
    printed, error = reference
    own = stdev(values) / math.sqrt(len(values))
    assert own < most * printed
    assert abs(mean(values) - printed) <= 4.0 * math.hypot(own, error)


def bits_of(spec, seed):
    """The next bit that a device would send about an arm."""
    draw = random.Random(seed).random
    slope = spec.scheme.slope
    chances = [(1.0 - slope) / 2.0 + slope * value for value in MEANS]
    return lambda arm: int(draw() < chances[arm])


@pytest.mark.slow
@pytest.mark.parametrize("privacy", E)
def test_answers_needed_in_order_are_those_of_the_reference(privacy):
    """The subroutine alone, on the bits' means at the epsilon that the noise leaves."""
    spec = spec_of(privacy)
    slope = spec.scheme.slope
    means = [(1.0 - slope) / 2.0 + slope * value for value in MEANS]
    epsilon = spec.scheme.learner(spec).epsilon
    answers, needed = play_alone(means, epsilon=epsilon, eta=spec.delta, runs=2_000)
    assert set(answers) <= GOOD
    assert_as_printed(needed.tolist(), IN_ORDER[privacy])


@pytest.mark.slow
@pytest.mark.parametrize("privacy", E)
def test_answers_needed_by_the_compiled_survey_are_those_of_the_reference(privacy):
    horizon = 24_576 if privacy == 0.5 else 8_192
    scenario = Scenario(spec_of(privacy), PROBLEMS["1"], 20_000, horizon)
    needed = []
    for trial in range(500):
        run = Run(scenario, seed=11, trial=trial)
        run.advance(scenario.horizon)
        assert run.group["decided"]
        assert run.group["leader"] in GOOD
        needed.append(int(run.group["broadcasts"]))
    assert_as_printed(needed, DRAWN[privacy])
    # Within 4 standard errors of both shares; 14 % above it would be found with probability .98.
    above = sum(count > LONG[privacy] for count in needed) / len(needed)
    assert abs(above - 0.05) <= 4.0 * math.sqrt(0.05 * 0.95 * (1 / len(needed) + 1 / 2_000))


@pytest.mark.slow
@pytest.mark.parametrize("privacy", E)
def test_answers_needed_with_a_stale_tally_are_those_of_the_reference(privacy):
    """The tally is read every 200 answers; what is no longer asked about is not learned from.

    200 runs at .5, where each is long: a mean that is 15 % off is found with probability .9.
    """
    spec = spec_of(privacy)
    needed = []
    for seed in range(200 if privacy == 0.5 else 500):
        bit, draw = bits_of(spec, seed), random.Random(f"arms {seed}").random
        tally = spec.scheme.tally(spec)
        sent = 0
        while tally.status() == "open":
            if sent % 200 == 0:
                asked = tally.shared
            arm = asked[int(draw() * len(asked))]
            tally.add(answer(arm, bit(arm), sent))
            sent += 1
        assert tally.answer[0] in GOOD
        needed.append(sent)
    assert_as_printed(needed, STALE[privacy], most=0.03 if privacy == 0.5 else 0.018)


DELTA = 0.2
RUNS = 250
MOST = 82
"""False alarm below 1e-6 at delta; twice delta is found with probability .98: the test below."""


def hard(privacy, n_arms, algorithm="mixture_elimination"):
    """The best arm, and arms that are just more than epsilon below it."""
    spec = ExperimentSpec(
        arms=n_arms,
        epsilon=0.25,
        delta=DELTA,
        algorithm=algorithm,
        scheme=Survey(privacy),
    )
    return spec, [0.5 + 0.13] + [0.5 - 0.13] * (n_arms - 1)


def starve_the_leader(tally, draw):
    """Answers come about whatever looks bad; every third time the learner gets what it wants."""
    if draw.random() < 1 / 3:
        return tally.learner.pending if tally.learner.pending is not None else 0
    return tally.answer[-1]


def one_arm_after_the_other(tally, draw):
    """All of one arm's answers come before the next one's, in batches of a hundred."""
    asked = tally.shared
    return asked[len(tally) // 100 % len(asked)]


def follow_the_luck(tally, draw):
    """More answers come about an arm as long as its last one was a 1."""
    arm = next(iter(reversed(tally._given.values())), (0, 0))
    if arm[1] and arm[0] in tally.shared:
        return arm[0]
    return draw.choice(tally.shared)


def pile_up(tally, draw):
    """While the best arm's answers that wait are lucky ones, up to fifty pile up."""
    waiting = tally._queues[0]
    wanted = tally.learner.pending if tally.learner.pending is not None else 0
    if 2 * sum(waiting) > len(waiting) and len(waiting) < 50:
        return next((k for k in tally.asked if k != wanted), wanted)
    return wanted


def one_by_one(tally, draw):
    """In turn, as devices draw them on average."""
    return tally.shared[len(tally) % len(tally.shared)]


ORDERS = (starve_the_leader, one_arm_after_the_other, follow_the_luck, pile_up)


def failures(spec, values, order, runs, next_bit):
    wrong = 0
    for seed in range(runs):
        draw = random.Random(f"{order.__name__} {seed}")
        tally = spec.scheme.tally(spec)
        sent = 0
        while tally.status() == "open":
            arm = order(tally, draw)
            tally.add(answer(arm, next_bit(spec, values, arm, draw), sent))
            sent += 1
        wrong += tally.answer[0] != 0
    return wrong


def honest_bit(spec, values, arm, draw):
    slope = spec.scheme.slope
    return int(draw.random() < (1.0 - slope) / 2.0 + slope * values[arm])


def test_a_failure_rate_twice_the_promise_would_be_found():
    assert binomial_tail(MOST + 1, RUNS, probability=DELTA) < 1e-6
    assert binomial_tail(MOST + 1, RUNS, probability=2 * DELTA) > 0.98


@pytest.mark.parametrize("algorithm", ["betting", "mixture_elimination"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("n_arms", [2, 4])
def test_no_order_that_cannot_see_rewards_makes_it_wrong_more_often_than_delta(
    order, n_arms, algorithm
):
    """Orders see all bits that are on the board, also those that wait in queues."""
    spec, values = hard(3.0, n_arms, algorithm)
    assert failures(spec, values, order, RUNS, honest_bit) <= MOST


def test_all_intervals_hold_at_all_times_with_probability_1_minus_delta():
    """False alarm and power as above: each of 250 runs is a miss if any interval ever misses."""
    spec = ExperimentSpec(
        arms=2,
        epsilon=0.001,
        delta=DELTA,
        algorithm="mixture_elimination",
        scheme=Survey(3.0),
    )
    values = [0.4, 0.5]
    misses = 0
    for seed in range(RUNS):
        draw = random.Random(seed)
        tally = spec.scheme.tally(spec)
        missed = False
        for voter in range(300):
            arm = voter % 2
            tally.add(answer(arm, honest_bit(spec, values, arm, draw), voter))
            row = tally.estimates()[arm]
            missed |= not row[1] <= values[arm] <= row[2]
        misses += missed
    assert 0 < misses <= MOST


def in_flight(window):
    """Who reads answers before they are posted, and may hold each back for ``window`` others."""

    def next_bit(spec, values, arm, draw):
        held = draw.__dict__.setdefault("held", {}).setdefault(arm, [])
        if not held:
            held += [honest_bit(spec, values, arm, draw) for _ in range(window)]
            held.sort(reverse=arm == 0)  # taken from the end: the best arm's zeros come first
        return held.pop()

    return next_bit


def test_whoever_reads_bits_in_flight_and_holds_them_back_would_make_it_wrong():
    """Why the order must not depend on a bit that is not posted: assumption (B) of Theorem S.

    Moments that ``reply_after`` fixes do not, and TLS hides bits in flight from the network. With
    it broken by 20 answers of each arm the survey is wrong in nearly all of 100; one that kept
    its promise would pass 50 with a probability below 1e-10. With a window of one answer nothing
    is held back: the orders above.
    """
    spec, values = hard(3.0, 2)
    assert failures(spec, values, one_by_one, 100, in_flight(20)) > 50


def test_answers_sent_as_clicks_come_would_make_it_wrong():
    """Why ``reply_after`` counts from the choice: otherwise the first answers are the clicks.

    The best arm tells everybody late what it paid. The other is clicked at once or never, and of
    those who never click one in five is heard of before the survey ends. It then looks better,
    and is wrong in about 87 of 100. A survey that kept its promise would pass 50 with a
    probability below 1e-10.
    """

    def clicks_first(spec, values, arm, draw):
        received = 1.0 if arm == 0 else values[arm] + 0.2 * (1.0 - values[arm])
        return int(draw.random() < values[arm] / received)

    spec, values = hard(None, 2)
    assert failures(spec, values, ORDERS[0], 100, clicks_first) > 50
