"""One device watched in two worlds: what is promised passes, each way to break it is caught.

A device that keeps its promise is refused with probability 1e-6 at most. What each test would
miss: moments and presence that tell the worlds apart for certain are caught with certainty (the
lower bound on e is then about 2.5 with 200 devices measured); the two breaks that only shift
probabilities have their power computed below.
"""

import math
import random

import pytest
from tests.audit import broken_devices as broken

from devote.audit import AuditError, audit_exposure
from devote.audit.exposure import proved_cap
from devote.audit.rates import epsilon_lower_bound
from devote.audit.watched import ALWAYS, NEVER, SECRETS, SimulatedDevice, watch
from devote.protocol import ExperimentSpec
from devote.schemes import Jury, Survey

pytestmark = pytest.mark.slow

CONFIDENCE = 1.0 - 1e-6
CLICKS, SOON, WHICH, ONE_OR_ALL = SECRETS


def survey(scheme):
    return ExperimentSpec(arms=2, algorithm="mixture_elimination", scheme=scheme)


def jury(form=Jury, privacy=1.0):
    """Two arms; whoever gets clicks on one arm only is done after a few plays."""
    scheme = form(seats=300, seat_after=2, privacy=privacy, vote_after=14)
    return ExperimentSpec(
        arms=2, epsilon=0.9, eta=0.1, algorithm="mixture_elimination", scheme=scheme
    )


def exposed(spec, secret, make=SimulatedDevice, runs=600):
    [row] = audit_exposure(
        spec, runs=runs, secrets=(secret,), make=make, confidence=CONFIDENCE, seed=1
    )
    return row


@pytest.mark.parametrize("spec", [survey(Survey(1.0)), survey(Survey(2.0, answers=2)), jury()])
def test_what_keeps_its_promise_passes_and_is_not_idle(spec):
    """The noise is not so large that nothing could be seen: the bound is well above 0."""
    rows = audit_exposure(spec, runs=900, confidence=CONFIDENCE, seed=2)
    assert [row.secret for row in rows] == [secret.name for secret in SECRETS]
    assert not any(row.is_broken for row in rows)
    for row in rows:
        assert row.success.interval[0] <= row.cap == proved_cap(row.promised)
    assert max(row.epsilon_at_least for row in rows) > 0.1
    [soon] = [row for row in rows if row.secret == SOON.name]
    if isinstance(spec.scheme, Survey):
        assert soon.success.interval[0] < 0.53, "a click in time is a click"


def test_a_survey_bit_is_named_with_the_probability_of_its_truth_and_no_more():
    """.731 at e = 1: 3,000 measured. Five standard errors are .04; false alarm 6e-7."""
    row = exposed(survey(Survey(1.0)), CLICKS, runs=4_500)
    truth = math.e / (1.0 + math.e)
    assert row.cap == pytest.approx(truth)
    assert abs(row.success.value - truth) < 5.0 * math.sqrt(truth * (1.0 - truth) / 3_000)
    assert 0.6 < row.epsilon_at_least < 1.0


@pytest.mark.parametrize(
    ("spec", "make", "secret"),
    [
        (survey(Survey(1.0)), broken.SendsOnClick, CLICKS),
        (survey(Survey(1.0)), broken.SendsOnClick, SOON),
        (survey(Survey(1.0)), broken.SilentWithoutClick, CLICKS),
        (survey(Survey(1.0, answers=2)), broken.AsksAgainAfterAClick, CLICKS),
        (jury(broken.HastyJury), SimulatedDevice, ONE_OR_ALL),
        (jury(), broken.CountsRewardedPlays, CLICKS),
    ],
)
def test_a_device_whose_moments_or_silence_tell_is_caught(spec, make, secret):
    """An event that comes in one world and hardly ever in the other: caught with certainty."""
    row = exposed(spec, secret, make)
    assert row.is_broken
    assert row.epsilon_at_least > row.promised + 0.5


def test_noise_drawn_again_for_every_copy_is_caught():
    """Each further copy tells more. 20 of 20 other seeds were caught, with bounds from 1.37 up."""
    assert exposed(survey(Survey(1.0)), CLICKS, broken.RedrawsOnRetry, runs=3_000).is_broken


def power(p, q, measured):
    """How often e = 1 is refuted by an event of probability p in one world, q in the other."""
    dice = random.Random(3)

    def count(chance):
        return sum(dice.random() < chance for _ in range(measured))

    bounds = [
        epsilon_lower_bound(count(p), measured, count(q), measured, confidence=CONFIDENCE)
        for _ in range(50)
    ]
    return sum(bound > 1.0 for bound in bounds) / len(bounds)


def test_a_randomizer_that_tells_the_truth_too_often_is_caught():
    """e of 1.7 where 1 is promised: caught in all of 50 trials of the event alone."""
    truth = 1.0 / (1.0 + math.exp(-broken.LOUD))
    assert power(truth, 1.0 - truth, 1_000) >= 0.98
    loud = broken.LoudSurvey(1.0)
    assert exposed(survey(loud), CLICKS, runs=3_000).is_broken
    assert exposed(jury(broken.LoudJury), WHICH, runs=3_000).is_broken


def test_every_copy_counts_and_none_differs_from_the_first():
    spec = survey(Survey(1.0, answers=2))
    wires = [watch(spec, ALWAYS, SimulatedDevice, f"copies {i}") for i in range(200)]
    assert max(len(wire.copies) for wire in wires) > 5
    for wire in wires:
        assert len({copy.numbers for copy in wire.copies}) == 2
    assert all(watch(spec, NEVER, SimulatedDevice, f"{i}").copies for i in range(20))


def test_too_few_devices_are_refused():
    with pytest.raises(AuditError, match="90 or more"):
        audit_exposure(survey(Survey(1.0)), runs=10)
