"""A scheme from outside: the first option with ``needed`` cheers wins; boos are counted too.

It is registered by ``register`` and by nothing under ``src``. Two of its kinds name an arm.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from devote.protocol import (
    About,
    Bound,
    Case,
    ExperimentSpec,
    Guarantees,
    Message,
    Player,
    Scheme,
    Tally,
)
from devote.protocol.messages import ARM, message
from devote.schemes import register_scheme


@dataclass(frozen=True, slots=True)
class Cheer:
    experiment: str
    arm: int
    voter: str


@dataclass(frozen=True, slots=True)
class Boo:
    experiment: str
    arm: int
    voter: str


class Noise(Tally):
    def __init__(self, spec: ExperimentSpec, needed: int) -> None:
        super().__init__(spec)
        self.needed = needed
        self.cheers = [0] * spec.n_arms
        self.boos = 0

    def add(self, message: Message) -> bool:
        if isinstance(message, Cheer):
            self.cheers[message.arm] += 1
        else:
            self.boos += 1
        return True

    def status(self, n_players: int | None = None) -> Any:
        return "agreed" if len(self.shared) == 1 else "open"

    @property
    def shared(self) -> tuple[int, ...]:
        won = [k for k, count in enumerate(self.cheers) if count >= self.needed]
        return tuple(won[:1]) or tuple(range(self.spec.n_arms))

    @property
    def answer(self) -> tuple[int, ...]:
        return tuple(sorted(self.shared, key=lambda k: -self.cheers[k]))

    def view(self) -> dict[str, Any]:
        return {
            "heading": "cheers",
            "counts": list(self.cheers),
            "needed": self.needed,
            "facts": [["boos", f"{self.boos}"]],
        }


@dataclass(frozen=True)
class Applause(Scheme):
    name: ClassVar[str] = "applause"
    about: ClassVar[About] = About(
        summary="the first option with enough cheers wins",
        source="(a test's)",
        messages=(Cheer, Boo),
    )

    needed: int = 2

    def votes_needed(self, spec: ExperimentSpec) -> int:
        return self.needed

    def tally(self, spec: ExperimentSpec) -> Noise:
        return Noise(spec, self.needed)

    def player(self, spec: ExperimentSpec, voter: str, n_players: int | None = None) -> Player:
        return Player(spec, voter)

    def guarantees(self, case: Case) -> Guarantees:
        text = f"With {case.n_players} devices, says this test."
        return Guarantees(bounds=(Bound("claimed", 0.25, text),))


def register() -> None:
    message("cheer", arm=ARM)(Cheer)
    message("boo", arm=ARM)(Boo)
    register_scheme(Applause)
