"""The bare server that a devote server is measured beside: it only echoes.

The same HTTP stack (uvicorn) with nothing behind it: ``GET /size/N`` gives N bytes, ``GET
/stream`` gives all that is posted from then on, ``POST`` passes its body on to all streams.
Run ``python -m benchmarks.echo PORT``.
"""

import asyncio
import sys
from typing import Any

import uvicorn


class Echo:
    """The application."""

    def __init__(self) -> None:
        self._posted: list[bytes] = []
        self._listeners: set[asyncio.Event] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        if scope["path"] == "/stream":
            await self._stream(receive, send)
        elif scope["method"] == "POST":
            self._posted.append((await receive())["body"])
            for listener in self._listeners:
                listener.set()
            await self._answer(send, b"{}")
        else:
            size = int(scope["path"].rpartition("/")[2]) if "/size/" in scope["path"] else 0
            await self._answer(send, b"x" * size)

    async def _answer(self, send: Any, body: bytes) -> None:
        headers = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _stream(self, receive: Any, send: Any) -> None:
        rung, place = asyncio.Event(), len(self._posted)
        self._listeners.add(rung)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"event: end\n\n", "more_body": True})
        gone = asyncio.ensure_future(self._until_gone(receive, rung))
        try:
            while not gone.done():
                rung.clear()
                while place < len(self._posted):
                    chunk, place = self._posted[place], place + 1
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                await rung.wait()
        finally:
            self._listeners.discard(rung)

    async def _until_gone(self, receive: Any, rung: asyncio.Event) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        rung.set()


if __name__ == "__main__":
    uvicorn.run(Echo(), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", backlog=4096)
