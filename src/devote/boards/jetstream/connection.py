"""The address of a store on NATS, and the connection to its nodes: one loop in a thread of its own.

A store is called from many threads and lives longer than any event loop of theirs.
"""

import asyncio
import re
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import nats
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import StreamConfig
from nats.js.errors import APIError, NotFoundError

from devote.boards.database import StoreCorrupt, StoreError, StoreMismatch
from devote.protocol.messages import VERSION

_ADDRESS = re.compile(
    r"(?P<scheme>nats|tls)://(?:(?P<login>[^@/]+)@)?(?P<hosts>[^@/]+)(?:/(?P<name>.*))?"
)
_HOST = re.compile(r"((?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]))(?::([0-9]{1,5}))?")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,32}")


@dataclass(frozen=True)
class NatsAddress:
    """``nats://host:port,host:port/name``; ``name`` separates stores on the same nodes.

    ``tls://`` asks for TLS; ``nats://user:password@host`` logs in, or ``nats://token@host``.

    >>> address = NatsAddress.parse("nats://me:secret@10.0.0.1,10.0.0.2:4333/shop")
    >>> address.servers[1], address.name
    ('nats://me:secret@10.0.0.2:4333', 'shop')
    >>> print(address)
    nats://10.0.0.1:4222,10.0.0.2:4333/shop
    """

    scheme: str
    login: str
    hosts: tuple[str, ...]
    name: str = "devote"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an address; StoreError if it is none."""
        found = _ADDRESS.fullmatch(text)
        parts = [_HOST.fullmatch(host) for host in found["hosts"].split(",")] if found else []
        hosts = [(part[1], int(part[2] or 4222)) for part in parts if part is not None]
        if found is None or None in parts or not all(0 < port < 65536 for _, port in hosts):
            shown = re.sub("//[^/]*@", "//", text)
            raise StoreError(
                f"{shown!r} is not the address of a store on NATS.\n"
                "Give one like nats://127.0.0.1:4222, several hosts with commas between them."
            )
        name = found["name"] or "devote"
        if _NAME.fullmatch(name) is None:
            raise StoreError(
                f"The name {name!r} in the address of a store must be 1 to 32 of A-Z a-z 0-9 _ -.\n"
                "Give one like nats://127.0.0.1:4222/shop, or none."
            )
        full = tuple(f"{host}:{port}" for host, port in hosts)
        return cls(found["scheme"], found["login"] or "", full, name)

    @property
    def servers(self) -> tuple[str, ...]:
        """The address of each node, with the login."""
        login = f"{self.login}@" if self.login else ""
        return tuple(f"{self.scheme}://{login}{host}" for host in self.hosts)

    def __str__(self) -> str:
        """The address without the login."""
        return f"{self.scheme}://{','.join(self.hosts)}/{self.name}"


LEAST = (2, 11)
"""The oldest nats-server whose streams can do what is asked of them: messages that expire."""

PATIENCE = 6.0
"""Seconds for which a call waits for the nodes; a new leader takes about as long."""

UNAVAILABLE = 10008
"""How a node says that for now there is no leader; others of its errors have the same status."""

T = TypeVar("T")

FIRST = 3.0
"""Seconds for which the first connection is waited for."""

_OPTIONS: dict[str, Any] = {
    "name": "devote",
    "connect_timeout": 2,
    "max_reconnect_attempts": -1,
    "reconnect_time_wait": 0.2,
    "ping_interval": 2,  # a node that is paused keeps its connections open
    "max_outstanding_pings": 2,
}


class Connection:
    """A connection that stays, whichever of the nodes go; ``js`` is the way to the streams.

    Opening it refuses what cannot hold a store: no answer, no JetStream, too old a version.
    """

    def __init__(self, address: NatsAddress) -> None:
        self.address = address
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self._client: Client | None = None
        self._closed = False
        self._moved = -PATIENCE
        try:
            self.run(self._open())
        except BaseException:
            self.close()
            raise

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something on the connection's loop, from any other thread."""
        if self._closed:
            work.close()
            raise StoreError(f"The board store {self.address} is closed.\nOpen it again to go on.")
        with self.translated():
            return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Errors of the client as those of a store; what they quote is the operator's business."""
        try:
            yield
        except (NatsError, TimeoutError, OSError) as error:
            if isinstance(error, APIError) and error.err_code != UNAVAILABLE:
                raise StoreError(
                    f"The board store {self.address} refuses: {error.description}.\n"
                    "Check the nodes' logs and limits; nothing was changed."
                ) from error
            # A node that is left alone says that it is unavailable, or nothing.
            raise StoreError(
                f"The board store {self.address} does not answer ({type(error).__name__}).\n"
                "Check that most of its nodes run; what was acknowledged stands."
            ) from error

    def close(self) -> None:
        """Close the connection; nothing can be run afterwards."""
        if self._closed:
            return
        with suppress(StoreError):
            self.run(self._shut())
        self._closed = True
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    async def _shut(self) -> None:
        if self._client is not None:
            await self._client.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _open(self) -> None:
        fault: Exception | None = None

        async def note(error: Exception) -> None:
            nonlocal fault  # which shows in the calls; the client would log it each time
            fault = error

        try:
            async with asyncio.timeout(FIRST):
                servers = list(self.address.servers)
                self._client = await nats.connect(servers, error_cb=note, **_OPTIONS)
        except (NatsError, TimeoutError, OSError) as error:
            raise StoreError(
                f"No NATS node answers at {self.address} ({type(fault or error).__name__}).\n"
                "Start nats-server there, or correct the address."
            ) from None
        info = self._client._server_info
        version = tuple(map(int, re.findall(r"\d+", str(info.get("version", "")))[:2]))
        if version < LEAST:
            raise StoreMismatch(
                f"{self.address} runs nats-server {info.get('version')}, and a store needs "
                f"{LEAST[0]}.{LEAST[1]} or later.\nUpgrade its nodes."
            )
        self.js: JetStreamContext = self._client.jetstream(timeout=PATIENCE)
        self.replicas = 3 if info.get("cluster") else 1
        if not info.get("jetstream"):
            raise StoreMismatch(
                f"{self.address} runs without JetStream, which keeps the log.\n"
                "Start its nodes with -js, or with a jetstream block in their configuration."
            )

    async def move_on(self) -> None:
        """Ask another node: this one may be cut off from the others, and not know it."""
        now = self.loop.time()
        if len(self.address.hosts) > 1 and now - self._moved > PATIENCE:
            self._moved = now
            await self.client.force_reconnect()

    @property
    def client(self) -> Client:
        """The client."""
        assert self._client is not None
        return self._client

    async def stream(self, config: StreamConfig) -> None:
        """Make a stream, or see that the one there is devote's and works as this one would."""
        config.metadata = {"devote": str(VERSION)}
        config.num_replicas = self.replicas
        try:
            there = (await self.js.stream_info(config.name or "")).config
        except NotFoundError:
            there = (await self.js.add_stream(config)).config
        ours = (config.subjects, config.max_msgs_per_subject, config.discard, VERSION)
        made = int((there.metadata or {}).get("devote", 0))
        if (there.subjects, there.max_msgs_per_subject, there.discard, made) != ours:
            raise StoreCorrupt(
                f"{self.address} has a stream {config.name!r} that devote did not make.\n"
                "Give the store another name, as in nats://127.0.0.1:4222/shop, or remove the "
                "stream."
            )
        if (there.num_replicas or 1) < self.replicas:  # a node that has become a cluster
            there.num_replicas = self.replicas
            await self.js.update_stream(there)
