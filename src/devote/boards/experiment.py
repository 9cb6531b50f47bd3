"""An experiment as a board knows it: its specification and who may take part."""

import re
import secrets
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

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
        if not self.spec.scheme.deployable:
            others = ", ".join(scheme.name for scheme in SCHEMES.values() if scheme.deployable)
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
