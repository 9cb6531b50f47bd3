"""Between a file and NATS: experiments moved there, and a copy of all of them in a file.

The board stays the same, so devices notice nothing but the server's address. An experiment is in
the new store from the moment at which it is opened there, which is the last step: what breaks off
before leaves nothing that anybody sees, and can be done again.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from devote.boards.backup import copy_whole
from devote.boards.board import BoardRefused, DeletedExperiment, UnknownExperiment
from devote.boards.database import StoreError
from devote.boards.jetstream.store import JetStreamStore
from devote.boards.store import SqliteStore


@dataclass(frozen=True)
class Moved:
    """What was moved of one experiment; ``new`` if it was not there before."""

    name: str
    messages: int
    devices: int
    invites: int
    new: bool


def migrate(source: SqliteStore, target: JetStreamStore, name: str) -> Moved:
    """Move an experiment; if it is there already, check that it is the same."""
    content = source.content(name)

    def check() -> None:
        if source.content(name) != content:
            raise StoreError(
                f"Something was posted to {name!r} meanwhile; nothing was moved.\n"
                "Stop the server of the file, and run this again."
            )

    try:
        there, is_new = target.get(name), False
    except DeletedExperiment:
        raise
    except UnknownExperiment:
        target.connection.run(target.adopt(content, check))
        there, is_new = target.get(name), True
    if there.board != content.experiment.board:
        raise BoardRefused(
            f"Another experiment {name!r} is there already.\n"
            "Give the store another name, as in nats://127.0.0.1:4222/shop."
        )
    found = target.content(name)
    if replace(content, invites=found.invites, state=found.state) != found:
        raise StoreError(
            f"{name!r} is there already, and not what was copied.\n"
            "It has gone on since; use what is there."
        )
    return Moved(name, len(content.rows), len(content.voters), len(content.invites), is_new)


def back_up(source: JetStreamStore, target: Path) -> int:
    """Copy all experiments on NATS to a new board store; returns its size in bytes.

    Each experiment is as of one moment. The file can be served as it is, or moved to other nodes
    with ``devote migrate``. An invite that was taken at that moment is not in it.
    """
    for name in source.names():
        SqliteStore.add_invites(source, name, source.content(name).invites)
    return copy_whole(source.database.copy_to, target)
