"""What a planner asks of a scheme: which of its specifications suits a wish, and what that takes.

The planner compares schemes by these few methods and names none of them. Each has a default, so
that a scheme from outside is compared too: by simulation, where it has no forecast.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from devote.protocol.spec import ExperimentSpec


@dataclass(frozen=True)
class Wish:
    """What somebody wants of an experiment, before a scheme is chosen.

    ``privacy`` is the e of local differential privacy asked for all that a device says, None for
    none. ``means`` is what arms are expected to pay; None plans for the hardest.
    """

    n_players: int
    n_arms: int
    epsilon: float
    delta: float
    privacy: float | None = None
    means: tuple[float, ...] | None = None
    algorithm: str = "mixture_elimination"

    def spec(self, scheme: Any, **more: Any) -> "ExperimentSpec":
        """The specification with this scheme; ``more`` are further fields of it."""
        from devote.protocol.spec import ExperimentSpec

        return ExperimentSpec(
            arms=self.n_arms,
            algorithm=self.algorithm,
            epsilon=self.epsilon,
            delta=self.delta,
            scheme=scheme,
            **more,
        )


@dataclass(frozen=True)
class Forecast:
    """About what an experiment takes, without simulating it.

    ``devices``: with fewer it does not come to an answer. ``plays``: of each device on average
    until there is one, infinite where there are too few devices. ``messages``: of all devices.
    """

    devices: int
    plays: float
    messages: float


class Plannable:
    """The part of a scheme's contract that a planner needs."""

    @classmethod
    def suited(cls, wish: Wish) -> "ExperimentSpec":
        """The specification of this scheme that suits a wish; SpecError where none does.

        By default the scheme as it is, with the privacy asked for where it has such a parameter.
        """
        own = {item.name for item in fields(cls)}  # type: ignore[arg-type]
        asked = {} if wish.privacy is None or "privacy" not in own else {"privacy": wish.privacy}
        return wish.spec(cls(**asked))

    def forecast(
        self, spec: "ExperimentSpec", n_players: int, means: Sequence[float] | None = None
    ) -> Forecast | None:
        """About what it takes if arms pay ``means``; without them, at most on any problem.

        None where nothing is known: then it has to be simulated.
        """
        return None

    def proved_privacy(self, spec: "ExperimentSpec") -> float | None:
        """The e of local differential privacy proved of all that a device says; None if none is."""
        return None

    def liars_to_turn(self, spec: "ExperimentSpec", messages: float) -> int | None:
        """The fewest lying devices that can turn the answer, of so many messages; None: unknown."""
        return None

    def asks(self, spec: "ExperimentSpec") -> str:
        """What it asks of each device, in a few words."""
        return "its plays, and what the scheme's own page says"
