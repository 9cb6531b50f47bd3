"""One run's ingredients, checked together before any work is done."""

from dataclasses import dataclass

from devote.kernels import Algorithm, Rule, get_algorithm
from devote.problems import Problem
from devote.protocol import ExperimentSpec, Protocol, SpecError, get_protocol


@dataclass(frozen=True)
class Setting:
    """A specification, a problem, a number of players and a protocol that fit together."""

    spec: ExperimentSpec
    problem: Problem
    n_players: int
    protocol: Protocol
    horizon: int | None = None

    @classmethod
    def of(
        cls,
        spec: ExperimentSpec,
        problem: Problem,
        n_players: int,
        protocol: str | Protocol | None = None,
        horizon: int | None = None,
    ) -> "Setting":
        """Check and combine; the protocol is the specification's unless another is given."""
        named = protocol or spec.protocol
        chosen = get_protocol(named) if isinstance(named, str) else named
        chosen.check(spec, n_players)
        if spec.n_arms != problem.n_arms:
            raise SpecError(
                f"The specification has {spec.n_arms} arms, the problem {problem.n_arms}.\n"
                "Give both the same number."
            )
        if horizon is not None and (type(horizon) is not int or horizon < 1):
            raise SpecError(f"horizon={horizon!r} must be a number of pulls, 1 or more.\nRaise it.")
        if horizon is None and get_algorithm(spec.algorithm).endless:
            raise SpecError(
                f"{spec.algorithm} never stops by itself.\nGive a horizon, the number of pulls."
            )
        return cls(spec, problem, n_players, chosen, horizon)

    @property
    def algorithm(self) -> Algorithm:
        """The subroutine."""
        return get_algorithm(self.spec.algorithm)

    @property
    def rule(self) -> Rule:
        """The constants of the subroutine under this protocol."""
        return self.algorithm.rule(
            n_arms=self.spec.n_arms,
            epsilon=self.spec.epsilon,
            eta=self.protocol.subroutine_eta(self.spec, self.n_players),
            phi=self.spec.phi,
            options=self.spec.options,
        )
