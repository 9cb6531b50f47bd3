"""Real NATS nodes on 127.0.0.1: one that all tests share, and clusters to be broken."""

import atexit
import json
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.tools import free_port

BINARY = Path(sys.executable).with_name("nats-server")


@dataclass
class Node:
    """One nats-server, with what it stores in ``folder``.

    ``routes`` are the addresses by which it reaches the other nodes of its cluster.
    """

    folder: Path
    name: str = "node"
    port: int = field(default_factory=free_port)
    cluster_port: int = 0
    routes: tuple[str, ...] = ()
    jetstream: bool = True

    @property
    def address(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = [
            f"listen: 127.0.0.1:{self.port}",
            f"server_name: {self.name}",
            f"log_file: {json.dumps(str(self.folder / 'log.txt'))}",
        ]
        if self.jetstream:
            store = json.dumps(str(self.folder / "store"))
            lines.append(f"jetstream {{store_dir: {store}, max_mem: 256M, max_file: 4G}}")
        if self.cluster_port:
            routes = ", ".join(self.routes)
            lines.append(
                f"cluster {{name: devote, listen: 127.0.0.1:{self.cluster_port}, "
                f"no_advertise: true, pool_size: -1, compression: off, routes: [{routes}], "
                # What nodes tell each other of the others would lead past the links.
                'advertise: "127.0.0.1:1"}'
            )
        file = self.folder / "node.conf"
        file.write_text("\n".join(lines) + "\n")
        self.process = subprocess.Popen([BINARY, "-c", file])
        until = time.monotonic() + 30.0
        while self.process.poll() is None and time.monotonic() < until:
            try:
                with socket.create_connection(("127.0.0.1", self.port), 1.0):
                    return
            except OSError:
                time.sleep(0.02)
        raise AssertionError("the node did not start")

    def kill(self) -> None:
        """As a power cut does, but for what the disk would lose."""
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            self.process.wait(20)


@cache
def shared_node() -> Node:
    """The node that all tests of this process share; each has a store of its own on it."""
    folder = tempfile.TemporaryDirectory(prefix="devote-nats-")
    node = Node(Path(folder.name))
    node.start()
    atexit.register(folder.cleanup)
    atexit.register(node.stop)
    return node


def fresh_address() -> str:
    """The address of a store that nobody has used."""
    return f"{shared_node().address}/test-{secrets.token_hex(6)}"
