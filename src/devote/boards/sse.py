"""Server-sent events: how a server writes them and a client reads them.

Only what the boards use: ``id``, ``event``, one line of ``data``, and comments as heartbeats.
Format: WHATWG HTML, section 9.2.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

MESSAGE = "message"
END = "end"
NUMBER = "number"
HEARTBEAT = b": still here\n\n"
LONGEST_LINE = 65_536


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its kind, the number to resume after, and its data."""

    event: str
    id: str
    data: str


def encode(event: str, *, number: int, data: str) -> bytes:
    r"""An event as it goes over the wire.

    >>> encode("end", number=7, data="7")
    b'id: 7\nevent: end\ndata: 7\n\n'
    """
    return f"id: {number}\nevent: {event}\ndata: {data}\n\n".encode()


async def decode(chunks: AsyncIterator[bytes]) -> AsyncIterator[ServerEvent]:
    """The events in a stream of bytes; one cut off by the stream's end is dropped.

    ValueError if a line never ends or is not text: then it is no event stream.
    """
    fields: dict[str, str] = {}
    async for line in _lines(chunks):
        if not line:
            if "data" in fields:
                yield ServerEvent(
                    fields.get("event", MESSAGE), fields.get("id", ""), fields["data"]
                )
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > LONGEST_LINE:
            raise ValueError("a line without end")
        for line in lines:
            yield line.removesuffix(b"\r").decode()
