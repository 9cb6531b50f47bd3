"""What a planner asks of a scheme: which specification suits a wish, and what is promised of it.

The planner compares schemes by these records, and simulates what each takes.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from devote.protocol.spec import ExperimentSpec

Standing: TypeAlias = Literal["proved", "measured", "claimed", "refuted"]


@dataclass(frozen=True)
class Case:
    """An experiment to be judged: its specification, its players, and what is known of its arms.

    ``n_optimal`` is the number of epsilon-optimal arms and ``broken`` names the assumption of
    the proofs the problem breaks; of a real fleet both are unknown, None and empty.
    ``users_differ``: all that it breaks is that arms pay all users alike. The operator has
    withdrawn ``withdrawn`` arms.
    """

    spec: "ExperimentSpec"
    n_players: int | None = None
    n_optimal: int | None = None
    broken: str = ""
    users_differ: bool = False
    withdrawn: int = 0


@dataclass(frozen=True)
class Bound:
    """A probability of a wrong answer, what it is called, and the sentence to show a person.

    ``if one arm is good`` is proved where exactly one arm is epsilon-optimal; elsewhere it is
    no bound.
    """

    name: Literal["claimed", "if one arm is good", "proved"]
    value: float
    text: str


@dataclass(frozen=True)
class Promise:
    """What is promised, how firmly, and the sentence to show a person."""

    name: str
    standing: Standing
    words: str


@dataclass(frozen=True)
class Guarantees:
    """What is known of a case before a run.

    ``bounds``: of the probability of a wrong answer, the boldest first; empty if nothing is known.
    ``promises``: every promise with its standing. ``message_bound``: the most messages ever
    broadcast, in each term; None where nothing bounds them. ``can_stall``: a run may end without
    one answer although everybody has sent all messages. ``no_sample_bound``: why Theorem 2 does
    not bound the samples; empty where it does.
    """

    bounds: tuple[Bound, ...] = ()
    promises: tuple[Promise, ...] = ()
    message_bound: int | None = None
    can_stall: bool = True
    no_sample_bound: str = ""


@dataclass(frozen=True)
class Wish:
    """What somebody wants of an experiment, before a scheme is chosen.

    ``privacy`` is the e of local differential privacy asked for all that a device sends, None for
    none. Up to ``liars`` devices may lie. ``means`` is what arms are expected to
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


@dataclass(frozen=True, kw_only=True)
class Planning:
    """What a planner needs to know of a specification beside its guarantees.

    ``answers_each``: of about how many plays of each device something is asked, ever, so that the
    cost does not depend on the number of devices; None: of as many as it takes.
    ``enough_players``: with so many players a run comes to an answer, given time; None: that is to
    be simulated. ``liars_tolerated``: the bounds hold although so many devices lie. ``asks``: what
    is asked of each device, in a few words. ``numbers`` are shown in a plan, by name, beside the
    votes needed. ``warnings`` are whole sentences.
    """

    answers_each: int | None = None
    enough_players: int | None = None
    liars_tolerated: int = 0
    asks: str = "its plays, and what the scheme's own page describes"
    numbers: dict[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
