"""Betting beside the reference values of a program written apart: alone, in groups, in surveys.

Run ``python -m benchmarks.betting_values`` in the root of the repository. It prints one table in
Markdown in a few minutes; ``--share .1`` makes a tenth of the runs. Each row has what was measured
with its standard error, the reference value with its own where it is known, how many standard
errors of both lie between them, and how many answers were wrong. ``--only liars`` makes a part.
"""

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tests.rules.compiled import play_alone
from tests.statistical.survey_runs import BETTING, Lies, play_surveys

from devote.problems import Problem, get_problem
from devote.protocol import ExperimentSpec
from devote.simulator import simulate
from devote.simulator.run import environment_arrays

PROBLEM_1 = get_problem("1").means
CLICKS = (0.05, 0.04, 0.03, 0.03)
RARE = (0.01, 0.008, 0.008, 0.008)
E = (None, 4.0, 2.0, 1.0, 0.5)


class Row(NamedTuple):
    """One value: a sample of it, the reference and its standard error, how many were wrong."""

    name: str
    sample: NDArray[Any]
    printed: float
    its_error: float | None
    wrong: int

    def __str__(self) -> str:
        runs = len(self.sample)
        own = float(np.std(self.sample, ddof=1)) / math.sqrt(runs)
        mean = float(np.mean(self.sample))
        # Where it is not printed, the reference's standard error is that of as many runs as here.
        off = (mean - self.printed) / math.hypot(
            own, own if self.its_error is None else self.its_error
        )
        error = "" if self.its_error is None else f" +- {digits(self.its_error)}"
        return (
            f"| {self.name} | {digits(mean)} +- {digits(own)} | {digits(self.printed)}{error} "
            f"| {off:+.1f} | {self.wrong:,} of {runs:,} |"
        )


def digits(value: float) -> str:
    """Three digits of a small number, whole ones of a large one."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def survey(
    means: Sequence[float], epsilon: float, delta: float, runs: int, **more: Any
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The answers of each run, and which were wrong."""
    winners, answers = play_surveys(means, epsilon=epsilon, delta=delta, runs=runs, **more)
    good = [k for k, mean in enumerate(means) if mean >= max(means) - epsilon]
    return answers, ~np.isin(winners, good)


def setting(means: Sequence[float], epsilon: float, privacy: float | None) -> str:
    """What a row is about."""
    pays = " ".join(f"{mean:g}" for mean in means)
    return f"{pays}, epsilon {epsilon:g}" + (f", e = {privacy:g}" if privacy else "")


def alone(share: float) -> Iterator[Row]:
    """One learner, problem 1; without noise this is also a survey in order."""
    environment = environment_arrays(get_problem("1").environment(1))
    for eta, printed in ((0.9, 76.0), (0.5, 96.0), (0.2, 122.0), (0.05, 163.0)):
        rule = BETTING.rule(n_arms=10, epsilon=0.25, eta=eta)
        found, pulls, _ = play_alone(BETTING, rule, environment, runs=int(20_000 * share), seed=1)
        yield Row(f"alone, eta {eta}", pulls, printed, 1.0, int((found > 1).sum()))
    for privacy, printed, its_error in (
        (4.0, 174, 1),
        (2.0, 250, 2),
        (1.0, 646, 6),
        (0.5, 2285, 20),
    ):
        spec = ExperimentSpec(arms=10, scheme={"name": "survey", "privacy": privacy})
        slope, epsilon = spec.scheme.slope, spec.scheme.learner(spec).epsilon
        blurred = Problem("blurred", [(1.0 - slope) / 2.0 + slope * mean for mean in PROBLEM_1])
        rule = BETTING.rule(n_arms=10, epsilon=epsilon, eta=0.05)
        environment = environment_arrays(blurred.environment(1))
        found, pulls, _ = play_alone(BETTING, rule, environment, runs=int(4_000 * share), seed=1)
        yield Row(
            f"survey in order, e = {privacy:g}", pulls, printed, its_error, int((found > 1).sum())
        )


def groups(share: float) -> Iterator[Row]:
    """Many players, problem 1.

    The reference counts until every player has been active since the last quorum, this project
    until all hold the arm (erratum 5): the coupon collector's samples less.
    """
    for n_players, decided, held in (
        (64, 4_496, 4_765),
        (256, 12_883, 14_421),
        (1_024, 42_949, 50_559),
    ):
        spec = ExperimentSpec(arms=10, algorithm="betting")
        found = simulate(spec, get_problem("1"), n_players, trials=int(400 * share), seed=1)
        wrong = int((~found.epsilon_optimal).sum())
        less = n_players * math.log(n_players / (n_players - spec.votes_needed))
        name = f"decentralized, N = {n_players:,}"
        yield Row(f"{name}, until the last quorum", found.samples, decided, None, wrong)
        yield Row(
            f"{name}, until all hold it", found.samples_until_all_know + less, held, None, wrong
        )
        yield Row(f"{name}, votes", found.broadcasts, 254, None, wrong)
    for n_players, decided in ((64, 6_525), (1_024, 99_318)):
        spec = ExperimentSpec(arms=10, scheme="jury")
        found = simulate(spec, get_problem("1"), n_players, trials=int(400 * share), seed=1)
        wrong = int((~found.epsilon_optimal).sum())
        name = f"jury, N = {n_players:,}"
        yield Row(f"{name}, until the verdict", found.samples, decided, None, wrong)
        yield Row(f"{name}, messages", found.broadcasts, 39.1, 0.029, wrong)


def drawn(share: float) -> Iterator[Row]:
    """Surveys on problem 1, as devices draw them, and with a tally read every 200 answers."""
    printed = {
        "drawn": ((214, 1), (226, 1), (308, 2), (737, 6), (2_474, 21)),
        "stale": ((272, 3), (288, 3), (409, 5), (907, 11), (2_630, 32)),
    }
    long = dict(zip(E, (310, 326, 470, 1_223, 4_219), strict=True))
    for how, values in printed.items():
        for privacy, (mean, its_error) in zip(E, values, strict=True):
            stale = 200 if how == "stale" else 0
            answers, wrong = survey(
                PROBLEM_1, 0.25, 0.05, int(4_000 * share), privacy=privacy, stale=stale
            )
            name = f"{how}, e = {'none' if privacy is None else f'{privacy:g}'}"
            yield Row(name, answers, mean, its_error, int(wrong.sum()))
            if how == "drawn":
                above = answers > long[privacy]
                yield Row(
                    f"{name}, share above {long[privacy]:,}", above, 0.05, 0.005, int(wrong.sum())
                )


def clicks(share: float) -> Iterator[Row]:
    """Surveys at click rates, drawn."""
    table = (
        (CLICKS, 0.005, None, 1_000, 11_311, 244),
        (CLICKS, 0.005, 4.0, 1_000, 16_496, 348),
        (CLICKS, 0.005, 2.0, 400, 57_641, 1_189),
        (CLICKS, 0.005, 1.0, 200, 242_000, 10_000),
        (RARE, 0.001, None, 200, 104_000, 7_000),
        (RARE, 0.001, 4.0, 100, 301_000, 16_000),
        (RARE, 0.001, 2.0, 40, 2_070_000, 130_000),
    )
    for means, epsilon, privacy, runs, printed, its_error in table:
        answers, wrong = survey(means, epsilon, 0.05, max(20, int(runs * share)), privacy=privacy)
        name = setting(means, epsilon, privacy)
        yield Row(name, answers, printed, its_error, int(wrong.sum()))


def worst_gap(share: float) -> Iterator[Row]:
    """How often it is wrong where an arm is just past epsilon, delta .2.

    ``tests/rules/test_betting.py`` computes the first two exactly, up to 120 rounds.
    """
    table = (
        ((0.5, 0.3999), 0.1, None, 20_000, 0.11),
        ((0.9, 0.7999), 0.1, None, 20_000, 0.07),
        ((0.06, 0.0399), 0.02, None, 10_000, 0.11),
        ((0.5, 0.3999), 0.1, 1.0, 4_000, 0.145),
        ((0.9, 0.7999), 0.1, 1.0, 4_000, 0.145),
        ((0.06, 0.0399), 0.02, 1.0, 1_000, 0.145),
        ((0.05, *[0.0449] * 4), 0.005, None, 400, 0.055),
    )
    for means, epsilon, privacy, runs, printed in table:
        _, wrong = survey(means, epsilon, 0.2, int(runs * share), privacy=privacy)
        name = f"wrong: {setting(means, epsilon, privacy)}"
        # With noise the reference is a range.
        its_error = 0.015 if privacy else math.sqrt(printed * (1 - printed) / 2_000)
        yield Row(name, wrong, printed, its_error, int(wrong.sum()))


def liars(share: float) -> Iterator[Row]:
    """Click rates; lies first in the queues, half for a bad arm and half against the best.

    The reference is rounded to thousands, of 40 runs (12 at e = 1).
    """
    cases = ((0, 0), (20, 20), (0, 100), (100, 100))
    printed = {
        None: (10, 21, 46, 49),
        4.0: (15, 28, 55, 58),
        2.0: (56, 78, 108, 122),
        1.0: (262, 316, 362, 355),
    }
    for privacy, values in printed.items():
        runs = max(20, int((100 if privacy == 1.0 else 400) * share))
        for (lies, allowed), value in zip(cases, values, strict=True):
            answers, wrong = survey(
                CLICKS, 0.005, 0.05, runs, privacy=privacy, lies=lies, liars=allowed
            )
            name = f"{setting(CLICKS, 0.005, privacy)}, {lies} lies, liars {allowed}"
            spread = float(np.std(answers, ddof=1)) / math.sqrt(12 if privacy == 1.0 else 40)
            yield Row(name, answers, 1_000.0 * value, spread, int(wrong.sum()))


def attacks(share: float) -> Iterator[str]:
    """How often lies make it wrong, delta .2: as many as are allowed for, and none allowed for.

    ``READER`` sees the answers that wait in the queues, and lies where that has some of them thrown
    away or kept; in the last column it also holds answers back, so that a hundred wait.
    """
    ways = [*((how, 0) for how in Lies), (Lies.READER, 100)]
    yield f"\n| | {' | '.join(how.name for how, _ in ways)} and delays |"
    yield "|---" * (1 + len(ways)) + "|"
    problems = ((0.63, 0.62, 0.37), 0.25), ((0.63, 0.37, 0.37), 0.25), ((0.06, 0.05, 0.039), 0.02)
    for (means, epsilon), lies in product(problems, (1, 3, 8)):
        for allowed in (lies, 0):
            cells = []
            for how, longest in ways:
                runs = max(20, int((1_000 if longest or epsilon < 0.1 else 4_000) * share))
                _, wrong = survey(
                    means, epsilon, 0.2, runs, lies=lies, liars=allowed, how=how, longest=longest
                )
                cells.append(f"{wrong.mean():.4f}")
            name = f"{setting(means, epsilon, None)}, {lies} lies, liars {allowed}"
            yield f"| {name} | {' | '.join(cells)} |"


PARTS: dict[str, Callable[[float], Iterator[object]]] = {
    "alone": alone,
    "groups": groups,
    "drawn": drawn,
    "clicks": clicks,
    "worst_gap": worst_gap,
    "liars": liars,
    "attacks": attacks,
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--only", choices=PARTS)
    options = parser.parse_args()
    print("| | measured | reference | standard errors apart | wrong |\n|---|---|---|---|---|")
    for name, part in PARTS.items():
        if options.only in (None, name):
            for row in part(options.share):
                print(row, flush=True)


if __name__ == "__main__":
    main()
