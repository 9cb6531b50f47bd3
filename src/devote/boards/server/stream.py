"""A feed as an HTTP response that goes on until either side leaves."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from devote.boards.server.feed import Feed, Listener


class EventStream(Response):
    """Server-sent events from a feed.

    A peer that takes nothing for ``patience`` seconds is dropped.
    """

    media_type = "text/event-stream"

    def __init__(self, feed: Feed, *, after: int, patience: float) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._feed = feed
        self._after = after
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the peer or the server leaves."""
        with self._feed.listen() as listener, _watch(receive, listener):
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async for chunk in self._feed.follow(listener, self._after):
                try:
                    async with asyncio.timeout(self._patience):
                        await send({"type": "http.response.body", "body": chunk, "more_body": True})
                except TimeoutError:
                    return
        await send({"type": "http.response.body", "body": b"", "more_body": False})


@contextmanager
def _watch(receive: Receive, listener: Listener) -> Iterator[None]:
    async def until_gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        listener.leave()

    task = asyncio.create_task(until_gone())
    try:
        yield
    finally:
        task.cancel()
