"""How good the forecasts of ``devote plan`` are: 20 questions drawn at random, each asked again.

Run ``python -m benchmarks.plan_accuracy`` in the root of the repository; it takes some minutes and
prints a table in Markdown. For each question the planner's forecast is held against 200 runs at
another seed: of whole fleets (``simulate``) where these are small enough, else of streams of
answers or of juries alone, which the tests compare with whole fleets. Then the devices that the
planner calls enough are tried: at least .93 of runs should decide, of .95 that are promised.

Questions that would take more than ``MOST`` answers by the closed-form estimate are drawn again, to
save time.
"""

import argparse
import math
import random
from typing import Any

import numpy as np

from devote.plan.compare import Row, compare, deployable, weigh
from devote.plan.question import Question
from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.protocol.planning import Wish
from devote.schemes import Survey
from devote.schemes.survey import answers_expected
from devote.simulator import simulate
from devote.simulator.answers import simulate_answers
from devote.simulator.jurors import simulate_jury

SEED = 27
OTHER_SEED = 2027
MOST = 150_000
SMALL = 12_000
"""Devices of a fleet that is simulated whole."""

GOOD = 0.10
DECIDED = 0.93


def draw(rng: random.Random) -> Question:
    """A question: options from click rates to .7, and a fleet of any size."""
    while True:
        n_arms = rng.randint(2, 8)
        best = round(10 ** rng.uniform(math.log10(0.02), math.log10(0.7)), 3)
        means = [best] + [round(best * rng.uniform(0.3, 0.95), 3) for _ in range(n_arms - 1)]
        gap = max(means) - min(means)
        epsilon = float(f"{gap * rng.uniform(0.1, 0.7):.2g}")
        privacy = rng.choice((None, 4.0, 2.0, 1.0))
        delta = rng.choice((0.01, 0.05, 0.05, 0.1, 0.2))
        liars = rng.choice((0, 0, 0, 1, 5, 20))
        n_players = round(10 ** rng.uniform(1.5, 6))
        plays = rng.choice((0.5, 3.0, 20.0))
        visitors = rng.choice((None, None, 300.0, 20_000.0))
        wish = Wish(n_players, n_arms, epsilon, delta, privacy, liars, tuple(means))
        if gap == 0.0 or not 0.0 < epsilon < 0.9 * gap or (visitors or 0.0) > n_players:
            continue
        expected = answers_expected(Survey.suited(wish), means)
        if expected is None or expected > MOST:
            continue
        how = {"plays_per_day": plays} if visitors is None else {"visitors_per_day": visitors}
        question = Question(wish, Problem("drawn", tuple(means)), **how)
        if any(weigh(form, question).is_able for form in deployable()):
            return question


def measure(row: Row, question: Question, runs: int) -> tuple[float, float, str]:
    """The mean of other runs, the share of them that the devices named decide, and what ran."""
    made = row.forecast
    assert made is not None
    spec, means, devices = made.spec, question.problem.means, made.devices
    n = question.wish.n_players
    if made.unit == "plays":
        if n <= 300:
            fleet = simulate(
                spec,
                question.problem,
                n,
                trials=runs,
                seed=OTHER_SEED,
                workers=None,
                progress=False,
            )
            ended = fleet.samples > 0
            return float(fleet.samples[ended].mean() / n), float(ended.mean()), "fleet"
        jury = simulate_jury(spec, means, n, runs=runs, seed=OTHER_SEED)
        few = simulate_jury(spec, means, devices or n, runs=runs, seed=OTHER_SEED)
        ended = jury.winner >= 0
        return float(jury.plays[ended].mean()), float((few.winner >= 0).mean()), "jurors"
    assert devices is not None
    if devices <= SMALL and made.under_way == 0:
        return _whole_survey(spec, question.problem, devices, runs)
    found = simulate_answers(spec, means, runs=runs, seed=OTHER_SEED, lag=made.under_way)
    return float(found.answers.mean()), float((found.answers <= devices).mean()), "stream"


def _whole_survey(
    spec: ExperimentSpec, problem: Problem, devices: int, runs: int
) -> tuple[float, float, str]:
    """A fleet that is more than enough, and one that is just enough."""
    how: dict[str, Any] = {"trials": runs, "workers": None, "progress": False}
    ample = simulate(spec, problem, 4 * devices, seed=OTHER_SEED, **how)
    assert (ample.samples > 0).all()
    enough = simulate(spec, problem, devices, seed=OTHER_SEED + 1, **how)
    return (
        float(ample.broadcasts.mean()),
        float((enough.samples > 0).mean()),
        "fleet",
    )


def show(question: Question, row: Row, mean: float, decided: float, by: str) -> tuple[str, float]:
    """A line of the table, and forecast over measured."""
    wish, made = question.wish, row.forecast
    assert made is not None
    forecast = float(made.takes.mean())
    error = float(made.takes.std(ddof=1)) * 1.96 / math.sqrt(made.runs)
    assert np.isfinite(forecast)
    who = f"{wish.n_players:,} devices"
    if question.visitors_per_day is not None:
        who = f"{question.visitors_per_day:,.0f} visitors a day"
    unit = "answers" if made.unit == "answers" else "plays each"
    cells = [
        " ".join(f"{m:g}" for m in wish.means or ()),
        f"{wish.epsilon:g}",
        "none" if wish.privacy is None else f"{wish.privacy:g}",
        f"{wish.delta:g}",
        str(wish.liars),
        who,
        row.name + ("" if not row.cannot else " (cannot)"),
        f"{forecast:,.0f} ± {error:,.0f} {unit}",
        f"{mean:,.0f}",
        f"{mean / forecast:.3f}",
        f"{made.devices:,}",
        f"{decided:.3f}",
        by,
    ]
    return f"| {' | '.join(cells)} |", mean / forecast


HEADS = (
    *("means", "epsilon", "e", "delta", "liars", "asked of", "scheme", "forecast", "measured"),
    *("ratio", "devices called enough", "decided", "measured by"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--settings", type=int, default=20)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=SEED)
    asked = parser.parse_args()
    rng = random.Random(asked.seed)
    print(f"| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}", flush=True)
    good, worst = 0, 1.0
    for _ in range(asked.settings):
        question = draw(rng)
        found = compare(question, seconds=asked.seconds, with_costs=False)
        survey = next(row for row in found.rows if row.name == Survey.name)
        row = survey if found.use is None else found.use
        mean, decided, by = measure(row, question, asked.runs)
        line, ratio = show(question, row, mean, decided, by)
        print(line, flush=True)
        good += abs(ratio - 1.0) <= GOOD
        worst = min(worst, decided)
    print(f"\n{good} of {asked.settings} within {GOOD:.0%} of the mean.")
    print(f"The devices called enough decide at least {worst:.3f} of runs (aim {DECIDED}).")


if __name__ == "__main__":
    main()
