"""Between a file and NATS: experiments moved there, and a copy of all of them in a file.

Moving is copying, reading back, comparing, and only then opening. The board stays the same, so
devices notice nothing but the server's address. An experiment is in the new store from the moment
at which it is opened there, which is the last step: what breaks off before leaves nothing that
anybody sees, and can be done again.
"""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from nats.errors import Error as NatsError
from nats.js.errors import APIError

from devote.boards.backup import copy_whole
from devote.boards.board import BoardRefused, DeletedExperiment, Envelope, UnknownExperiment
from devote.boards.database import StoreError
from devote.boards.jetstream.log import (
    TAKEN,
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


def migrate(source: SqliteStore, target: JetStreamStore, name: str) -> Moved:
    """Move an experiment; if it is there already, check that it is the same."""
    content = source.content(name)
    try:
        there = target.get(name)
    except DeletedExperiment:
        raise
    except UnknownExperiment:
        target.connection.run(_move(content, source, target))
        is_new = True
    else:
        is_new = False
        if there.board != content.experiment.board:
            raise BoardRefused(
                f"Another experiment {name!r} is there already.\n"
                "Give the store another name, as in nats://127.0.0.1:4222/shop."
            )
    found = target.content(name)
    if replace(content, invites=found.invites, state=found.state) != found:
        raise _not_the_same(name)
    return Moved(name, len(content.rows), len(content.voters), len(content.invites), is_new)


async def _move(content: Content, source: SqliteStore, target: JetStreamStore) -> None:
    experiment, log = content.experiment, target.log
    board = experiment.board
    try:
        entries = _entries(content)
        while part := list(islice(entries, _AT_ONCE)):
            await asyncio.gather(*(_send(target, *each) for each in part))
        await target.invites.add(board, content.invites)
        await log.catch_up()
        if target.unopened.get(board, {}) != dict(_entries(content)):
            raise _not_the_same(experiment.name)
        if await asyncio.to_thread(source.content, experiment.name) != content:
            raise StoreError(
                f"Something was posted to {experiment.name!r} meanwhile; nothing was moved.\n"
                "Stop the server of the file, and run this again."
            )
        if not await target.open(experiment, content.state):
            raise StoreError(
                f"Somebody else has just made an experiment {experiment.name!r}; nothing was "
                "moved.\nRun this again."
            )
    except BaseException:
        with suppress(NatsError, TimeoutError):
            await log.purge(board)
            await target.invites.purge(board)
        raise


def _entries(content: Content) -> Iterator[tuple[str, bytes]]:
    """The entries of the log that come to a content."""
    board = content.experiment.board
    for voter in content.voters:
        yield enrolment_subject(board, voter), b""
    for _, text, signature in content.rows:
        message = from_json(text, content.experiment.spec.n_arms)
        yield message_subject(board, message), entry(Envelope(message, signature))
    for voter in content.revoked:
        yield revocation_subject(board, voter), b""


async def _send(target: JetStreamStore, subject: str, content: bytes) -> None:
    """Write an entry, unless an earlier try has left it; without waiting until it is read."""
    try:
        place = await target.log.publish(subject, content, wait=6.0)
    except APIError as error:
        if error.err_code != TAKEN:
            raise
        return
    if place is None:
        raise TimeoutError


def _not_the_same(name: str) -> StoreError:
    return StoreError(
        f"What was read back of {name!r} is not what was copied.\n"
        "Run it again; if it stays so, report this."
    )


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
