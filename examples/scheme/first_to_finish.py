"""A scheme of your own, in one file: the first device to finish decides for all.

Fast, and as bad as it sounds: whoever finishes first was often misled. Copy this file, change its
parts, and call ``devote.check_scheme`` on the result; ``docs/your_own_scheme.md`` explains them.
Importing the file registers the scheme. Then it runs in the simulator, on boards, on devices and on
the page. ``compiled.py`` makes its simulation some hundred times faster.
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
    Scheme,
    Status,
    Tally,
)
from devote.protocol.messages import ARM, message
from devote.rules import merge
from devote.schemes import register_scheme


@message("finished", arm=ARM)
@dataclass(frozen=True, slots=True)
class Finished:
    """``voter`` has ended with ``arm``."""

    experiment: str
    arm: int
    voter: str


class FirstFinish(Tally):
    """The board's half: the arm of the first message is the answer."""

    def __init__(self, spec: ExperimentSpec) -> None:
        super().__init__(spec)
        self.finished: dict[str, int] = {}
        """The arm of each device, in the order of the board."""

    def _refusal(self, message: Message) -> str | None:
        assert isinstance(message, Finished)
        if self.finished.get(message.voter, message.arm) != message.arm:
            return "This device has finished with another arm.\nA device finishes once."
        return None

    def add(self, message: Message) -> bool:
        """Take in a message; returns whether it was new."""
        assert isinstance(message, Finished)
        is_new = message.voter not in self.finished
        self.finished.setdefault(message.voter, message.arm)
        return is_new

    def status(self, n_players: int | None = None) -> Status:
        """Agreed with the first message."""
        return "agreed" if self.finished else "open"

    @property
    def shared(self) -> tuple[int, ...]:
        """All arms; the answer alone once there is one."""
        return tuple(self.finished.values())[:1] or tuple(range(self.spec.n_arms))

    answer = shared

    def view(self) -> dict[str, Any]:
        """What the page shows."""
        arms = list(self.finished.values())
        return {
            "heading": "finished with",
            "counts": [arms.count(arm) for arm in range(self.spec.n_arms)],
            "needed": 1,
            "facts": [["devices that have finished", str(len(arms))]],
        }


class Runner(Player):
    """The device's half: it sends the arm it ends with, unless another was first."""

    tally: FirstFinish

    def _read(self) -> None:
        mask = [int(arm in self.tally.shared) for arm in range(self.spec.n_arms)]
        self.conflicts += merge(self.learner.state, mask)

    def _learn(self, eliminated: list[int], *, was_reset: bool) -> None:
        if eliminated and self.best is not None and not self.tally.finished:
            self._send([Finished(self.spec.name, self.best, self.voter)])


@register_scheme
@dataclass(frozen=True)
class FirstToFinish(Scheme):
    """The first device that is down to one arm decides for all."""

    name: ClassVar[str] = "first_to_finish"
    about: ClassVar[About] = About(
        summary="the first device to finish decides",
        source="(an example)",
        messages=(Finished,),
        why_order="the first to finish decides",
        default_eta=0.01,
    )

    def votes_needed(self, spec: ExperimentSpec) -> int:
        """One message decides."""
        return 1

    def tally(self, spec: ExperimentSpec) -> FirstFinish:
        """A board without messages."""
        return FirstFinish(spec)

    def player(self, spec: ExperimentSpec, voter: str, n_players: int | None = None) -> Runner:
        """A device that has not played yet."""
        return Runner(spec, voter, n_players)

    def guarantees(self, case: Case) -> Guarantees:
        """Any of N devices may be first, so one of N is wrong with probability N eta at most."""
        promises = (Promise("one message per device", "proved", "A device finishes once."),)
        if case.n_players is None:
            return Guarantees(promises=promises)
        bound = min(1.0, case.n_players * case.spec.eta)
        text = f"Any of {case.n_players} devices may be first."
        return Guarantees(bounds=(Bound("proved", bound, text),), promises=promises)
