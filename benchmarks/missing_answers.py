"""How soon answers that are missing for a reason are noticed, and how often honest ones are.

    python -m benchmarks.missing_answers            # power, and 1,000 honest runs: two minutes

Power: a survey whose best option pays .59 and the other .39, of whose clickers on the best option a
share leaves the page before the answer is sent. A run counts as flagged if the arrival test has
alarmed before an answer is announced. Honest: nothing is missing for a reason; devices read tallies
that are up to 200 answers old, and options are dropped on the way.
"""

import json
import random
import sys
from collections.abc import Sequence

from devote.protocol import ExperimentSpec
from devote.rules.randomizer import blur_reward
from devote.schemes import Answer, Survey
from devote.schemes.survey.tally import SurveyTally

LOST = (0.5, 0.7, 0.9)
POWER_RUNS, HONEST_RUNS = 200, 1_000
STALE = 200


def run(
    spec: ExperimentSpec, means: Sequence[float], lost: float, seed: int, stale: int, most: int
) -> SurveyTally:
    """A survey up to its answer, or ``most`` answers; of clicks on arm 0 a share is lost."""
    rng, tally = random.Random(seed), spec.scheme.tally(spec)
    read, asked, snapshot = 0, tally.asked, tally.snapshot
    while tally.status() == "open" and len(tally) < most:
        if len(tally) >= read:
            read, asked, snapshot = len(tally) + rng.randint(1, stale), tally.asked, tally.snapshot
        arm = rng.choice(asked)
        click = float(rng.random() < means[arm])
        if arm == 0 and click and rng.random() < lost:
            continue
        bit = blur_reward(click, rng.random(), spec.scheme.truths)
        tally.add(Answer(spec.name, arm, bit, 1, snapshot, str(len(tally))))
    return tally


def power(spec: ExperimentSpec, lost: float, runs: int = POWER_RUNS) -> dict[str, float]:
    """The shares of runs that are flagged before the answer, and that end with the wrong one."""
    tallies = [run(spec, (0.59, 0.39), lost, seed, 20, 100_000) for seed in range(runs)]
    flagged = sum(tally.mismatch is not None for tally in tallies)
    wrong = sum(tally.answer[0] != 0 for tally in tallies)
    silent = sum(tally.answer[0] != 0 and tally.mismatch is None for tally in tallies)
    answers = sorted(map(len, tallies))[runs // 2]
    return {
        "lost": lost,
        "runs": runs,
        "flagged": flagged / runs,
        "wrong": wrong / runs,
        "wrong and not flagged": silent / runs,
        "median answers": answers,
    }


def honest_alarms(runs: int = HONEST_RUNS, most: int = 3_000) -> int:
    """How many of so many honest runs raise an alarm; 5 are allowed."""
    alarms = 0
    for seed in range(runs):
        spec = ExperimentSpec(arms=4, epsilon=0.05, scheme=Survey((1.0, 4.0, None)[seed % 3]))
        means = ((0.6, 0.5, 0.4, 0.3), (0.2, 0.15, 0.1, 0.02), (0.5, 0.5, 0.5, 0.5))[seed // 3 % 3]
        alarms += run(spec, means, 0.0, seed, STALE, most).mismatch is not None
    return alarms


def main() -> None:
    for privacy in (None, 2.0):
        for epsilon in (0.05, 0.01):
            spec = ExperimentSpec(arms=2, epsilon=epsilon, scheme=Survey(privacy))
            for lost in LOST:
                row = {"privacy": privacy, "epsilon": epsilon, **power(spec, lost)}
                print(json.dumps(row), flush=True)
    print(json.dumps({"honest runs": HONEST_RUNS, "alarms": honest_alarms()}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
