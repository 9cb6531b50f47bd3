"""What an operator can set: the token, and a limit on everything that a stranger could grow."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from devote.boards.database import make_private
from devote.errors import DevoteError, did_you_mean

LEAST_TOKEN = 16
"""Characters of a token that cannot be guessed."""


class ServerError(DevoteError, ValueError):
    """A setting, an address or a certificate that cannot be used."""


@dataclass(frozen=True)
class Settings:
    """Limits and intervals of a server; the defaults suit one small machine.

    ``token`` is what the operator's calls must bear; without one a fresh one is made. If there is
    a ``token_file``, the token is what that file holds at the time of a call.
    ``body`` and ``message_body`` bound a request in bytes, for a specification and for anything
    else. ``arms``, ``experiments``, ``enrolments`` (per experiment), ``messages`` (per voter),
    ``invites`` (per call) and ``streams`` bound what is kept. ``voter_rate``, ``write_rate`` and
    ``read_rate`` are requests per second, of one voter and of one experiment, and the bursts
    are how many may come at once. ``pace`` is the least time between two reads that devices are
    asked for, ``polls`` how many reads per second all devices of an experiment together may come
    to (more of them read more rarely), and ``settled_pace`` the time between two reads once the
    group has decided. ``streams=0`` sends all to polling. ``heartbeat`` is the longest silence on
    a stream, ``poll`` how long what another process wrote may go unnoticed, ``patience``
    how long a stalled peer is waited for; all in seconds.

    >>> Settings(streams=10).streams
    10
    """

    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    token_file: Path | None = None
    body: int = 262_144
    message_body: int = 4_096
    arms: int = 1_000
    experiments: int = 1_000
    enrolments: int = 2_000_000
    messages: int = 10_000
    invites: int = 10_000
    streams: int = 5_000
    voter_rate: float = 20.0
    voter_burst: float = 200.0
    write_rate: float = 1_000.0
    write_burst: float = 5_000.0
    read_rate: float = 2_000.0
    read_burst: float = 10_000.0
    pace: float = 15.0
    polls: float = 1_000.0
    settled_pace: float = 3_600.0
    heartbeat: float = 5.0
    poll: float = 1.0
    patience: float = 30.0

    def __post_init__(self) -> None:
        if len(self.token) < LEAST_TOKEN:
            raise ServerError(
                f"A token of {len(self.token)} characters can be guessed; {LEAST_TOKEN} are the "
                "least.\n"
                "Leave it out to have one made."
            )
        for name in LIMITS:
            value = getattr(self, name)
            least_is_0 = name == "streams"
            if not (value > 0 or (least_is_0 and value == 0)):
                raise ServerError(f"{name}={value!r} must be above 0.\nGive a larger number.")


LIMITS: dict[str, Any] = {
    item.name: item.type for item in fields(Settings) if item.type in (int, float)
}
"""The limits and intervals by name, each with its type."""


def load_settings(token_file: Path, limits: Sequence[str] = ()) -> Settings:
    """Settings with the token in a file, which is made if it is not there, and changed limits.

    A limit is written ``name=value``; the file is not made if one is refused.
    """
    settings = read_limits(limits)
    if not token_file.exists():
        token_file.touch(mode=0o600)
        token_file.write_text(settings.token + "\n")
    make_private(str(token_file))
    return replace(settings, token=token_file.read_text().strip(), token_file=token_file)


def read_limits(limits: Sequence[str]) -> Settings:
    """Settings with changed limits and a token of their own.

    >>> read_limits(["streams=10"]).streams
    10
    """
    values: dict[str, Any] = {}
    for word in limits:
        name, _, text = word.partition("=")
        if name not in LIMITS:
            raise ServerError(
                f"limit {name!r} is not known.\n{did_you_mean(name, LIMITS)}"
                f"Use one of: {', '.join(LIMITS)}, as name=value."
            )
        try:
            values[name] = int(text) if LIMITS[name] is int else float(text)
        except ValueError:
            raise ServerError(f"limit {word!r} needs a number.\nWrite {name}=100.") from None
    return Settings(**values)
