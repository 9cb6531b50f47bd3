"""The experiments: a key-value bucket in which each name is created once."""

import json
import threading
from typing import Any

from nats.js.api import DiscardPolicy, StreamConfig
from nats.js.errors import KeyWrongLastSequenceError

from devote.boards.experiment import Experiment
from devote.boards.jetstream.connection import Connection
from devote.boards.jetstream.fold import token
from devote.boards.jetstream.follower import Follower


class Catalogue:
    """All experiments, by name, as the JSON objects that were created."""

    def __init__(self, connection: Connection) -> None:
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

    def _take(self, place: int, subject: str, content: bytes) -> None:
        record = json.loads(content) if content else None  # a key may be deleted by hand
        with self._lock:
            if record:
                self._found[record["name"]] = record
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

    async def get(self, name: str) -> dict[str, Any] | None:
        """One experiment, asked for if this server has not read of it."""
        if name not in self._found:
            info = await self._connection.js.stream_info(f"KV_{self._bucket}")
            if info.state.messages:
                await self._follower.reach(info.state.last_seq)
        return self.all().get(name)

    async def create(self, experiment: Experiment) -> bool:
        """Enter an experiment; False if the name is there."""
        record = {
            "name": experiment.name,
            "spec": experiment.spec.to_dict(),
            "fingerprint": experiment.fingerprint,
            "enrolment": experiment.enrolment,
            "players": experiment.players,
            "board": experiment.board,
        }
        bucket = await self._connection.js.key_value(self._bucket)
        try:
            place = await bucket.create(token(experiment.name), json.dumps(record).encode())
        except KeyWrongLastSequenceError:
            await self.get(experiment.name)
            return False
        await self._follower.reach(place)
        return True
