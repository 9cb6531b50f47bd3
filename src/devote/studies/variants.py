"""The algorithms compared: a subroutine with its options, under the paper's settings.

Paper: section 5.1; epsilon .25, delta .05, eta .9.
"""

from dataclasses import dataclass, field

from devote.problems import get_problem
from devote.protocol import ExperimentSpec
from devote.schemes import Decentralized, make_scheme
from devote.simulator import Scenario

EPSILON, DELTA, ETA = 0.25, 0.05, 0.9


@dataclass(frozen=True)
class Variant:
    """A subroutine as a figure names it."""

    label: str
    algorithm: str
    options: dict[str, str | float] = field(default_factory=dict, hash=False)

    @property
    def form(self) -> str:
        """The form of SER3's radius; empty for others."""
        return str(self.options.get("radius", ""))

    def spec(
        self, scheme: str = "decentralized", *, delta: float = DELTA, phi: float | None = None
    ) -> ExperimentSpec:
        """The subroutine under the paper's settings."""
        return ExperimentSpec(
            arms=10,
            name="paper",
            algorithm=self.algorithm,
            options=self.options if phi is None else {**self.options, "phi": phi},
            epsilon=EPSILON,
            eta=ETA,
            delta=delta,
            scheme=make_scheme(scheme),
        )

    def scenario(self, problem: str, scheme: str, n_players: int) -> Scenario:
        """One point of a curve: this subroutine on a problem, under a scheme."""
        return Scenario(self.spec(scheme), get_problem(problem), n_players)

    def shared(self, problem: str = "1") -> Scenario:
        """The one learner that all players of the 0-privacy baseline share: N does not matter.

        Nor does who wakes: problem 2 has the arms of problem 1, and so the same learner.
        """
        return self.scenario("1" if problem == "2" else problem, "pooled", 1)

    def alone(self, n_players: int) -> Scenario:
        """One of N players of the 1-privacy baseline, by itself on problem 1.

        Paper: section 5.1, a subroutine run with (epsilon, delta/N).
        """
        return Scenario(self.spec("isolated", delta=DELTA / n_players), get_problem("1"), 1)


FORM = "active"
"""The form of SER3's radius that claims and figures take first; the paper prints none.

More of the paper's sentences hold with it (``docs/claims.md`` counts them). The subroutine's own
default stays ``union``, which takes fewer samples.
"""

SER3 = Variant("SER3", "ser3", {"radius": FORM})
SER3_UNION = Variant("SER3 (union)", "ser3", {"radius": "union"})
UGAPEC = Variant("UGapEc", "ugapec")
MEDIAN_ELIMINATION = Variant("Median Elimination", "median_elimination")
SUCCESSIVE_ELIMINATION = Variant("Successive Elimination", "successive_elimination")
SER4 = Variant("SER4", "ser4", {"radius": "union"})

QUORUM = Decentralized().votes_needed(SER3.spec())
"""Votes that eliminate an arm under the paper's settings: 28."""

RADIUS_FORMS = {FORM: SER3, "union": SER3_UNION}
"""SER3 with each form of its radius, the first one first."""

SUBROUTINES = {"SER3 active": SER3, "UGapEc": UGAPEC, "SER3 union": SER3_UNION}
"""Every subroutine a sentence about both SER3 and UGapEc is checked with."""

SCHEMES = {"decentralized": "Decentralized", "isolated": "1-privacy", "pooled": "0-privacy"}
"""The schemes by the names that the paper's figures use."""
