"""A proxy on 127.0.0.1 that writes down every byte that leaves a device.

It knows nothing of HTTP: bytes go on as they come. What was recorded is parsed afterwards, by
h11, which refuses anything that is not a request.
"""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import h11


@dataclass(frozen=True)
class Request:
    """One request as it left the device."""

    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass
class Recording:
    """What left the device, one stream of bytes per connection, in the order of their opening."""

    address: str
    connections: list[bytearray] = field(default_factory=list)

    @property
    def sent(self) -> bytes:
        return b"".join(self.connections)

    @property
    def requests(self) -> list[Request]:
        """Every request, in the order in which each connection sent them."""
        return [request for sent in self.connections for request in parse(bytes(sent))]


def parse(sent: bytes) -> list[Request]:
    """The requests in a stream of bytes; an error if a single byte is not part of one."""
    requests = []
    rest = sent
    while rest:
        parser = h11.Connection(h11.SERVER)
        parser.receive_data(rest)
        head = parser.next_event()
        assert isinstance(head, h11.Request), head
        body = b""
        while isinstance(event := parser.next_event(), h11.Data):
            body += event.data
        assert isinstance(event, h11.EndOfMessage), event
        assert not event.headers
        path, _, query = head.target.decode().partition("?")
        headers = tuple((name.decode(), value.decode()) for name, value in head.headers)
        requests.append(Request(head.method.decode(), path, query, headers, body))
        rest, _ = parser.trailing_data
    return requests


@asynccontextmanager
async def recording_proxy(port: int) -> AsyncIterator[Recording]:
    """A proxy to a port of this machine, and what it has recorded."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        record = bytearray()
        recording.connections.append(record)
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            await asyncio.gather(
                _pass_on(reader, up_writer, record), _pass_on(up_reader, writer, bytearray())
            )
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            for each in (writer, up_writer):
                each.close()
            tasks.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, family=socket.AF_INET)
    recording = Recording(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    async with server:
        yield recording
        server.close()
        for task in list(tasks):
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


async def _pass_on(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, record: bytearray
) -> None:
    while data := await reader.read(65_536):
        record += data
        writer.write(data)
        await writer.drain()
    writer.close()
