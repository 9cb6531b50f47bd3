"""Between a file and NATS: experiments moved there, and a copy of all of them in a file.

Moving is copying, reading back, comparing, and only then there.

The board stays the same, so devices notice nothing but the server's address. An experiment is in
the new store from the moment at which its name is entered there, which is the last step: what
breaks off before leaves nothing that anybody sees, and can be done again.
"""

import asyncio
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from nats.js.errors import NotFoundError

from devote.boards.backup import copy_whole
from devote.boards.board import BoardRefused, Envelope
from devote.boards.database import StoreError
from devote.boards.jetstream.log import (
    Log,
    enrolment_subject,
    entry,
    message_subject,
    revocation_subject,
)
from devote.boards.jetstream.store import JetStreamStore
from devote.boards.store import Content, SqliteStore
from devote.protocol import from_json

_AT_ONCE = 500


@dataclass(frozen=True)
class Moved:
    """What was moved of one experiment; ``new`` if it was not there before."""

    name: str
    messages: int
    devices: int
    invites: int
    new: bool


def _entries(content: Content) -> Iterator[tuple[str, bytes]]:
    """The log that comes to a content."""
    for voter in content.voters:
        yield enrolment_subject(voter), b""
    for _, text, signature in content.rows:
        message = from_json(text, content.experiment.spec.n_arms)
        yield message_subject(message), entry(Envelope(message, signature))
    for voter in content.revoked:
        yield revocation_subject(voter), b""


def _check(content: Content, log: Log, store: SqliteStore) -> None:
    """See that a log, as it was read into a store, comes to exactly this."""
    there = store.content(content.experiment.name)
    kept = replace(content, invites=there.invites, standing=there.standing)
    if log.refused or there != kept:
        raise StoreError(
            f"What was read back of {content.experiment.name!r} is not what was copied; nothing "
            "was moved.\nRun it again; if it stays so, report this."
        )


def migrate(source: SqliteStore, target: JetStreamStore, name: str) -> Moved:
    """Move an experiment; if it is there already, see that it is the same."""
    content = source.content(name)
    there = target.connection.run(target.catalogue.get(name))
    if there is None:
        target.connection.run(_move(content, source, target))
    elif there["board"] != content.experiment.board:
        raise BoardRefused(
            f"Another experiment {name!r} is there already.\n"
            "Give the store another name, as in nats://127.0.0.1:4222/shop."
        )
    else:
        _check(content, target.log(name), target)
    return Moved(name, len(content.rows), len(content.voters), len(content.invites), there is None)


async def _move(content: Content, source: SqliteStore, target: JetStreamStore) -> None:
    experiment = content.experiment
    with closing(SqliteStore(":memory:")) as read_back:
        read_back.create(replace(experiment, enrolled=0))
        log = Log(target.connection, read_back, experiment)
        with suppress(NotFoundError):
            await log.remove()  # what an earlier try has left
        await log.make()
        try:
            entries = _entries(content)
            while part := list(islice(entries, _AT_ONCE)):
                await asyncio.gather(*(log.send(*each) for each in part))
            await target.invites.add(experiment.board, content.invites)
            await log.start()
            _check(content, log, read_back)
            await log.stop()
            if await asyncio.to_thread(source.content, experiment.name) != content:
                raise StoreError(
                    f"Something was posted to {experiment.name!r} meanwhile; nothing was moved.\n"
                    "Stop the server of the file, and run this again."
                )
            if not await target.catalogue.create(experiment, **vars(content.standing)):
                raise StoreError(
                    f"Somebody else has just made an experiment {experiment.name!r}; nothing was "
                    "moved.\nRun this again."
                )
        except BaseException:
            await log.remove()
            raise


def back_up(source: JetStreamStore, target: Path) -> int:
    """Copy all experiments on NATS to a new board store; returns its size in bytes.

    Each experiment is as of one moment. The file can be served as it is, or moved to other nodes
    with ``devote migrate``. An invite that was taken at that moment is not in it.
    """
    for name in source.names():
        invites = source.content(name).invites
        with source.database.write() as db:
            db.executemany(
                "INSERT OR REPLACE INTO invites (experiment, hash, expires) VALUES (?, ?, ?)",
                [(name, hashed, expires) for hashed, expires in invites],
            )
    return copy_whole(source.database.copy_to, target)
