"""Surveys for tests: a small one that ends soon, and answers by the dozen."""

import random

from devote.protocol import ExperimentSpec
from devote.schemes import Answer, Survey


def small(arms=3, *, privacy=None, algorithm="betting", answers=1, liars=0, **changes):
    """A survey that some dozens of answers decide."""
    given = {"epsilon": 0.6, "delta": 0.3, **changes}
    scheme = Survey(privacy=privacy, answers=answers, liars=liars)
    return ExperimentSpec(arms=arms, algorithm=algorithm, scheme=scheme, **given)


def answer(arm, bit, voter, number=1, seen=0):
    return Answer("experiment", arm, bit, number, seen, str(voter))


def stacks(spec, means, seed, length):
    """The answers that each arm would get, as bits, one after the other."""
    draw = random.Random(seed).random
    slope = spec.scheme.slope
    return [
        [int(draw() < (1.0 - slope) / 2.0 + slope * mean) for _ in range(length)] for mean in means
    ]
