"""Problems and subroutines on which a group errs most easily.

The hard problems put arms where a mistake is likeliest: at a tie, a little past epsilon, or in the
chain of two drops that loses more than epsilon; with few arms, because a bound over K arms is
loosest there.

The worst case is a subroutine that fails exactly as often as Property 1 allows. With two arms and
``worst_case`` as the subroutine the answer is wrong when the best arm is lost. Any M of N players
do that to the paper's vote; enough of the J jurors must to a jury.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Unpack

from devote.audit.correctness import Correctness, audit_correctness
from devote.audit.rates import AuditError, Options, to_json
from devote.problems import Problem, Split
from devote.protocol import ExperimentSpec, Scheme, SpecError
from devote.schemes import Decentralized, Jury
from devote.simulator import Scenario

HAIR = 0.02
"""How far past epsilon an arm lies, in units of epsilon, to be just not good enough."""


def hard_problems(epsilon: float) -> tuple[Problem, ...]:
    """The hard problems at this epsilon, easiest to read first.

    >>> [problem.name for problem in hard_problems(0.25)]
    ['two-arms', 'just-past', 'near-tie', 'chain', 'skewed']
    """
    if not 0.0 < epsilon <= 0.9:
        raise AuditError(
            f"epsilon={epsilon!r}: with more than 0.9 no mean lies far enough below the best.\n"
            "Use an epsilon in (0, 0.9]."
        )
    past = (1.0 + HAIR) * epsilon
    top = 0.5 + past / 2.0
    low = top - past
    return (
        Problem("two-arms", (top, low), summary="K = 2, one arm just past epsilon"),
        Problem("just-past", (top, low, low, low), summary="three arms just past epsilon"),
        Problem("near-tie", (top, top, low, low), summary="two best arms, two just past epsilon"),
        Problem(
            "chain",
            (top, top - (1.0 - HAIR) * epsilon, low),
            summary="an arm just within epsilon and one just past it",
        ),
        Problem(
            "skewed",
            (top, low, low),
            activity=Split(fraction=0.5, share=0.9),
            summary="half of the players make 90 % of the events; arms just past epsilon",
        ),
    )


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
