"""What the operator's commands share: which server, with which token, and moments in time."""

import os
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from devote.cli.errors import CommandError
from devote.cli.options import takes

if TYPE_CHECKING:
    from devote.boards.operator import Operator

Server = Annotated[str, takes("URL", "The server's address.", envvar="DEVOTE_SERVER")]
TokenFile = Annotated[
    Path,
    takes("FILE", "The operator's token; else DEVOTE_TOKEN, or the file of `devote serve`."),
]
Name = Annotated[str, typer.Argument(metavar="EXPERIMENT", help="The experiment's name.")]

SERVER = "http://127.0.0.1:8600"
TOKEN_FILE = Path("devote-server.db.token")

_LENGTH = re.compile(r"(\d{1,6})([mhdw])")
_SECONDS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
WHEN = (
    "Write a date such as 2027-01-31 or 2027-01-31T18:00, in UTC, or a time from now such as 30d."
)


def operator(server: str, token_file: Path, *, public: bool = False) -> "Operator":
    """A client for the operator's calls; with ``public`` it can do without a token."""
    from devote.boards.operator import Operator

    token = os.environ.get("DEVOTE_TOKEN")
    if token and token_file == TOKEN_FILE:
        return Operator(server, token)
    if token_file.is_file():
        return Operator(server, token_file)
    if public:
        return Operator(server)
    raise CommandError(
        f"This needs the operator's token, and {token_file} is not there.\n"
        "Give --token-file, or set DEVOTE_TOKEN; `devote serve` printed where it is."
    )


def read_moment(text: str) -> int:
    """A moment in seconds since 1970: a date, a date and a time, or a length of time from now.

    >>> read_moment("2026-11-01"), read_moment("2026-11-01T01:00+01:00")
    (1793491200, 1793491200)
    >>> read_moment("2h") - read_moment("1h") in (3600, 3601)
    True
    """
    if length := _LENGTH.fullmatch(text.strip()):
        return int(time.time()) + int(length[1]) * _SECONDS[length[2]]
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise CommandError(f"{text!r} is not a moment.\n{WHEN}") from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
