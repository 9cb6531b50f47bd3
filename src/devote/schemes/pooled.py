"""Every sample is sent to everybody, so that all learn as one: the paper's 0-privacy baseline.

Paper: section 5.1.
"""

from dataclasses import dataclass
from typing import ClassVar

from devote.protocol.messages import Message
from devote.protocol.player import Player
from devote.protocol.promises import Promise
from devote.protocol.spec import ExperimentSpec
from devote.schemes.isolated import Isolated


@dataclass(frozen=True, slots=True)
class Sample:
    """What one play paid. It stands for the message to everybody, and is never sent by a device."""

    experiment: str
    voter: str


class SharedPlayer(Player):
    """The one learner for which whoever is active plays."""

    def receive(self, message: Message) -> None:
        """It has learned from the sample already; there is nothing else to receive."""
        if not isinstance(message, Sample):
            super().receive(message)

    def _learn(self, eliminated: list[int], *, was_reset: bool) -> None:
        self._say([Sample(self.spec.name, self.voter)])


@dataclass(frozen=True)
class Pooled(Isolated):
    """All players learn as one learner at ``delta``.

    Paper: section 5.1, 0-privacy; N-1 messages per sample.
    """

    name: ClassVar[str] = "pooled"
    paper_name: ClassVar[str] = "0-privacy"
    summary: ClassVar[str] = "every sample is sent to everybody: one learner in effect"
    player_form: ClassVar[type[Player]] = SharedPlayer
    costs: ClassVar[tuple[Promise, ...]] = (
        Promise("few messages", "measured", "None is made: every sample goes to everybody."),
        Promise("one answer", "proved", "There is one learner in effect."),
        Promise("privacy", "refuted", "There is none: every reward is sent to everybody."),
    )
    sends: ClassVar[str] = "every sample"

    def subroutine_eta(self, spec: ExperimentSpec, n_players: int | None) -> float:
        """``delta``."""
        return spec.delta

    def players(self, spec: ExperimentSpec, n_players: int) -> list[Player]:
        """The same one, N times."""
        return [self.player(spec, "0", n_players)] * n_players
