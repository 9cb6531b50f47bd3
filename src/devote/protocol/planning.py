"""What a planner asks of a scheme: which of its specifications suits a wish, and what it promises.

The planner compares schemes by these few methods, and simulates what each takes. Each method has
a default, so that a scheme from outside is compared too.
"""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from devote.protocol.errors import SpecError

if TYPE_CHECKING:
    from devote.protocol.spec import ExperimentSpec


@dataclass(frozen=True)
class Wish:
    """What somebody wants of an experiment, before a scheme is chosen.

    ``privacy`` is the e of local differential privacy asked for all that a device says, None for
    none. Up to ``liars`` devices may say what they like. ``means`` is what arms are expected to
    pay; None where that is not known.
    """

    n_players: int
    n_arms: int
    epsilon: float
    delta: float
    privacy: float | None = None
    liars: int = 0
    means: tuple[float, ...] | None = None
    algorithm: str = "betting"

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


class Plannable:
    """The part of a scheme's contract that a planner needs."""

    @classmethod
    def suited(cls, wish: Wish) -> "ExperimentSpec":
        """The specification of this scheme that suits a wish; SpecError where none does.

        By default the scheme as it is, with the privacy and the liars asked for where it has such
        parameters.
        """
        own = {item.name for item in fields(cls)}  # type: ignore[arg-type]
        asked = {"privacy": wish.privacy, "liars": wish.liars or None}
        given = {k: v for k, v in asked.items() if k in own and v is not None}
        if wish.liars and "liars" not in own:
            raise SpecError(
                f"nothing is proved where {wish.liars:,} devices lie.\n"
                "Use another scheme, or liars=0."
            )
        return wish.spec(cls(**given))

    @property
    def answers_each(self) -> int | None:
        """About how many plays of each device something is asked, ever; None: as many as it takes.

        Where it is a number, the cost does not depend on how many devices there are.
        """
        return None

    @property
    def liars_tolerated(self) -> int:
        """How many lying devices what is proved of the answer tolerates."""
        return 0

    def enough_players(self, spec: "ExperimentSpec") -> int | None:
        """With so many players a run comes to an answer, given time; None: that is to be simulated.

        By default as many as the scheme can work with at all.
        """
        fewest: int = self.fewest_players(spec)  # type: ignore[attr-defined]
        return fewest

    def proved_privacy(self, spec: "ExperimentSpec") -> float | None:
        """The e of local differential privacy proved of all that a device says; None if none is."""
        return None

    def warnings(self, spec: "ExperimentSpec") -> tuple[str, ...]:
        """What whoever plans this should know: whole sentences."""
        return ()

    def asks(self, spec: "ExperimentSpec") -> str:
        """What it asks of each device, in a few words."""
        return "its plays, and what the scheme's own page says"
