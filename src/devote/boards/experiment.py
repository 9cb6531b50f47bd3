"""An experiment as a board knows it: its specification, who may take part, and whether it is open.

A closed experiment takes no new message and no new device; everything that is there can be read,
and devices play on with what they know. After its end date an experiment is closed, by the clock of
the server. An archived one is closed and not listed. A deleted one is gone, and its name is never
given to another: devices that still ask for it, and caches, would take the new one for it.
"""

import re
import secrets
import time
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypedDict, get_args
from urllib.parse import urlsplit

from devote.boards.board import BoardRefused
from devote.protocol import ExperimentSpec, SpecError
from devote.protocol.scheme import SCHEMES, check
from devote.protocol.wire import VERSION, Scope

VERSION_HEADER = "Devote-Version"

Enrolment: TypeAlias = Literal["open", "invite"]
ENROLMENTS: tuple[Enrolment, ...] = ("open", "invite")

BOARD = re.compile(r"[0-9a-f]{32}")


def new_board() -> str:
    """A name for a new board: 128 random bits, so that no two boards ever have the same."""
    return secrets.token_hex(16)


def is_address(text: str) -> bool:
    """Whether a text can be the address of something on a server.

    >>> is_address("http://127.0.0.1:8600"), is_address("http://127.0.0.1:86000")
    (True, False)
    """
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def addresses(text: str) -> tuple[str, ...]:
    """The addresses of an experiment on servers that share it, written with commas between them.

    The path need be given once, after the last.

    >>> addresses("http://a:8600,http://b:8600/experiments/banner")
    ('http://a:8600/experiments/banner', 'http://b:8600/experiments/banner')
    """
    servers = [server.strip().rstrip("/") for server in text.split(",")]
    path = servers[-1].partition("/experiments/")[2]
    return tuple(
        server if "/experiments/" in server or not path else f"{server}/experiments/{path}"
        for server in servers
    )


def read_link(text: str) -> tuple[str, str | None]:
    """The address in a link that invites, and the invite; None if there is none.

    >>> read_link("http://127.0.0.1:8600/experiments/banner#invite=q7Lw")
    ('http://127.0.0.1:8600/experiments/banner', 'q7Lw')
    """
    address, found, invite = text.partition("#invite=")
    return address, invite if found else None


@dataclass(frozen=True)
class Experiment:
    """A specification, how devices enrol, at most how many may, how many have, and on which board.

    ``board`` is drawn when an experiment is opened and goes with its log for good: into a backup,
    and to every server that shares the log. All signatures cover it and the fingerprint.

    Enrolment ``open`` takes whoever asks, which is for trying out: one person with a thousand
    keys has a thousand votes. ``invite`` takes one device per single-use invite.
    """

    spec: ExperimentSpec
    enrolment: Enrolment = "open"
    players: int | None = None
    enrolled: int = 0
    board: str = field(default_factory=new_board)

    def __post_init__(self) -> None:
        if self.enrolment not in ENROLMENTS:
            raise SpecError(
                f"enrolment={self.enrolment!r} must be open or invite.\n"
                "Use invite wherever somebody could gain by voting twice."
            )
        if not self.spec.scheme.about.deployable:
            others = ", ".join(
                scheme.name for scheme in SCHEMES.values() if scheme.about.deployable
            )
            raise SpecError(
                f"Devices cannot run the scheme {self.spec.scheme.name}, only simulations can.\n"
                f"Use one of: {others}."
            )
        if not isinstance(self.board, str) or BOARD.fullmatch(self.board) is None:
            raise SpecError(
                f"board={self.board!r} must be 32 digits and letters from a to f.\n"
                "Leave it out to have one drawn."
            )
        check.whole("enrolled", self.enrolled, least=0, remedy="It is how many have enrolled.")
        if self.players is not None:
            self.spec.check_players(self.players)

    @property
    def name(self) -> str:
        """The name, which is also the last part of the experiment's address."""
        return self.spec.name

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, as the server sends it; ``spec`` is just what the fingerprint covers."""
        written = {"version": VERSION, "spec": self.spec.to_dict(), "fingerprint": self.fingerprint}
        return {**vars(self), **written}

    @property
    def facts(self) -> dict[str, Any]:
        """What stays the same of it, for lists of experiments."""
        return {
            "name": self.name,
            "board": self.board,
            "fingerprint": self.fingerprint,
            "scheme": self.spec.scheme.name,
            "enrolment": self.enrolment,
            "players": self.players,
        }

    @property
    def fingerprint(self) -> str:
        """A digest of the specification: devices with another one must not play along."""
        return self.spec.fingerprint

    @property
    def scope(self) -> Scope:
        """Where signatures of this experiment are good."""
        return Scope(self.board, self.fingerprint)

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "Experiment":
        """Read what ``to_dict`` gave; SpecError, KeyError or TypeError if it is not that."""
        others = {name: fields[name] for name in ("enrolment", "players", "board")}
        enrolled = fields.get("enrolled", 0)  # which only lists of experiments tell
        experiment = cls(ExperimentSpec.from_dict(fields["spec"]), enrolled=enrolled, **others)
        if experiment.fingerprint != fields["fingerprint"]:
            raise SpecError(
                f"fingerprint {fields['fingerprint']!r} is not that of the specification "
                f"beside it, {experiment.fingerprint!r}.\nUpgrade the older of the two ends."
            )
        return experiment


State: TypeAlias = Literal["open", "closed", "archived"]
STATES: tuple[State, ...] = get_args(State)


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
class ExperimentState:
    """How an experiment stands; ``ends`` is in seconds since 1970.

    >>> ExperimentState(ends=100).now(99.0), ExperimentState(ends=100).now(100.0)
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

        >>> ExperimentState(ends=1793491200).words
        'open until 2026-11-01 00:00 UTC'
        """
        if self.ends is None or self.state == "archived":
            return self.state
        return f"{self.state}{' until' if self.state == 'open' else ', end'} {written(self.ends)}"

    def why_closed(self, name: str, moment: float) -> str | None:
        """Why nothing new is taken at a moment, or None if it is."""
        if self.now(moment) == "open":
            return None
        if self.state == "open":
            assert self.ends is not None
            return f"Experiment {name!r} ended on {written(self.ends)}."
        return f"Experiment {name!r} is {self.state}."

    def changed(self, now: float, change: Change) -> "ExperimentState":
        """The state after a change. One that is opened again loses an end that has passed."""
        state, ends = change.get("state"), change.get("ends")
        if ends is not None and ends <= now:
            raise BoardRefused(
                f"The end {written(ends)} has passed.\nGive a later one, or close the experiment."
            )
        is_over = self.ends is not None and self.ends <= now
        kept = None if change.get("endless") or (state == "open" and is_over) else self.ends
        return ExperimentState(state or self.now(now), kept if ends is None else ends)
