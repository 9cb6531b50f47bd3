"""Three NATS nodes and two servers on 127.0.0.1, each to be killed, paused or cut off at will."""

import asyncio
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import permutations
from pathlib import Path

from tests.boards.nodes import Node
from tests.server.process import CODE, ServerProcess
from tests.tools import free_port

NODES = 3
FAST = CODE.replace("token=token", "token=token, pace=1, settled_pace=1, write_rate=1e5")
"""Devices are asked to read every second, where a fleet would be asked to be quieter."""


class Link:
    """The way from one node to another, which can be cut."""

    def __init__(self, target: int) -> None:
        self.port = 0
        self.is_cut = False
        self._target = target
        self._open: set[asyncio.StreamWriter] = set()

    async def listen(self) -> None:
        self.server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self.is_cut:
                return
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            return
        else:
            self._open |= {writer, far_writer}
            ways = ((reader, far_writer), (far_reader, writer))
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*(self._pump(*way) for way in ways))
        finally:
            writer.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()
        self._open.discard(writer)

    async def set_cut(self, cut: bool) -> None:
        self.is_cut = cut
        for writer in tuple(self._open) if cut else ():
            writer.transport.abort()


class Links:
    """A way from each node to each other, in a thread of its own."""

    def __init__(self, ports: list[int]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self.between = {
            (one, other): Link(ports[other]) for one, other in permutations(range(NODES), 2)
        }
        for link in self.between.values():
            self._run(link.listen())

    def _run(self, work) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    def cut(self, node: int, *, cut: bool = True) -> None:
        """Cut a node off from the others, or let it back."""
        for pair, link in self.between.items():
            if node in pair:
                self._run(link.set_cut(cut))

    def close(self) -> None:
        async def end() -> None:
            for link in self.between.values():
                link.server.close()
                await link.set_cut(True)
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        self._run(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Served(ServerProcess):
    """A server over NATS, started again for as long as it cannot start."""

    def __init__(self, folder: Path, store: str, token: str) -> None:
        super().__init__(folder, token=token)
        self.store = store

    def start(self) -> None:
        """Start it, and return at once."""
        log = (self.folder / f"server-{self.port}.log").open("ab")
        with log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", FAST, self.store, str(self.port), self.token], stderr=log
            )

    def wait(self, seconds: float = 120.0) -> None:
        """Wait until it answers; a supervisor starts it again if it gives up."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.process.poll() is not None:
                self.start()
            try:
                with urllib.request.urlopen(f"{self.address}/health", timeout=8):
                    return
            except OSError:
                time.sleep(0.1)
        raise AssertionError(f"the server does not answer: see {self.folder}")


class Cluster:
    """The nodes, the ways between them and the servers."""

    def __init__(self, folder: Path, servers: int = 2) -> None:
        ports = [free_port() for _ in range(NODES)]
        self.links = Links(ports)
        self.nodes = [
            Node(
                folder / f"node-{n}",
                name=f"n{n}",
                cluster_port=ports[n],
                routes=tuple(
                    f"nats://127.0.0.1:{self.links.between[n, other].port}"
                    for other in range(NODES)
                    if other != n
                ),
            )
            for n in range(NODES)
        ]
        self.store = "nats://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        token = "operator-token-for-tests"
        self.servers = [Served(folder, self.store, token) for _ in range(servers)]

    def start(self) -> None:
        for node in self.nodes:
            node.start()
        for server in self.servers:
            server.start()
        for server in self.servers:
            server.wait()

    def stop(self) -> None:
        for server in self.servers:
            if hasattr(server, "process"):
                server.kill()
        for node in self.nodes:
            if hasattr(node, "process"):
                node.kill()
        self.links.close()

    @property
    def addresses(self) -> str:
        """The servers, as devices get them."""
        return ",".join(server.address for server in self.servers)


@contextmanager
def cluster(folder: Path, servers: int = 2) -> Iterator[Cluster]:
    with ExitStack() as stack:
        made = Cluster(folder, servers)
        stack.callback(made.stop)
        made.start()
        yield made
