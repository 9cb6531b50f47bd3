"""Suboptimal plays with resets over those without, at each phi one might choose.

``python -m scripts.phi_table`` prints the table of ``docs/proofs.md``.

Paper: Theorem 4, end of its proof; erratum 17.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.simulator import simulate
from devote.studies.estimates import Estimate, ratio
from devote.studies.switches import PROBLEM, printed_phi, suboptimal_plays
from devote.studies.variants import SER3_UNION, SER4
from devote.theory import recommended_phi, reset_plays

TERM_RUNS = 20
"""Simulated terms from which C is taken, as many as ``devote plan`` runs."""


@dataclass(frozen=True)
class Fleet:
    """N players, and how often its best arm switches, with arms of .8 .4 .3 and seven of .1."""

    n_players: int
    eta: float
    stretch: int = 60_000
    switches: int = 2

    @property
    def spec(self) -> ExperimentSpec:
        """Without resets."""
        return SER3_UNION.spec().with_(eta=self.eta)

    @property
    def horizon(self) -> int:
        """Pulls of all players, as long after the last switch as between two."""
        return self.stretch * (self.switches + 1)

    @property
    def problem(self) -> Problem:
        """Problem 4 with a switch after every stretch, to an arm that was never best before."""
        first = PROBLEM.means
        assert self.switches < 5
        arms = [tuple(first[(k - 4 * i) % 10] for k in range(10)) for i in range(self.switches + 1)]
        switches = tuple((self.stretch * i, arms[i]) for i in range(1, self.switches + 1))
        return Problem(f"a switch every {self.stretch:,}", first, switches=switches)

    def plays_per_term(self, *, seed: int) -> float:
        """C: the mean suboptimal plays until the vote has answered."""
        still = Problem("one term", PROBLEM.means)
        runs = simulate(self.spec, still, self.n_players, trials=TERM_RUNS, seed=seed)
        return float(runs.suboptimal_plays.mean())

    def printed(self) -> float:
        """Theorem 4's phi."""
        quorum = self.spec.votes_needed or 0
        return printed_phi(self.n_players, quorum=quorum, n_switches=self.switches)

    def over_no_resets(self, phis: Sequence[float], *, trials: int, seed: int) -> list[Estimate]:
        """Suboptimal plays at each phi over those without resets."""
        specs = [self.spec, *(SER4.spec(phi=phi).with_(eta=self.eta) for phi in phis)]
        where = (self.problem, self.n_players)
        runs = [
            simulate(spec, *where, trials=trials, seed=seed, horizon=self.horizon) for spec in specs
        ]
        plays = [suboptimal_plays(run) for run in runs]
        return [ratio(with_resets, plays[0]) for with_resets in plays[1:]]


FLEETS = (
    Fleet(8, 0.5),
    Fleet(16, 0.7),
    Fleet(32, 0.9),
    Fleet(32, 0.5),
    Fleet(32, 0.5, stretch=20_000, switches=4),
)
"""Four fleets on problem 4, and one where switches come too soon for resets to gain much."""


def rows(*, trials: int = 100, seed: int = 0) -> Iterator[str]:
    """The table, line by line."""
    yield (
        "| N | eta | M | switches, one every | C | printed phi | epsilon times it "
        "| recommended phi | half of it | twice it | never more than |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for fleet in FLEETS:
        cost = fleet.plays_per_term(seed=seed + 1)
        phi = recommended_phi(fleet.switches, horizon=fleet.horizon, plays_per_term=cost)
        printed = fleet.printed()
        phis = (printed, 0.25 * printed, phi, phi / 2.0, phi * 2.0)
        found = fleet.over_no_resets(phis, trials=trials, seed=seed)
        bound = reset_plays(
            phi, n_switches=fleet.switches, horizon=fleet.horizon, plays_per_term=cost
        )
        # Without resets every play after the first switch is of an arm that is best no more.
        share = bound / (cost + fleet.horizon - fleet.stretch)
        yield (
            f"| {fleet.n_players} | {fleet.eta:g} | {fleet.spec.votes_needed} | {fleet.switches}, "
            f"{fleet.stretch:,} | {cost:,.0f} | "
            + " | ".join(
                f"{one.value:.2f} [{one.low:.2f}, {one.high:.2f}] at {at:.1e}"
                for one, at in zip(found, phis, strict=True)
            )
            + f" | {share:.2f} |"
        )


if __name__ == "__main__":
    for row in rows():
        print(row, flush=True)
