"""Whether an experiment takes messages: it is open, closed or archived, and it may have an end.

A closed experiment takes no new message and no new device; everything that is there can be read,
and devices play on with what they know. After its end date an experiment is closed, by the clock of
the server. An archived one is closed and not listed. A deleted one is gone, and its name is never
given to another: devices that still ask for it, and caches, would take the new one for it.
"""

import time
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypedDict, get_args

from devote.boards.admission import Receipt, refused
from devote.boards.board import BoardRefused

State: TypeAlias = Literal["open", "closed", "archived"]
STATES: tuple[State, ...] = get_args(State)

REVOKED = refused(
    "The operator has revoked this device.",
    "What it sent before stays; it can read, and sends nothing more.",
    cause="revoked",
)


class UnknownExperiment(BoardRefused):
    """There is no experiment of that name."""


class DeletedExperiment(UnknownExperiment):
    """There was an experiment of that name, and its operator has deleted it."""


class UnreadableExperiment(BoardRefused):
    """The experiment is there, but this version of devote cannot read its specification."""


def unknown(name: str, *, deleted: bool) -> UnknownExperiment:
    """The error that an experiment is not there, or not any more."""
    if deleted:
        return DeletedExperiment(
            f"Experiment {name!r} was deleted by its operator.\n"
            "Take part in another; this name is not used again."
        )
    return UnknownExperiment(
        f"There is no experiment {name!r} here.\nCheck the name, or create it."
    )


def written(moment: float) -> str:
    """A moment as it is told to people.

    >>> written(1793491200)
    '2026-11-01 00:00 UTC'
    """
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(moment))


class Change(TypedDict, total=False):
    """What is to be another: the state, the end, or that there is an end at all."""

    state: State | None
    ends: int | None
    endless: bool


@dataclass(frozen=True)
class Standing:
    """How an experiment stands; ``ends`` is in seconds since 1970.

    >>> Standing(ends=100).now(99.0), Standing(ends=100).now(100.0)
    ('open', 'closed')
    """

    state: State = "open"
    ends: int | None = None

    def now(self, moment: float) -> State:
        """The state at a moment."""
        over = self.ends is not None and moment >= self.ends
        return "closed" if self.state == "open" and over else self.state

    @property
    def words(self) -> str:
        """How an experiment stands, to be told to people.

        >>> Standing(ends=1793491200).words
        'open until 2026-11-01 00:00 UTC'
        """
        if self.ends is None or self.state == "archived":
            return self.state
        return f"{self.state}{' until' if self.state == 'open' else ', end'} {written(self.ends)}"

    def refusal(self, name: str, moment: float) -> Receipt | None:
        """Why nothing new is taken at a moment, or None if it is."""
        if self.now(moment) == "open":
            return None
        if self.state == "open":
            assert self.ends is not None
            why = f"Experiment {name!r} ended on {written(self.ends)}."
        else:
            why = f"Experiment {name!r} is {self.state}."
        return refused(why, "Nothing new is taken; what is there can be read.", cause="closed")
