"""What the jury costs: samples and messages beside Decentralized Elimination.

``python -m devote.audit.price`` prints the table of ``docs/proofs.md``.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from devote.problems import get_problem
from devote.protocol import ExperimentSpec
from devote.simulate.cell import Cell
from devote.simulate.sweep import Progress, run_sweep

PLAYERS = (32, 64, 128, 256, 512, 1024)
PROTOCOLS = ("decentralized", "jury")


@dataclass(frozen=True)
class Price:
    """The mean cost of one setting over its trials; ``right`` ones agreed on a good arm."""

    problem: str
    n_players: int
    protocol: str
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
    """Both protocols on the same problems with the same numbers of players.

    Paper: section 5.1, problems 1 and 2.
    """
    sizes = tuple(players)
    cells = [
        Cell(ExperimentSpec(arms=10, algorithm=algorithm), get_problem(name), n_players, protocol)
        for name in problems
        for n_players in sizes
        for protocol in PROTOCOLS
    ]
    results = run_sweep(cells, trials=trials, seed=seed, workers=workers, progress=progress)
    return [
        Price(
            problem=cell.problem.name,
            n_players=cell.n_players,
            protocol=cell.protocol,
            samples=float(result.samples.mean()),
            broadcasts=float(result.broadcasts.mean()),
            trials=result.trials,
            agreed=result.status_counts()["agreed"],
            right=sum(
                good and status == "agreed"
                for good, status in zip(result.epsilon_optimal.tolist(), result.status, strict=True)
            ),
        )
        for cell, result in zip(cells, results, strict=True)
    ]


def as_markdown(prices: Iterable[Price]) -> str:
    """One row per problem and number of players, both protocols side by side."""
    found = {(p.problem, p.n_players, p.protocol): p for p in prices}
    lines = [
        "| problem | N | samples, decentralized | samples, jury | ratio "
        "| messages, decentralized | messages, jury | agreed and right, jury |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for problem, n_players in dict.fromkeys(key[:2] for key in found):
        vote, jury = (found[problem, n_players, protocol] for protocol in PROTOCOLS)
        lines.append(
            f"| {problem} | {n_players:,} | {vote.samples:,.0f} | {jury.samples:,.0f} "
            f"| {jury.samples / vote.samples:.2f} | {vote.broadcasts:,.0f} "
            f"| {jury.broadcasts:,.0f} | {jury.right} of {jury.trials} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(as_markdown(price_of_jury()))
