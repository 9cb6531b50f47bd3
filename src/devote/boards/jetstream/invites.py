"""Invites: a bucket with one entry for each that is not used, which the first who uses it takes.

An entry goes through three states, each change of which the nodes let only one server make: empty
(not used), with a voter (taken, while that voter is being enrolled), and erased (used). A server
that dies in between leaves it taken: the same voter can go on, and nobody else. Once the voter is
enrolled the entry is erased, so that nothing links an invite to a voter.
"""

import asyncio
import math
import time
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice

from nats.js.api import DiscardPolicy, Header, StreamConfig
from nats.js.errors import APIError, NotFoundError

from devote.boards.jetstream.connection import Connection, Shared

_AT_ONCE = 500
_OUTRUN = (10071, 10164)
"""JetStream's codes for an entry that another server has changed meanwhile."""


class Invites:
    """The invites of all experiments that are not used."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stream = f"{connection.address.name}_invites"
        self._before = f"{connection.address.name}.invites"
        self._probe = Shared(self.probe)

    async def start(self) -> None:
        """Make the stream if it is not there."""
        await self._connection.stream(
            StreamConfig(
                name=self._stream,
                subjects=[f"{self._before}.>"],
                max_msgs_per_subject=1,
                discard=DiscardPolicy.OLD,
                allow_msg_ttl=True,
            )
        )

    async def add(self, board: str, invites: Iterable[tuple[str, int | None]]) -> None:
        """Enter the hashes of new invites; those that expire are erased by the nodes then."""
        new = iter(invites)
        while part := list(islice(new, _AT_ONCE)):
            await asyncio.gather(*(self._write(board, h, "", 0, expires) for h, expires in part))

    async def revoke(self, board: str, hashes: Iterable[str]) -> int:
        """Erase invites that nobody has used or is using; returns how many there were."""
        erased = 0
        for invite in hashes:
            found = await self._read(board, invite)
            if found is not None and not found[1]:
                with suppress(NotFoundError):  # somebody was quicker
                    await self._connection.js.delete_msg(self._stream, found[0])
                    erased += 1
        return erased

    async def purge(self, board: str) -> int:
        """Erase all invites of a board; returns how many there were."""
        there = await self.count(board)
        await self._connection.js.purge_stream(self._stream, subject=f"{self._before}.{board}.*")
        return there

    async def take(self, board: str, invite: str, voter: str) -> bool:
        """Take an invite for a voter; False if it is unknown, used, or another's."""
        while True:
            found = await self._read(board, invite)
            if found is None:  # a node that is behind may not know of it yet
                await self._probe.run()
                found = await self._read(board, invite)
            if found is None or found[1] not in ("", voter):
                return False
            if found[1] == voter:
                return True
            try:
                await self._write(board, invite, voter, found[0], found[2])
            except APIError as error:
                if error.err_code not in _OUTRUN:
                    raise
            else:
                return True

    async def give_back(self, board: str, invite: str, voter: str) -> None:
        """Let others use an invite that was taken for a voter who was not enrolled."""
        found = await self._read(board, invite)
        if found is not None and found[1] == voter:
            await self._write(board, invite, "", found[0], found[2])

    async def use_up(self, board: str, invite: str, voter: str) -> None:
        """Erase an invite whose voter is enrolled."""
        found = await self._read(board, invite)
        if found is not None and found[1] == voter:
            try:
                await self._connection.js.delete_msg(self._stream, found[0])
            except NotFoundError:
                return  # another server was quicker

    async def count(self, board: str) -> int:
        """How many are not used."""
        return len(await self._there(board))

    async def all(self, board: str) -> list[tuple[str, int | None]]:
        """The hashes of those that nobody has used or is using, and when they expire."""
        there, found = sorted(await self._there(board)), []
        for first in range(0, len(there), _AT_ONCE):
            part = there[first : first + _AT_ONCE]
            rows = await asyncio.gather(*(self._read(board, each) for each in part))
            found += [(h, row[2]) for h, row in zip(part, rows, strict=True) if row and not row[1]]
        return found

    async def _there(self, board: str) -> list[str]:
        info = await self._connection.js.stream_info(
            self._stream, subjects_filter=f"{self._before}.{board}.*"
        )
        return [subject.rpartition(".")[2] for subject in info.state.subjects or {}]

    async def _read(self, board: str, invite: str) -> tuple[int, str, int | None] | None:
        """Where an invite is, for which voter it was taken, and when it expires."""
        try:
            found = await self._connection.js.get_last_msg(
                self._stream, f"{self._before}.{board}.{invite}"
            )
        except NotFoundError:
            return None
        voter, _, expires = (found.data or b"").decode().partition("@")
        return int(found.seq or 0), voter, int(expires) if expires else None

    async def _write(
        self, board: str, invite: str, voter: str, last: int, expires: int | None = None
    ) -> None:
        lasts = None if expires is None else max(1, math.ceil(expires - time.time()))
        await self._connection.js.publish(
            f"{self._before}.{board}.{invite}",
            (voter if expires is None else f"{voter}@{expires}").encode(),
            headers={Header.EXPECTED_LAST_SUBJECT_SEQUENCE: str(last)},
            msg_ttl=lasts,
        )

    async def probe(self) -> None:
        """Write anything, which a node that is cut off cannot; TimeoutError after a while."""
        await self._connection.js.publish(f"{self._before}.barrier", b"")
