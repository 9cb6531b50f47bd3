"""Every subroutine on every hard problem, under the jury where it ends, in one table.

``python -m scripts.subroutines_on_hard_problems`` prints the table of ``docs/proofs.md``.
"""

from collections.abc import Iterable
from typing import Unpack

from devote.audit.correctness import Correctness, audit_correctness
from devote.audit.rates import Options
from devote.audit.worst_case import hard_problems
from devote.protocol import ExperimentSpec
from devote.rules.algorithm import ALGORITHMS
from devote.schemes import Decentralized, Jury
from devote.simulator import Scenario

SUBROUTINES = tuple(name for name in ALGORITHMS if name != "worst_case")
EPSILON = 0.25
PLAYERS = 32
ORDER = ("proved", "partly", "not proved")
HORIZON = 150_000
"""For SER4, which never stops; the others have all ended long before."""

PHI = 2e-5
"""For SER4: three resets within the horizon on average, with time to answer between them."""


def hard_scenarios(
    algorithm: str,
    *,
    jury: Jury = Jury(),  # noqa: B008
    epsilon: float = EPSILON,
    n_players: int = PLAYERS,
) -> list[Scenario]:
    """One scenario for each hard problem: under the jury, or the paper's vote where none can be.

    A subroutine that never ends has nothing for a juror to pick.
    """
    endless = ALGORITHMS[algorithm].endless
    return [
        Scenario(
            ExperimentSpec(
                arms=problem.n_arms,
                algorithm=algorithm,
                epsilon=epsilon,
                options={"phi": PHI} if endless else {},
                scheme=Decentralized() if endless else jury,
            ),
            problem,
            n_players,
            HORIZON if endless else None,
        )
        for problem in hard_problems(epsilon)
    ]


def audit_all(
    algorithms: Iterable[str] = SUBROUTINES, **options: Unpack[Options]
) -> dict[str, list[Correctness]]:
    """Audit every subroutine on every hard problem.

    Paper: Theorem 1, with Property 1's subroutines; the jury is this project's.
    """
    return {
        name: [audit_correctness(scenario, **options) for scenario in hard_scenarios(name)]
        for name in algorithms
    }


def as_markdown(found: dict[str, list[Correctness]]) -> str:
    """Failures of runs, the upper end of the worst interval, stalls, lone errors."""
    lines = [
        "| subroutine | Property 1 | failed / runs | upper end, worst problem | stalled "
        "| plurality wrong on a stall | lone error, worst | bound on it |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, rows in found.items():
        lone = [row.lone.value for row in rows if row.lone is not None]
        bounds = [row.promised.bound or 1.0 for row in rows]
        stalls = sum(row.stalled.count for row in rows)
        weakest = max((row.promised.standing for row in rows), key=ORDER.index)
        lines.append(
            f"| {name} | {weakest} "
            f"| {sum(row.failure.count for row in rows)} / "
            f"{sum(row.failure.runs for row in rows):,} "
            f"| {max(row.failure.interval[1] for row in rows):.4f} | {stalls} "
            f"| {sum(row.plurality_wrong.count for row in rows)} of {stalls} "
            f"| {f'{max(lone):.3f}' if lone else '-'} "
            f"| {f'{max(bounds):.2g}' if max(bounds) < 1.0 else '-'} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(as_markdown(audit_all()))
