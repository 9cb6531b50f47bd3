"""A scheme from outside the project, in one file: the first device to finish decides.

Fast, and as bad as it sounds: whoever is done first is often whoever was misled. It is here to
show what a scheme takes, and the tests run it wherever a scheme can run. Importing this file
registers it.
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
    Promise,
    Status,
    Tally,
)
from devote.protocol.messages import ARM, message
from devote.protocol.scheme import Scheme, register_scheme
from devote.rules import merge


@message("finished", arm=ARM)
@dataclass(frozen=True, slots=True)
class Finished:
    """``voter`` is down to ``arm``."""

    experiment: str
    arm: int
    voter: str


class FirstFinish(Tally):
    """The first message on the board, and how many came after it."""

    def __init__(self, spec: ExperimentSpec) -> None:
        super().__init__(spec)
        self.said: dict[str, int] = {}

    def _refusal(self, message: Message) -> str | None:
        if self.said.get(message.voter, message.arm) != message.arm:
            return "This device has finished with another arm.\nA device finishes once."
        return None

    def add(self, message: Message) -> bool:
        new = message.voter not in self.said
        self.said.setdefault(message.voter, message.arm)
        return new

    def status(self, n_players: int | None = None) -> Status:
        return "agreed" if self.said else "open"

    @property
    def shared(self) -> tuple[int, ...]:
        return tuple(self.said.values())[:1] or tuple(range(self.spec.n_arms))

    answer = shared

    def view(self) -> dict[str, Any]:
        arms = list(self.said.values())
        return {
            "heading": "finished with",
            "counts": [arms.count(arm) for arm in range(self.spec.n_arms)],
            "needed": 1,
            "facts": [["devices that have finished", str(len(arms))]],
        }


class Runner(Player):
    """Says which arm it is down to, unless somebody was first."""

    tally: FirstFinish

    def _read(self) -> None:
        mask = [int(arm in self.tally.shared) for arm in range(self.spec.n_arms)]
        self.conflicts += merge(self.learner.state, mask)

    def _learn(self, eliminated: list[int], *, was_reset: bool) -> None:
        if eliminated and self.best is not None and not self.tally.said:
            self._send([Finished(self.spec.name, self.best, self.voter)])


@register_scheme
@dataclass(frozen=True)
class FirstToFinish(Scheme):
    """The first device to be down to one arm decides for all."""

    name: ClassVar[str] = "first_to_finish"
    about: ClassVar[About] = About(
        summary="the first device to finish decides",
        source="(an example)",
        messages=(Finished,),
        why_order="the first to finish decides",
        default_eta=0.01,
    )

    def votes_needed(self, spec: ExperimentSpec) -> int:
        return 1

    def tally(self, spec: ExperimentSpec) -> FirstFinish:
        return FirstFinish(spec)

    def player(self, spec: ExperimentSpec, voter: str, n_players: int | None = None) -> Runner:
        return Runner(spec, voter, n_players)

    def guarantees(self, case: Case) -> Guarantees:
        """One of N is wrong with probability N eta at most."""
        promises = (Promise("one message per device", "proved", "A device finishes once."),)
        if case.n_players is None:
            return Guarantees(promises=promises)
        bound = min(1.0, case.n_players * case.spec.eta)
        text = f"Any of {case.n_players} devices may be first."
        return Guarantees(bounds=(Bound("proved", bound, text),), promises=promises)
