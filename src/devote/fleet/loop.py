"""Round after round in the background, and a stream in between.

Rounds prove that the board is there; between them a stream brings messages as they come. Streams
hang silently in real networks: the next round notices. Where streams do not get through at all
they are tried ever more rarely, and rounds alone do the work.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from devote.boards.board import Board, BoardRefused, BoardUnavailable, EndOfBacklog
from devote.boards.database import StoreError
from devote.fleet.clock import Backoff
from devote.fleet.core import DeviceCore
from devote.fleet.sync import sync_once

Sleep: TypeAlias = Callable[[float], Awaitable[None]]

CHECK_EVERY = 20
"""Rounds between two looks at whether it is still the same board with the same specification;
every failure asks for one too.
"""


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds between rounds while all is well, and the base and cap of waiting when it is not."""

    every: float = 15.0
    base: float = 0.5
    cap: float = 60.0


async def run_forever(
    core: DeviceCore,
    board: Board,
    *,
    wake: asyncio.Event,
    dice: Callable[[], float],
    pace: Pace | None = None,
    sleep: Sleep = asyncio.sleep,
) -> None:
    """Keep a device in step with its board until cancelled; ``wake`` asks for a round now."""
    pace = pace or Pace()
    after_failure = Backoff(pace.base, pace.cap)
    after_cut = Backoff(pace.base, pace.every)
    stream: asyncio.Task[None] | None = None
    rounds = 0
    try:
        while True:
            wake.clear()
            done = False
            with _noting(core):
                done = await sync_once(core, board, deep=rounds % CHECK_EVERY == 0)
            if not done:
                rounds = 0
                await _cancelled(stream)
                stream = None
                await sleep(after_failure.next(dice()))
                continue
            rounds += 1
            after_failure.reset()
            if stream is None:
                stream = asyncio.create_task(_listen(core, board))
            await _pause(pace.every * (0.5 + dice()), sleep, wake, stream)
            if not stream.done():
                after_cut.reset()
                continue
            stream = None
            await _pause(after_cut.next(dice()), sleep, wake)
    finally:
        await _cancelled(stream)


@contextmanager
def _noting(core: DeviceCore) -> Iterator[None]:
    """Whatever goes wrong, the status says so, and the loop goes on."""
    try:
        yield
    except Exception as error:
        core.health.note(
            "sync", f"Reading and sending failed ({type(error).__name__}).\nReport this."
        )


async def _listen(core: DeviceCore, board: Board) -> None:
    """Take in messages as they come, until the stream breaks; the next round finds out why."""
    events = board.stream(core.bookmark.number)
    try:
        with _noting(core), suppress(BoardUnavailable, BoardRefused, StoreError):
            async for event in events:
                if isinstance(event, EndOfBacklog):
                    core.receive((), event.number)
                else:
                    core.receive((event,))
    finally:
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()


async def _pause(
    seconds: float, sleep: Sleep, wake: asyncio.Event, stream: asyncio.Task[None] | None = None
) -> None:
    """Wait so long, or until woken, or until the stream breaks."""
    timer = asyncio.ensure_future(sleep(seconds))
    woken = asyncio.ensure_future(wake.wait())
    waits: set[asyncio.Future[Any]] = {timer, woken}
    try:
        await asyncio.wait(
            waits if stream is None else {*waits, stream}, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        await _cancelled(timer)
        await _cancelled(woken)


async def _cancelled(task: "asyncio.Future[Any] | None") -> None:
    # Not a bare await: that would swallow the cancelling of whoever waits here.
    if task is not None and not task.done():
        task.cancel()
        await asyncio.wait({task})
    if task is not None and not task.cancelled():
        task.exception()
