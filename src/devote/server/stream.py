"""A board as an HTTP response that goes on until either side leaves."""

import asyncio
from contextlib import aclosing, suppress

from starlette.responses import StreamingResponse
from starlette.types import Message, Send

from devote.server.live import LiveBoard


class EventStream(StreamingResponse):
    """Server-sent events from a board.

    A peer that takes nothing for ``patience`` seconds is dropped.
    """

    media_type = "text/event-stream"

    def __init__(self, board: LiveBoard, *, after: int, patience: float) -> None:
        self._events = board.follow(after)
        self._patience = patience
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(self._events, headers=headers)

    async def stream_response(self, send: Send) -> None:
        """Send events until the server ends them; Starlette ends this when the peer leaves."""

        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(self._patience):
                await send(message)

        async with aclosing(self._events):
            with suppress(TimeoutError):
                await super().stream_response(send_in_time)
