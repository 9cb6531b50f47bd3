"""What the jury costs: samples and messages beside Decentralized Elimination.

``python -m scripts.price_of_jury`` prints the table of ``docs/proofs.md``.
"""

from collections.abc import Iterable, Iterator

from devote.problems import get_problem
from devote.protocol import ExperimentSpec
from devote.schemes import Decentralized, Jury
from devote.simulator import Result, Scenario, run_sweep
from devote.simulator.sweep import Progress

PLAYERS = (32, 64, 128, 256, 512, 1024)
SCHEMES = (Decentralized(), Jury())
"""Each with its own default of eta."""


def price_of_jury(
    *,
    problems: Iterable[str] = ("1", "2"),
    players: Iterable[int] = PLAYERS,
    algorithm: str = "ser3",
    trials: int = 20,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[Result]:
    """Both schemes on the same problems with the same numbers of players.

    Paper: section 5.1, problems 1 and 2.
    """
    sizes = tuple(players)
    specs = [ExperimentSpec(arms=10, algorithm=algorithm, scheme=scheme) for scheme in SCHEMES]
    scenarios = [
        Scenario(spec, get_problem(name), n_players)
        for name in problems
        for n_players in sizes
        for spec in specs
    ]
    return run_sweep(scenarios, trials=trials, seed=seed, workers=workers, progress=progress)


def as_markdown(results: Iterable[Result]) -> Iterator[str]:
    """One line per problem and number of players, both schemes side by side."""
    yield (
        "| problem | N | samples, decentralized | samples, jury | ratio "
        "| messages, decentralized | messages, jury | agreed and right, jury |"
    )
    yield "|---" * 8 + "|"
    # In pairs, as they were run.
    rows = iter(results)
    for vote, jury in zip(rows, rows, strict=True):
        before, after = vote.samples_until_all_know.mean(), jury.samples_until_all_know.mean()
        right = int((jury.epsilon_optimal & jury.ended("agreed")).sum())
        yield (
            f"| {vote.problem.name} | {vote.n_players:,} | {before:,.0f} | {after:,.0f} "
            f"| {after / before:.2f} | {vote.broadcasts.mean():,.0f} "
            f"| {jury.broadcasts.mean():,.0f} | {right} of {jury.trials} |"
        )


if __name__ == "__main__":
    print(*as_markdown(price_of_jury()), sep="\n")
