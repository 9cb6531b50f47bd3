"""What the jury costs: samples and messages beside Decentralized Elimination.

``python -m devote.audit.price`` prints the table of ``docs/proofs.md``.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from devote.problems import get_problem
from devote.protocol import ExperimentSpec
from devote.schemes import Decentralized, Jury
from devote.simulate import Scenario, run_sweep
from devote.simulate.sweep.sweep import Progress

PLAYERS = (32, 64, 128, 256, 512, 1024)
SCHEMES = (Decentralized(), Jury())
"""Each with its own default of eta."""


@dataclass(frozen=True)
class Price:
    """The mean cost of one scenario over its trials; ``right`` ones agreed on a good arm."""

    scenario: Scenario
    samples: float
    broadcasts: float
    trials: int
    agreed: int
    right: int


def price_of_jury(
    *,
    problems: Iterable[str] = ("1", "2"),
    players: Iterable[int] = PLAYERS,
    algorithm: str = "ser3",
    trials: int = 20,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[Price]:
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
    results = run_sweep(scenarios, trials=trials, seed=seed, workers=workers, progress=progress)
    return [
        Price(
            scenario=result.scenario,
            samples=float(result.samples.mean()),
            broadcasts=float(result.broadcasts.mean()),
            trials=result.trials,
            agreed=result.status_counts()["agreed"],
            right=sum(
                good and status == "agreed"
                for good, status in zip(result.epsilon_optimal.tolist(), result.status, strict=True)
            ),
        )
        for result in results
    ]


def as_markdown(prices: Iterable[Price]) -> Iterator[str]:
    """One line per problem and number of players, both schemes side by side."""
    yield (
        "| problem | N | samples, decentralized | samples, jury | ratio "
        "| messages, decentralized | messages, jury | agreed and right, jury |"
    )
    yield "|---" * 8 + "|"
    # In pairs, as they were run.
    rows = iter(prices)
    for vote, jury in zip(rows, rows, strict=True):
        yield (
            f"| {vote.scenario.problem.name} | {vote.scenario.n_players:,} | {vote.samples:,.0f} "
            f"| {jury.samples:,.0f} | {jury.samples / vote.samples:.2f} "
            f"| {vote.broadcasts:,.0f} | {jury.broadcasts:,.0f} | {jury.right} of {jury.trials} |"
        )


if __name__ == "__main__":
    print(*as_markdown(price_of_jury()), sep="\n")
