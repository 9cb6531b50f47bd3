"""The two ways to read a log: in fixed pages, and as server-sent events.

A full page never changes, so any cache can keep it. A page is named after what it holds, by rules
that do not depend on who serves it. A device works the name out for itself: by one that a server
chose it could be known again.

Of server-sent events (WHATWG HTML, section 9.2) only what the boards use: ``id``, ``event``, one
line of ``data``, and comments as heartbeats.
"""

import hashlib
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

PAGE = 1_000
"""Messages on a full page."""


def page_of(number: int) -> int:
    """The page that holds a message; pages and messages are counted from 1.

    >>> page_of(1), page_of(1_000), page_of(1_001)
    (1, 1, 2)
    """
    return (number - 1) // PAGE + 1


def page_tag(signatures: Iterable[str]) -> str:
    """The name of a page with these signatures, which stand for all that it holds.

    >>> page_tag([])
    'e3b0c44298fc1c149afbf4c8996fb924'
    """
    return hashlib.sha256("".join(signatures).encode()).hexdigest()[:32]


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
