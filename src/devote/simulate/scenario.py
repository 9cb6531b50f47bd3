"""What is simulated: a specification, a problem and a number of players that fit together."""

from dataclasses import dataclass
from typing import Any

from devote.kernels import Algorithm, Rule, get_algorithm
from devote.problems import Problem
from devote.protocol import ExperimentSpec, Scheme, SpecError
from devote.protocol.scheme import check
from devote.simulate.errors import NeverEnds

PATIENCE = 20_000.0
"""The default limit is so many pulls per arm for the rarest player, over epsilon squared.

Median Elimination, the most patient rule here, makes fewer than 10,000 (K arms, any number of
them, delta down to 5e-5), all others a hundred times fewer.
"""


QUIET = 1_000_000
"""Pulls without a message after which a rule from outside is asked whether it ever votes."""

_asked: set[object] = set()
"""The rules that were asked, and do."""


@dataclass(frozen=True)
class Scenario:
    """One setting of a simulation, checked before any work is done.

    ``horizon`` is the most pulls of a trial; a subroutine that never stops needs one. Without it
    a trial that goes on past every known rule's need (``PATIENCE``) is an error, see ``NeverEnds``.
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

    def check_goes_on(self, samples: int, broadcasts: int) -> None:
        """Refuse to go on with a trial without a horizon that has run past the default limit."""
        if self.horizon is not None:
            return
        if samples >= QUIET and not broadcasts:
            self._check_votes()
        each = PATIENCE * self.spec.n_arms / self.rule.epsilon**2
        # Nobody is rarer than one of N at best, so weights are looked at for long trials only.
        if samples < each * self.n_players:
            return
        rarest = min(filter(None, self.problem.activity.weights(self.n_players)))
        if samples < each / rarest:
            return
        said = "nobody has sent a message" if not broadcasts else f"{broadcasts:,} messages later"
        raise NeverEnds(
            f"A trial of {self.label} has made {samples:,} pulls, {said}, and has not ended.\n"
            f"Check the rule with devote.check_algorithm({self.spec.algorithm!r}), or give a "
            "horizon: trials that reach it are kept as unfinished."
        )

    def _check_votes(self) -> None:
        """A rule that keeps all arms where one always pays and the others never do has no end."""
        rule = self.algorithm.observe
        if rule in _asked or rule.__module__.startswith("devote."):
            return
        from devote.simulate.checking.play import check_votes

        check_votes(self.algorithm)
        _asked.add(rule)

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
