"""The experiments: a key-value bucket in which each name is created once."""

import json
import threading
from collections.abc import Callable
from typing import Any

from nats.js.api import DiscardPolicy, StreamConfig
from nats.js.errors import KeyWrongLastSequenceError

from devote.boards.experiment import Experiment
from devote.boards.jetstream.connection import Connection
from devote.boards.jetstream.fold import token
from devote.boards.jetstream.follower import Follower


class Catalogue:
    """All experiments, by name, as JSON objects: as created, and how they stand.

    Of one that was deleted the name stays, and its board. ``on_deleted`` is told of it, on the
    connection's loop.
    """

    def __init__(
        self, connection: Connection, on_deleted: Callable[[str], None] = lambda name: None
    ) -> None:
        self._on_deleted = on_deleted
        self._connection = connection
        self._bucket = f"{connection.address.name}_experiments"
        self._lock = threading.Lock()
        self._follower = Follower(
            connection,
            f"KV_{self._bucket}",
            begin=self._begin,
            take=self._take,
            passing=lambda subject: False,
        )

    def _begin(self) -> None:
        with self._lock:
            self._found: dict[str, dict[str, Any]] = {}
            self._places: dict[str, int] = {}
            self._deleted: dict[str, str] = {}

    def _take(self, place: int, subject: str, content: bytes) -> None:
        record = json.loads(content) if content else None  # a key may be deleted by hand
        with self._lock:
            if record and record.get("deleted"):
                self._deleted[record["name"]] = str(record["board"])
                self._found.pop(record["name"], None)
                self._on_deleted(record["name"])
            elif record:
                self._found[record["name"]] = record
                self._places[record["name"]] = place
            else:
                key = subject.rpartition(".")[2]
                self._found = {name: it for name, it in self._found.items() if token(name) != key}

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

    def all(self) -> dict[str, dict[str, Any]]:
        """What is known by now."""
        self._follower.check()
        with self._lock:
            return dict(self._found)

    def is_deleted(self, name: str) -> bool:
        """Whether an experiment of that name was deleted, by what is known by now."""
        with self._lock:
            return name in self._deleted

    def deleted(self) -> list[str]:
        """All names of which an experiment was deleted."""
        with self._lock:
            return sorted(self._deleted)

    async def catch_up(self) -> None:
        """Read all that any server has entered before this call."""
        info = await self._connection.js.stream_info(f"KV_{self._bucket}")
        if info.state.messages:
            await self._follower.reach(info.state.last_seq)

    async def replace(self, record: dict[str, Any]) -> bool:
        """Put an entry in the place of the one known; False if another server was quicker."""
        name = record["name"]
        with self._lock:
            known = self._places.get(name)
        if known is None:
            return False
        bucket = await self._connection.js.key_value(self._bucket)
        try:
            place = await bucket.update(token(name), json.dumps(record).encode(), known)
        except KeyWrongLastSequenceError:
            return False
        await self._follower.reach(place)
        return True

    async def get(self, name: str) -> dict[str, Any] | None:
        """One experiment, asked for if this server has not read of it."""
        if name not in self._found:
            await self.catch_up()
        return self.all().get(name)

    async def create(self, experiment: Experiment, **standing: Any) -> bool:
        """Enter an experiment and how it stands; False if the name is there."""
        record = {
            "name": experiment.name,
            "spec": experiment.spec.to_dict(),
            "fingerprint": experiment.fingerprint,
            "enrolment": experiment.enrolment,
            "players": experiment.players,
            "board": experiment.board,
            **standing,
        }
        bucket = await self._connection.js.key_value(self._bucket)
        try:
            place = await bucket.create(token(experiment.name), json.dumps(record).encode())
        except KeyWrongLastSequenceError:
            await self.get(experiment.name)
            return False
        await self._follower.reach(place)
        return True
