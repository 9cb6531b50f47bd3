"""Every sample is sent to everybody, so that all learn as one: the paper's 0-privacy baseline.

Paper: section 5.1.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

from devote.protocol.learner import LearnerSettings
from devote.protocol.messages import Message
from devote.protocol.planning import Promise
from devote.protocol.player import Player
from devote.protocol.scheme import About
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
        self._send([Sample(self.spec.name, self.voter)])


@dataclass(frozen=True)
class Pooled(Isolated):
    """All players learn as one learner at ``delta``.

    Paper: section 5.1, 0-privacy; N-1 messages per sample.
    """

    name: ClassVar[str] = "pooled"
    about: ClassVar[About] = replace(
        Isolated.about,
        summary="every sample is sent to everybody: one learner in effect",
        source="0-privacy",
        sends="every sample",
    )
    costs: ClassVar[tuple[Promise, ...]] = (
        Promise("few messages", "measured", "None is made: every sample goes to everybody."),
        Promise("one answer", "proved", "There is one learner in effect."),
        Promise("privacy", "refuted", "There is none: every reward is sent to everybody."),
    )

    def player(self, spec: ExperimentSpec, voter: str, n_players: int | None = None) -> Player:
        """The one learner."""
        return SharedPlayer(spec, voter, n_players)

    def learner(self, spec: ExperimentSpec, n_players: int | None = None) -> LearnerSettings:
        """At ``delta``, as there is one."""
        return super().learner(spec)
