"""A scheme from outside with two kinds of messages about an option; one of them decides nothing."""

from dataclasses import dataclass, replace
from typing import ClassVar

from examples.scheme.first_to_finish import Finished, FirstFinish, FirstToFinish

from devote.protocol import About, ExperimentSpec, Message
from devote.protocol.messages import ARM, message
from devote.protocol.scheme import register_scheme


@dataclass(frozen=True, slots=True)
class Boo:
    experiment: str
    arm: int
    voter: str


class Noise(FirstFinish):
    def _refusal(self, message: Message) -> str | None:
        return super()._refusal(message) if isinstance(message, Finished) else None

    def add(self, message: Message) -> bool:
        return isinstance(message, Finished) and super().add(message)


@dataclass(frozen=True)
class Applause(FirstToFinish):
    name: ClassVar[str] = "applause"
    about: ClassVar[About] = replace(FirstToFinish.about, messages=(Finished, Boo))

    def tally(self, spec: ExperimentSpec) -> Noise:
        return Noise(spec)


def register() -> None:
    message("boo", arm=ARM)(Boo)
    register_scheme(Applause)
