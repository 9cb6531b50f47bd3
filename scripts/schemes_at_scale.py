"""The schemes side by side at 100,000 and a million devices: samples, messages, right or wrong.

``python -m scripts.schemes_at_scale`` prints the table of ``docs/proofs.md``. On problem 1 of the
paper the vote gets slower with every device; on the hard one a vote with a sharp subroutine is
wrong more often than it may be, at any size.
"""

from collections.abc import Iterable, Iterator

from devote.problems import Problem, get_problem
from devote.protocol import ExperimentSpec, Scheme
from devote.schemes import Decentralized, Jury, Survey
from devote.simulator import Result, Scenario, run_sweep
from devote.simulator.sweep import Progress
from devote.theory import clopper_pearson

ALGORITHM = "mixture_elimination"
SCHEMES: tuple[Scheme, ...] = (Decentralized(), Jury(), Survey())
"""Each with its defaults: eta .9 and 28 votes, eta .2 and 10 of 29 picks, privacy 1."""

PROBLEM_1 = get_problem("1")
HARD = Problem("hard", (0.55, 0.45), summary="two arms, .1 apart, at epsilon .09")
EPSILON = {PROBLEM_1.name: 0.25, HARD.name: 0.09}

PLAYERS = (1_000, 100_000, 1_000_000)
TRIALS = {
    PROBLEM_1.name: ((200, 20, 4), (200, 20, 2), (200, 20, 4)),
    HARD.name: ((2_000, 200, 20), (200, 5, 1), (200, 20, 4)),
}
"""How many of each scheme at each of these sizes; most of the votes on the hard problem, for
their errors."""


def scenarios() -> list[tuple[Scenario, int]]:
    """What is run, and how many times."""
    return [
        (Scenario(spec, problem, n), trials)
        for problem in (PROBLEM_1, HARD)
        for scheme, of_scheme in zip(SCHEMES, TRIALS[problem.name], strict=True)
        for spec in [
            ExperimentSpec(
                arms=problem.n_arms,
                algorithm=ALGORITHM,
                epsilon=EPSILON[problem.name],
                scheme=scheme,
            )
        ]
        for n, trials in zip(PLAYERS, of_scheme, strict=True)
    ]


def at_scale(
    planned: Iterable[tuple[Scenario, int]],
    *,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Iterator[Result]:
    """The results, one after the other."""
    for scenario, trials in planned:
        yield from run_sweep(
            [scenario], trials=trials, seed=seed, workers=workers, progress=progress
        )


def as_markdown(results: Iterable[Result]) -> Iterator[str]:
    """One line per problem, number of devices and scheme; as soon as each is there."""
    yield (
        "| problem | scheme | N | runs | samples to the answer | of each device | messages "
        "| without an answer | wrong |"
    )
    yield "|---" * 9 + "|"
    for result in results:
        done = result.ended("agreed")
        wrong = int((done & ~result.epsilon_optimal).sum())
        low, high = clopper_pearson(wrong, result.trials)
        samples = result.samples[done].mean() if done.any() else float("nan")
        yield (
            f"| {result.problem.name} | `{result.spec.scheme.name}` | {result.n_players:,} "
            f"| {result.trials:,} | {samples:,.0f} | {samples / result.n_players:,.3g} "
            f"| {result.broadcasts.mean():,.0f} | {result.trials - sum(done)} "
            f"| {wrong} of {result.trials:,} [{low:.3f}, {high:.3f}] |"
        )


if __name__ == "__main__":
    for line in as_markdown(at_scale(scenarios())):
        print(line, flush=True)
