"""A learner's state outlives the version that made it."""

import json
import random

import pytest

from devote.protocol import ExperimentSpec
from devote.protocol.learner import Learner

MEANS = (0.9, 0.8, 0.2, 0.1)


def play(learner, dice, pulls):
    """The arms that it plays, one after another; the last play awaits its reward."""
    played = []
    for n in range(pulls):
        arm = learner.activate(dice.random())
        played.append(arm)
        if n < pulls - 1:
            learner.reward(float(dice.random() < MEANS[arm]))
    return played


@pytest.mark.parametrize("algorithm", ["kl_lucb", "mixture_elimination", "betting"])
@pytest.mark.parametrize("pulls", [3, 4, 25, 26])
def test_a_restored_learner_goes_on_as_if_nothing_had_been(algorithm, pulls):
    spec = ExperimentSpec(arms=4, algorithm=algorithm, epsilon=0.01)
    learner = Learner(spec.scheme.learner(spec))
    play(learner, random.Random(pulls), pulls)
    restored = learner.restored(json.loads(json.dumps(learner.to_dict())))
    for one in (learner, restored):
        one.abandon()
    assert play(restored, random.Random(1), 200) == play(learner, random.Random(1), 200)
    assert restored.remaining == learner.remaining
    assert restored.to_dict() == learner.to_dict()
