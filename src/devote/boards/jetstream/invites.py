"""Invites: a stream with one entry for each that is not used, which the first who uses it takes.

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
from dataclasses import dataclass
from itertools import islice

from nats.js.api import DiscardPolicy, Header, StreamConfig
from nats.js.errors import APIError, NotFoundError

from devote.boards.jetstream.connection import Connection

_AT_ONCE = 500
_OUTRUN = (10071, 10164)
"""JetStream's codes for an entry that was changed meanwhile."""


@dataclass(frozen=True)
class _Entry:
    """An invite that is not used: where it is, for which voter it was taken, when it expires."""

    place: int
    voter: str
    expires: int | None


class Invites:
    """The invites of all experiments that are not used."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.stream = f"{connection.address.name}_invites"
        self._before = f"{connection.address.name}.invites"

    async def start(self) -> None:
        """Make the stream if it is not there."""
        await self._connection.stream(
            StreamConfig(
                name=self.stream,
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
            writing = (self._write(board, h, _Entry(0, "", expires)) for h, expires in part)
            await asyncio.gather(*writing)

    async def revoke(self, board: str, hashes: Iterable[str]) -> int:
        """Erase invites that nobody has used or is using; returns how many there were."""
        erased = 0
        for invite in hashes:
            found = await self._read(board, invite)
            if found is not None and not found.voter:
                erased += await self._erase(found)
        return erased

    async def purge(self, board: str) -> int:
        """Erase all invites of a board; returns how many there were."""
        there = await self.count(board)
        await self._connection.js.purge_stream(self.stream, subject=f"{self._before}.{board}.*")
        return there

    async def take(self, board: str, invite: str, voter: str) -> bool:
        """Take an invite for a voter; False if it is unknown, used, or another's."""
        while True:
            found = await self._read(board, invite)
            if found is None or found.voter not in ("", voter):
                return False
            if found.voter == voter:
                return True
            if await self._write(board, invite, _Entry(found.place, voter, found.expires)):
                return True

    async def give_back(self, board: str, invite: str, voter: str) -> None:
        """Let others use an invite that was taken for a voter who was not enrolled."""
        found = await self._read(board, invite)
        if found is not None and found.voter == voter:
            await self._write(board, invite, _Entry(found.place, "", found.expires))

    async def use_up(self, board: str, invite: str, voter: str) -> None:
        """Erase an invite whose voter is enrolled."""
        found = await self._read(board, invite)
        if found is not None and found.voter == voter:
            await self._erase(found)

    async def count(self, board: str) -> int:
        """How many are not used."""
        return len(await self._hashes(board))

    async def all(self, board: str) -> list[tuple[str, int | None]]:
        """The hashes of those that nobody has used or is using, and when they expire."""
        there, found = sorted(await self._hashes(board)), []
        for first in range(0, len(there), _AT_ONCE):
            part = there[first : first + _AT_ONCE]
            rows = await asyncio.gather(*(self._read(board, each) for each in part))
            unused = zip(part, rows, strict=True)
            found += [(hashed, row.expires) for hashed, row in unused if row and not row.voter]
        return found

    async def _hashes(self, board: str) -> list[str]:
        info = await self._connection.js.stream_info(
            self.stream, subjects_filter=f"{self._before}.{board}.*"
        )
        return [subject.rpartition(".")[2] for subject in info.state.subjects or {}]

    async def _read(self, board: str, invite: str) -> _Entry | None:
        subject = f"{self._before}.{board}.{invite}"
        try:
            found = await self._connection.js.get_last_msg(self.stream, subject)
        except NotFoundError:
            return None
        voter, _, expires = (found.data or b"").decode().partition("@")
        return _Entry(int(found.seq or 0), voter, int(expires) if expires else None)

    async def _write(self, board: str, invite: str, entry: _Entry) -> bool:
        """Put an entry in the place of the one at its place; False if that was changed."""
        lasts = None if entry.expires is None else max(1, math.ceil(entry.expires - time.time()))
        ending = "" if entry.expires is None else f"@{entry.expires}"
        try:
            await self._connection.js.publish(
                f"{self._before}.{board}.{invite}",
                (entry.voter + ending).encode(),
                headers={Header.EXPECTED_LAST_SUBJECT_SEQUENCE: str(entry.place)},
                msg_ttl=lasts,
            )
        except APIError as error:
            if error.err_code not in _OUTRUN:
                raise
            return False
        return True

    async def _erase(self, entry: _Entry) -> bool:
        """Erase an entry; False if somebody was quicker."""
        with suppress(NotFoundError):
            await self._connection.js.delete_msg(self.stream, entry.place)
            return True
        return False
