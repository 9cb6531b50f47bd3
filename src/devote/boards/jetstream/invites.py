"""Invites: a bucket with one entry for each that is not used, which the first who uses it takes.

An entry goes through three states, each change of which the nodes let only one server make: empty
(not used), with a voter (taken, while that voter is being enrolled), and erased (used). A server
that dies in between leaves it taken: the same voter can go on, and nobody else. Once the voter is
enrolled the entry is erased, so that nothing links an invite to a voter.
"""

import asyncio
import hashlib
from collections.abc import Iterable

from nats.js.api import DiscardPolicy, Header, StreamConfig
from nats.js.errors import APIError, NotFoundError

from devote.boards.jetstream.connection import Connection

_AT_ONCE = 500
_OUTRUN = (10071, 10164)
"""JetStream's codes for an entry that another server has changed meanwhile."""


def hashed(invite: str) -> str:
    """What is kept of an invite, which is 128 random bits: a plain hash cannot be searched."""
    return hashlib.sha256(invite.encode(errors="surrogatepass")).hexdigest()


class Invites:
    """The invites of all experiments that are not used."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stream = f"{connection.address.name}_invites"
        self._before = f"{connection.address.name}.invites"

    async def start(self) -> None:
        """Make the stream if it is not there."""
        await self._connection.stream(
            StreamConfig(
                name=self._stream,
                subjects=[f"{self._before}.>"],
                max_msgs_per_subject=1,
                discard=DiscardPolicy.OLD,
            )
        )

    async def add(self, board: str, hashes: Iterable[str]) -> None:
        """Enter new invites."""
        new = list(hashes)
        for first in range(0, len(new), _AT_ONCE):
            await asyncio.gather(
                *(self._write(board, each, b"", 0) for each in new[first : first + _AT_ONCE])
            )

    async def take(self, board: str, invite: str, voter: str) -> bool:
        """Take an invite for a voter; False if it is unknown, used, or another's."""
        while True:
            found = await self._read(board, invite)
            if found is None:  # a node that is behind may not know of it yet
                await self.probe()
                found = await self._read(board, invite)
            if found is None or found[1] not in ("", voter):
                return False
            if found[1] == voter:
                return True
            try:
                await self._write(board, invite, voter.encode(), found[0])
            except APIError as error:
                if error.err_code not in _OUTRUN:
                    raise
            else:
                return True

    async def give_back(self, board: str, invite: str, voter: str) -> None:
        """Let others use an invite that was taken for a voter who was not enrolled."""
        found = await self._read(board, invite)
        if found is not None and found[1] == voter:
            await self._write(board, invite, b"", found[0])

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
        info = await self._connection.js.stream_info(
            self._stream, subjects_filter=f"{self._before}.{board}.*"
        )
        return len(info.state.subjects or {})

    async def _read(self, board: str, invite: str) -> tuple[int, str] | None:
        try:
            found = await self._connection.js.get_last_msg(
                self._stream, f"{self._before}.{board}.{invite}"
            )
        except NotFoundError:
            return None
        return int(found.seq or 0), (found.data or b"").decode()

    async def _write(self, board: str, invite: str, content: bytes, last: int) -> None:
        await self._connection.js.publish(
            f"{self._before}.{board}.{invite}",
            content,
            headers={Header.EXPECTED_LAST_SUBJECT_SEQUENCE: str(last)},
        )

    async def probe(self) -> None:
        """Write anything, which a node that is cut off cannot; TimeoutError after a while."""
        await self._connection.js.publish(f"{self._before}.barrier", b"")
