"""What a scheme promises, how firmly, and what must be known of a case to say so."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from devote.protocol.spec import ExperimentSpec

Standing: TypeAlias = Literal["proved", "measured", "claimed", "refuted"]


@dataclass(frozen=True)
class Case:
    """An experiment to be judged: its specification, its players, and what is known of its arms.

    ``n_optimal`` is the number of epsilon-optimal arms and ``broken`` says which assumption of
    the proofs the problem breaks; of a real fleet both are unknown, None and empty.
    ``users_differ``: all that it breaks is that arms pay all users alike.
    """

    spec: "ExperimentSpec"
    n_players: int | None = None
    n_optimal: int | None = None
    broken: str = ""
    users_differ: bool = False


@dataclass(frozen=True)
class Bound:
    """A probability of a wrong answer, what it is called, and the sentence to tell a person.

    ``if one arm is good`` is proved where exactly one arm is epsilon-optimal; elsewhere it is
    no bound.
    """

    name: Literal["claimed", "if one arm is good", "proved"]
    value: float
    text: str


@dataclass(frozen=True)
class Promise:
    """What is promised, how firmly, and the sentence to tell a person."""

    name: str
    standing: Standing
    words: str
