"""Answers that a survey takes: problem 1 and click rates, stale reads, and liars.

Run ``python -m benchmarks.survey_answers`` in the root of the repository. It prints three tables
in Markdown, in twenty minutes; ``--runs 20`` is a first look. A cell has the mean, its
standard error and the 95th percentile. Lies are fed to the tally that boards run; the rest comes
from the compiled simulation of a survey, which a test compares with that tally.
"""

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from devote import ExperimentSpec
from devote.rules.randomizer import blur_reward
from devote.schemes import Survey
from devote.schemes.survey.tally import Answer
from devote.simulator.answers import simulate_answers

RULES = ("betting", "mixture_elimination")
SEED = 1
FEWEST_RUNS = 20
ANSWERS = 40_000_000
"""A cell has fewer runs where these would take more answers than this, but ``FEWEST_RUNS``."""


@dataclass(frozen=True)
class Setting:
    """What arms pay, how close to the best will do, and the privacies to try."""

    name: str
    means: tuple[float, ...]
    epsilon: float
    privacies: tuple[float | None, ...]

    def spec(
        self, privacy: float | None, algorithm: str = "betting", liars: int = 0
    ) -> ExperimentSpec:
        """A survey of this setting."""
        return ExperimentSpec(
            arms=len(self.means),
            algorithm=algorithm,
            epsilon=self.epsilon,
            delta=0.05,
            scheme=Survey(privacy, liars=liars),
        )

    def is_right(self, arm: int) -> bool:
        """Whether an arm is epsilon-optimal."""
        return self.means[arm] >= max(self.means) - self.epsilon


PROBLEM_1 = Setting("problem 1", (0.7, 0.5, 0.3, *[0.1] * 7), 0.25, (None, 4.0, 2.0, 1.0))
CLICKS = Setting(".05 .04 .03 .03", (0.05, 0.04, 0.03, 0.03), 0.005, (None, 4.0, 2.0, 1.0))
RARE = Setting(".01, three of .008", (0.01, 0.008, 0.008, 0.008), 0.001, (None, 4.0, 2.0, 1.0))


def summary(setting: Setting, answers: ArrayLike, winners: Sequence[int]) -> str:
    given = np.asarray(answers)
    error = given.std(ddof=1) / len(given) ** 0.5
    text = f"{given.mean():,.0f} ± {error:,.0f}; {np.quantile(given, 0.95):,.0f}"
    wrong = sum(not setting.is_right(arm) for arm in winners)
    return f"{text} ({wrong} of {len(given)} wrong)" if wrong else text


def simulated(setting: Setting, spec: ExperimentSpec, runs: int, stale: int = 0) -> str:
    first = simulate_answers(spec, setting.means, runs=FEWEST_RUNS, seed=SEED, stale=stale)
    runs = min(runs, max(FEWEST_RUNS, int(ANSWERS / first.answers.mean())))
    found = simulate_answers(spec, setting.means, runs=runs, seed=SEED, stale=stale)
    return summary(setting, found.answers, found.winner.tolist())


def with_lies(setting: Setting, spec: ExperimentSpec, runs: int, lies: int) -> str:
    found = [on_a_board(setting, spec, run, lies) for run in range(runs)]
    return summary(setting, [n for n, _ in found], [arm for _, arm in found])


def on_a_board(setting: Setting, spec: ExperimentSpec, run: int, lies: int) -> tuple[int, int]:
    """How many answers decide, and for which arm.

    Lies come first. Half of them say 1 of the worst arm, half say 0 of the best.
    """
    draw = random.Random(f"{SEED}/{run}").random
    survey = spec.scheme
    assert isinstance(survey, Survey)
    tally, n = survey.tally(spec), 0

    def post(arm: int, bit: int) -> None:
        nonlocal n
        n += 1
        tally.add(Answer(spec.name, arm, bit, number=1, seen=0, voter=str(n)))

    for lie in range(lies):
        post(*((0, 0) if lie % 2 else (spec.n_arms - 1, 1)))
    while tally.status() == "open":
        asked = tally.public()["asked"]
        arm = asked[int(draw() * len(asked))]
        post(arm, blur_reward(float(draw() < setting.means[arm]), draw(), survey.truths))
    return n, tally.answer[0]


def row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def compare_rules(runs: int) -> None:
    row("means", "privacy", *RULES)
    row(*["---"] * (2 + len(RULES)))
    for setting in (PROBLEM_1, CLICKS, RARE):
        for privacy in setting.privacies:
            specs = [setting.spec(privacy, algorithm) for algorithm in RULES]
            row(setting.name, privacy, *(simulated(setting, spec, runs) for spec in specs))


def compare_reads(runs: int) -> None:
    reads = (0, 50, 200)
    row("means", "privacy", "read at once", *(f"every {stale} answers" for stale in reads[1:]))
    row(*["---"] * (2 + len(reads)))
    for setting in (PROBLEM_1, CLICKS):
        for privacy in (None, 1.0):
            spec = setting.spec(privacy)
            cells = (simulated(setting, spec, runs, stale) for stale in reads)
            row(setting.name, privacy, *cells)


def compare_liars(runs: int) -> None:
    cases = ((0, 0), (20, 0), (20, 20), (0, 100), (100, 100))
    row("means", "privacy", *(f"{lies} lies, liars {liars}" for lies, liars in cases))
    row(*["---"] * (2 + len(cases)))
    for privacy in (None, 4.0, 2.0):
        specs = [(CLICKS.spec(privacy, liars=liars), lies) for lies, liars in cases]
        row(CLICKS.name, privacy, *(with_lies(CLICKS, spec, runs, lies) for spec, lies in specs))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400, help="a tenth of them with lies")
    given = parser.parse_args()
    compare_rules(given.runs)
    compare_reads(given.runs)
    compare_liars(max(2, given.runs // 10))
