"""Surveys and juries for the page: messages as devices would post them, from known dice."""

import random
from collections.abc import Sequence

from devote.protocol import ExperimentSpec
from devote.rules.randomizer import blur_reward
from devote.schemes import Survey
from devote.schemes.survey.tally import Answer

ARMS = ("red", "green", "blue", "grey")
MEANS = (0.2, 0.8, 0.6, 0.1)
SURVEY = ExperimentSpec(
    arms=ARMS, name="survey", algorithm="mixture_elimination", scheme=Survey(privacy=4.0)
)
BETTING = SURVEY.with_(algorithm="betting")


def answers(
    spec: ExperimentSpec = SURVEY, means: Sequence[float] = MEANS, most: int = 100_000
) -> list[Answer]:
    """Answers of one device each about arms asked about then, up to the decision."""
    dice, tally, found = random.Random(7), spec.scheme.tally(spec), []
    while tally.status() == "open" and len(found) < most:
        arm = dice.choice(tally.asked)
        reward = float(dice.random() < means[arm])
        bit = blur_reward(reward, dice.random(), spec.scheme.truths)
        found.append(Answer(spec.name, arm, bit, 1, len(found), f"{len(found) + 1:064x}"))
        tally.add(found[-1])
    return found
