"""Theorem 1 put to the test: subroutines that fail exactly as often as Property 1 allows.

With two arms and ``worst_case`` as the subroutine a vote fails when the best arm is voted out.
Any M of N players do that to ``decentralized``, all J jurors must to ``jury``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from devote.audit.batches import Progress
from devote.audit.correctness import Correctness, audit_correctness
from devote.problems import Problem
from devote.protocol import ExperimentSpec, SpecError
from devote.simulate.cell import Cell

PLAYERS = (28, 29, 32, 64, 128)
"""Around the quorum of 28 that eta = .9 and delta = .05 give, and well above."""

ARMS = Problem("worst-case", (0.9, 0.1), summary="two arms, the first is the best")


@dataclass(frozen=True)
class Refusal:
    """A setting that the protocol does not accept, and why."""

    protocol: str
    n_players: int
    why: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {"protocol": self.protocol, "n_players": self.n_players, "refused": self.why}


def audit_worst_case(
    *,
    eta: float = 0.9,
    delta: float = 0.05,
    players: Iterable[int] = PLAYERS,
    protocols: Iterable[str] = ("decentralized", "jury"),
    precision: float = 0.01,
    confidence: float = 0.95,
    seed: int = 0,
    workers: int | None = 1,
    allow_long: bool = False,
    progress: Progress | None = None,
) -> list[Correctness | Refusal]:
    """The worst-case table: one row for each number of players and protocol.

    Paper: Theorem 1.
    Differs from print: any M of N players can vote the best arm out (erratum 7).
    """
    sizes, ways = tuple(players), tuple(protocols)
    spec = ExperimentSpec(arms=2, algorithm="worst_case", eta=eta, delta=delta)
    rows: list[Correctness | Refusal] = []
    for protocol in ways:
        for n_players in sizes:
            cell = Cell(spec, ARMS, n_players, protocol)
            try:
                _ = cell.setting
            except SpecError as error:
                rows.append(Refusal(protocol, n_players, " ".join(str(error).split())))
                continue
            rows.append(
                audit_correctness(
                    cell,
                    precision=precision,
                    confidence=confidence,
                    seed=seed,
                    workers=workers,
                    allow_long=allow_long,
                    progress=progress,
                )
            )
    return rows
