"""Surveys whose assumptions are broken: how often the answer is wrong.

``python -m scripts.survey_limits`` prints the table of ``docs/survey.md`` in seconds. Two arms
pay .59 and .39, epsilon is .1 and delta .05; each run feeds the shipped tally with answers.
"""

import random
from collections.abc import Callable, Iterator
from functools import partial

from devote.protocol import ExperimentSpec
from devote.schemes import Answer, Survey

Answered = Iterator[tuple[str, int, int, int]]
"""Answers in the order of the board: device, number, arm, bit."""

MEANS = (0.59, 0.39)
RUNS = 60


def devices(dice: random.Random, privacy: float | None) -> Answered:
    """Devices as the theorem assumes them: one answer each, whatever it says."""
    slope = Survey(privacy=privacy).slope
    for n in range(100_000):
        arm = dice.randrange(2)
        yield str(n), 1, arm, int(dice.random() < (1.0 - slope) / 2.0 + slope * MEANS[arm])


def delayed(most: int, dice: random.Random, privacy: float | None) -> Answered:
    """A server holds back the first ``most`` answers that speak for the better arm."""
    held: list[tuple[str, int, int, int]] = []
    for answer in devices(dice, privacy):
        _, _, arm, bit = answer
        if (arm == 0) == (bit == 1) and len(held) < most:
            held.append(answer)
        else:
            yield answer
    yield from held


def leaving(share: float, dice: random.Random, privacy: float | None) -> Answered:
    """A share of those who click on the better arm leave the page before they answer."""
    for answer in devices(dice, privacy):
        _, _, arm, bit = answer
        if not (arm == 0 and bit == 1 and dice.random() < share):
            yield answer


def repeated(each: int, dice: random.Random, _: float | None) -> Answered:
    """Each device gives several answers, and its user always or never clicks on an arm."""
    for n in range(100_000 // each):
        tastes = [int(dice.random() < mean) for mean in MEANS]
        for number in range(1, each + 1):
            arm = dice.randrange(2)
            yield str(n), number, arm, tastes[arm]


Answers = Callable[[random.Random, float | None], Answered]
CASES: tuple[tuple[str, Survey, Answers], ...] = (
    ("none", Survey(privacy=None), devices),
    ("none", Survey(privacy=1.0), devices),
    ("the server delays 20 answers by what they say", Survey(privacy=None), partial(delayed, 20)),
    ("the server delays 20 answers by what they say", Survey(privacy=1.0), partial(delayed, 20)),
    ("the server delays 160 answers by what they say", Survey(privacy=None), partial(delayed, 160)),
    ("the server delays 160 answers by what they say", Survey(privacy=1.0), partial(delayed, 160)),
    ("90 % of clicks on the better option are lost", Survey(privacy=None), partial(leaving, 0.9)),
    (
        "20 answers of each device, users differ",
        Survey(privacy=None, answers=20),
        partial(repeated, 20),
    ),
)


def wrong(survey: Survey, answers: Answers) -> int:
    """In how many runs the worse arm wins."""
    spec = ExperimentSpec(arms=2, name="limits", epsilon=0.1, delta=0.05, scheme=survey)
    count = 0
    for seed in range(RUNS):
        tally = survey.tally(spec)
        for device, number, arm, bit in answers(random.Random(seed), survey.privacy):
            tally.add(Answer("limits", arm, bit, number, 0, device))
            if tally.status() == "agreed":
                break
        count += tally.status() == "agreed" and tally.answer[0] == 1
    return count


def table() -> str:
    """How often each case is wrong."""
    lines = [f"| assumption broken | privacy | wrong, of {RUNS} runs |", "|---|---|---|"]
    for words, survey, answers in CASES:
        lines.append(f"| {words} | {survey.privacy or 'none'} | {wrong(survey, answers)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
