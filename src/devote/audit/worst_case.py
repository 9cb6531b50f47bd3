"""Promises put to the test: subroutines that fail exactly as often as Property 1 allows.

With two arms and ``worst_case`` as the subroutine the answer is wrong when the best arm is lost.
Any M of N players do that to the paper's vote; enough of the J jurors must to a jury.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Unpack

from devote.audit.batches import Options, to_json
from devote.audit.correctness import Correctness, audit_correctness
from devote.problems import Problem
from devote.protocol import ExperimentSpec, Scheme, SpecError
from devote.schemes import Decentralized, Jury
from devote.simulator import Scenario

PLAYERS = (28, 29, 32, 64, 128)
"""Around the quorum of 28 that eta = .9 and delta = .05 give, and well above."""

ARMS = Problem("worst-case", (0.9, 0.1), summary="two arms, the first is the best")


@dataclass(frozen=True)
class Refusal:
    """A setting that the scheme does not accept, and why."""

    scheme: str
    n_players: int
    why: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return to_json(self, why="refused")


def audit_worst_case(
    *,
    eta: float | None = None,
    delta: float = 0.05,
    players: Iterable[int] = PLAYERS,
    schemes: Iterable[Scheme] = (Decentralized(), Jury()),
    **options: Unpack[Options],
) -> list[Correctness | Refusal]:
    """The worst-case table: one row for each scheme and number of players.

    Without ``eta`` each scheme has its own default.

    Paper: Theorem 1.
    Differs from print: any M of N players can vote the best arm out (erratum 7).
    """
    sizes = tuple(players)
    rows: list[Correctness | Refusal] = []
    for scheme in schemes:
        given = scheme.about.default_eta if eta is None else eta
        for n_players in sizes:
            try:
                spec = ExperimentSpec(
                    arms=2, algorithm="worst_case", eta=given, delta=delta, scheme=scheme
                )
                scenario = Scenario(spec, ARMS, n_players)
            except SpecError as error:
                rows.append(Refusal(scheme.name, n_players, " ".join(str(error).split())))
                continue
            rows.append(audit_correctness(scenario, **options))
    return rows
