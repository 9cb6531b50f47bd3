"""What is simulated: a specification, a problem and a number of players that fit together."""

from dataclasses import dataclass
from typing import Any

from devote.kernels import Algorithm, Rule, get_algorithm
from devote.problems import Problem
from devote.protocol import ExperimentSpec, Scheme, SpecError
from devote.protocol.scheme import check


@dataclass(frozen=True)
class Scenario:
    """One setting of a simulation, checked before any work is done.

    ``horizon`` is the most pulls of a trial; a subroutine that never stops needs one.
    """

    spec: ExperimentSpec
    problem: Problem
    n_players: int
    horizon: int | None = None

    def __post_init__(self) -> None:
        self.spec.check_players(self.n_players)
        if self.spec.n_arms != self.problem.n_arms:
            raise SpecError(
                f"The specification has {self.spec.n_arms} arms, the problem "
                f"{self.problem.n_arms}.\nGive both the same number."
            )
        if self.horizon is not None:
            check.whole("horizon", self.horizon, least=1, remedy="It is a number of pulls.")
        elif self.algorithm.endless:
            raise SpecError(
                f"{self.spec.algorithm} never stops by itself.\nGive a horizon, a number of pulls."
            )

    @property
    def scheme(self) -> Scheme:
        """How the players decide."""
        return self.spec.scheme

    @property
    def algorithm(self) -> Algorithm:
        """The subroutine."""
        return get_algorithm(self.spec.algorithm)

    @property
    def rule(self) -> Rule:
        """The constants of the subroutine under this scheme."""
        return self.algorithm.rule(
            n_arms=self.spec.n_arms,
            epsilon=self.scheme.subroutine_epsilon(self.spec),
            eta=self.scheme.subroutine_eta(self.spec, self.n_players),
            options=self.spec.options,
        )

    @property
    def label(self) -> str:
        """A few words for people.

        >>> from devote.problems import PROBLEMS
        >>> Scenario(ExperimentSpec(arms=10), PROBLEMS["1"], 64).label
        'decentralized ser3, problem 1, 64 players'
        """
        options = "".join(f" {name}={value}" for name, value in self.spec.options.items())
        return (
            f"{self.scheme.name} {self.spec.algorithm}{options}, problem {self.problem.name}, "
            f"{self.n_players:,} players"
        )

    @property
    def loop(self) -> tuple[str, str]:
        """What its compiled loop is specialised to."""
        return self.spec.algorithm, self.scheme.name

    def to_dict(self) -> dict[str, Any]:
        """The scenario as JSON values."""
        return {
            "spec": self.spec.to_dict(),
            "problem": self.problem.to_dict(),
            "n_players": self.n_players,
            "horizon": self.horizon,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Scenario":
        """Read what ``to_dict`` gave; before version 2 the scheme stood beside the spec."""
        spec = dict(values["spec"])
        if "protocol" in values:
            spec["protocol"] = values["protocol"]
        return cls(
            spec=ExperimentSpec.from_dict(spec),
            problem=Problem.from_dict(values["problem"]),
            n_players=values["n_players"],
            horizon=values["horizon"],
        )
