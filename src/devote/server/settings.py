"""What an operator can set: limits on everything that a stranger could grow, and who may call."""

import hmac
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from devote.boards.board import is_address
from devote.boards.database import make_private
from devote.errors import did_you_mean
from devote.files import write_whole
from devote.server.limits import ServerError as ServerError

LEAST_TOKEN = 16
"""Characters of a token that cannot be guessed."""


@dataclass(frozen=True)
class Settings:
    """Limits and intervals of a server; the defaults suit one small machine.

    ``token`` is what the operator's calls must bear; without one a fresh one is made. If there is
    a ``token_file``, the tokens are what that file holds at the time of a call (``grant_of``).
    ``public_url`` is where devices and people reach this server, in links; ``origins`` are the
    sites whose pages may take part.
    ``body`` and ``message_body`` bound a request in bytes, for a specification and for anything
    else; ``bodies`` how many may be coming at once. ``arms``, ``experiments``, ``enrolments`` (per
    experiment), ``messages`` (per voter), ``invites`` (per call) and ``streams`` bound the rest.
    ``voter_rate`` and ``write_rate`` are requests per second, of one voter and of one experiment;
    ``read_rate`` is bytes per second that are answered about one experiment, of which an answer
    counts for 10,000 at least. The bursts are how many may come at once. ``pace`` is the least time
    between two reads that devices are asked for, ``polls`` how many reads per second all devices of
    an experiment together may come to (more of them read more rarely), and ``settled_pace`` the
    time between two reads once the group has decided. ``streams=0`` sends all to polling.
    ``heartbeat`` is the longest silence on a stream, ``poll`` how long what another process wrote
    may go unnoticed, ``patience`` how long a stalled peer is waited for; all in seconds.

    >>> Settings(streams=10).streams
    10
    """

    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    token_file: Path | None = None
    public_url: str = ""
    origins: tuple[str, ...] = ()
    body: int = 262_144
    message_body: int = 4_096
    bodies: int = 256
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
    read_rate: float = 20e6
    read_burst: float = 100e6
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
                "least.\nLeave it out to have one made."
            )
        if self.public_url and not is_address(self.public_url):
            raise ServerError(
                f"public_url={self.public_url!r} is not an address.\n"
                "Give one like https://vote.example."
            )
        for name in LIMITS:
            value = getattr(self, name)
            if not value > 0 and (name, value) != ("streams", 0):
                raise ServerError(f"{name}={value!r} must be above 0.\nGive a larger number.")


LIMITS: dict[str, Any] = {
    item.name: item.type for item in fields(Settings) if item.type in (int, float)
}
"""The limits and intervals by name, each with its type."""


def load_settings(token_file: Path, limits: Sequence[str] = (), **others: Any) -> Settings:
    """Settings with the tokens in a file, which is made if it is not there, and changed limits.

    A limit is written ``name=value``; the file is not made if one is refused.
    """
    settings = replace(read_limits(limits), **others)
    if not token_file.exists():
        token_file.touch(mode=0o600)
        token_file.write_text(settings.token + "\n")
    make_private(str(token_file))
    tokens = read_tokens(token_file.read_text())
    operators = [token for token, grant in tokens.items() if grant.scope == "operator"]
    return replace(settings, token=operators[0] if operators else "", token_file=token_file)


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
            values[name] = LIMITS[name](text)
        except ValueError:
            raise ServerError(f"limit {word!r} needs a number.\nWrite {name}=100.") from None
    return Settings(**values)


SCOPES = ("operator", "inviter", "reader")


@dataclass(frozen=True)
class Grant:
    """What the bearer of a token may do.

    An operator may do everything, a reader look at the overview and the metrics, and an inviter
    make invites for one experiment, and nothing else.
    """

    scope: str
    experiment: str = ""

    def allows(self, scopes: Sequence[str], experiment: str) -> bool:
        """Whether a call for these scopes, about this experiment, may be made."""
        mine = self.scope != "inviter" or self.experiment == experiment
        return self.scope == "operator" or (self.scope in scopes and mine)

    def __str__(self) -> str:
        return f"{self.scope} {self.experiment}".strip()


def read_tokens(text: str) -> dict[str, Grant]:
    """The tokens in a file: a line each, with its scope, ``operator`` if it names none.

    A token that can be guessed, and a line that says something else, are no tokens.

    >>> read_tokens("0123456789abcdef0 inviter banner")
    {'0123456789abcdef0': Grant(scope='inviter', experiment='banner')}
    """
    found: dict[str, Grant] = {}
    for line in text.splitlines():
        token, scope, experiment = [*line.split(), "", "", ""][:3]
        scope = scope or "operator"
        fits = len(line.split()) <= 3 and bool(experiment) == (scope == "inviter")
        if len(token) >= LEAST_TOKEN and scope in SCOPES and fits:
            found[token] = Grant(scope, experiment)
    return found


def grant_of(settings: Settings, given: str) -> Grant | None:
    """What the bearer of a token may do; it takes as long for a near miss as for any other.

    The file of tokens is read at each call: so a token is added, replaced or taken away without a
    restart, by whoever may write the file, and by no call: a stolen token cannot lock the operator
    out. While the file is missing or cannot be read, no call is let through.
    """
    tokens = {settings.token: Grant("operator")}
    if settings.token_file is not None:
        try:
            tokens = read_tokens(settings.token_file.read_text())
        except (OSError, UnicodeDecodeError):
            return None
    grant = None
    for token, each in tokens.items():
        if hmac.compare_digest(given.encode(), token.encode()):
            grant = each
    return grant


def write_token(path: Path, grant: Grant | None = None, *, keep: bool = False) -> str:
    """Put a fresh token into the file of a server's tokens; returns it.

    It takes the place of those that may do the same, unless these are to be kept.
    """
    grant = grant or Grant("operator")
    token = secrets.token_urlsafe(32)
    there = read_tokens(path.read_text()) if path.exists() else {}
    others = {text: each for text, each in there.items() if keep or each != grant}
    made = {token: grant}
    _write_tokens(path, {**made, **others} if grant.scope == "operator" else {**others, **made})
    return token


def remove_token(path: Path, begins: str) -> Grant:
    """Take away the one token that begins so; returns what it allowed."""
    there = read_tokens(path.read_text())
    found = [text for text in there if begins and text.startswith(begins)]
    if len(found) != 1:
        raise ServerError(
            f"{len(found)} tokens in {path} begin with {begins[:8]!r}, not one.\n"
            "Give more characters; `devote token list` shows the first four."
        )
    grant = there.pop(found[0])
    _write_tokens(path, there)
    return grant


def _write_tokens(path: Path, tokens: Mapping[str, Grant]) -> None:
    """Write the file of a server's tokens, readable for its owner only.

    A file that is replaced keeps its owner: a server that may read the old one may read the new.
    """
    path = path.resolve()  # of a link, the file that it leads to
    before = path.stat() if path.exists() else None
    lines = (f"{token} {grant}".removesuffix(" operator") for token, grant in tokens.items())
    write_whole(path, "".join(f"{line}\n" for line in lines).encode(), mode=0o600)
    if before is not None and os.geteuid() == 0:
        os.chown(path, before.st_uid, before.st_gid)
