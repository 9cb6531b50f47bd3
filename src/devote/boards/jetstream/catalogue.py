"""The experiments: a key-value bucket in which each name is created once."""

import json
from collections.abc import Callable
from typing import Any

from nats.js.api import DiscardPolicy, StreamConfig
from nats.js.errors import KeyWrongLastSequenceError

from devote.boards.board import Experiment
from devote.boards.jetstream.connection import Connection
from devote.boards.jetstream.follower import Follower
from devote.boards.jetstream.log import token

Record = dict[str, Any]


class Catalogue:
    """All experiments, by name, as JSON objects: as created, and how they stand.

    Of one that was deleted the name stays, and its board. ``take`` gets each record that was read,
    and the name of one that is there no more with None. All runs on the connection's loop.
    """

    def __init__(self, connection: Connection, take: Callable[[str, Record | None], None]) -> None:
        self._taken = take
        self._connection = connection
        self._bucket = f"{connection.address.name}_experiments"
        self._records: dict[str, tuple[int, Record]] = {}
        self._follower = Follower(
            connection,
            f"KV_{self._bucket}",
            begin=self._begin,
            take=self._take,
            passing=lambda subject: False,
        )

    def _begin(self) -> None:
        for name in list(self._records):
            self._taken(name, None)
        self._records = {}

    def _take(self, place: int, subject: str, content: bytes) -> None:
        if content:
            record = json.loads(content)
            self._records[record["name"]] = place, record
            self._taken(record["name"], record)
            return
        key = subject.rpartition(".")[2]  # a key may be deleted by hand
        for name in [name for name in self._records if token(name) == key]:
            del self._records[name]
            self._taken(name, None)

    async def start(self) -> None:
        """Make the bucket if it is not there, and read it."""
        await self._connection.stream(
            StreamConfig(
                name=f"KV_{self._bucket}",
                subjects=[f"$KV.{self._bucket}.>"],
                max_msgs_per_subject=1,
                discard=DiscardPolicy.NEW,
                allow_rollup_hdrs=True,
                allow_direct=True,
                deny_delete=True,
            )
        )
        await self._follower.start()

    async def stop(self) -> None:
        """Follow it no more."""
        await self._follower.stop()

    def check(self) -> None:
        """Raise what has ended the following, if something has."""
        self._follower.check()

    async def catch_up(self) -> None:
        """Read all that any server has entered before this call."""
        info = await self._connection.js.stream_info(f"KV_{self._bucket}")
        if info.state.messages:
            await self._follower.reach(info.state.last_seq)

    async def get(self, name: str) -> Record | None:
        """One experiment or what is left of it, asked for if this server has not read of it."""
        if name not in self._records:
            await self.catch_up()
        self.check()
        return self._records[name][1] if name in self._records else None

    async def replace(self, record: Record) -> bool:
        """Put an entry in the place of the one known; False if another server was quicker."""
        name = record["name"]
        if name not in self._records:
            return False
        bucket = await self._connection.js.key_value(self._bucket)
        content = json.dumps(record).encode()
        try:
            place = await bucket.update(token(name), content, self._records[name][0])
        except KeyWrongLastSequenceError:
            return False
        await self._follower.reach(place)
        return True

    async def create(self, experiment: Experiment, **standing: Any) -> bool:
        """Enter an experiment and how it stands; False if the name is there."""
        record = {**experiment.facts, "spec": experiment.spec.to_dict(), **standing}
        bucket = await self._connection.js.key_value(self._bucket)
        try:
            place = await bucket.create(token(experiment.name), json.dumps(record).encode())
        except KeyWrongLastSequenceError:
            await self.catch_up()
            return False
        await self._follower.reach(place)
        return True
