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

from devote.boards.board import Board, BoardRefused, BoardUnavailable, EndOfBacklog, Envelope
from devote.boards.database import StoreError
from devote.fleet.clock import backoff
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
    stream: asyncio.Task[None] | None = None
    rounds = failures = cuts = 0
    try:
        while True:
            wake.clear()
            tried = core.waiting
            done = False
            with _noting(core):
                done = await sync_once(core, board, deep=rounds % CHECK_EVERY == 0)
            if not done:
                await _cancelled(stream)
                stream = None
                wait = backoff(failures, dice(), base=pace.base, cap=pace.cap)
                await _rest(core, tried, wait, sleep, asyncio.Event())  # which nobody sets
                rounds, failures = 0, failures + 1
                continue
            rounds, failures = rounds + 1, 0
            if stream is None and not core.spec.scheme.reads_tally:
                stream = asyncio.create_task(_listen(core, board))
            streams = () if stream is None else (stream,)
            await _rest(core, tried, pace.every * (0.5 + dice()), sleep, wake, *streams)
            if stream is None or not stream.done():
                cuts = 0
                continue
            stream = None
            await _pause(backoff(cuts, dice(), base=pace.base, cap=pace.every), sleep, wake)
            cuts += 1
    finally:
        await _cancelled(stream)


@contextmanager
def _noting(core: DeviceCore) -> Iterator[None]:
    """Whatever goes wrong, the status says so, and the loop goes on."""
    try:
        yield
    except Exception as error:
        core.health.sync = f"Reading and sending failed ({type(error).__name__}).\nReport this."


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


async def _rest(
    core: DeviceCore,
    tried: tuple[Envelope, ...],
    seconds: float,
    sleep: Sleep,
    wake: asyncio.Event,
    *streams: asyncio.Task[None],
) -> None:
    """Wait so long, or until woken, until an answer is to leave, or until a stream breaks.

    ``tried`` is what the last round had to send. Questions whose time is over are closed meanwhile.
    """
    while seconds > 0.0:
        with _noting(core), suppress(StoreError):  # the core has noted it
            core.close_question()
        if any(envelope not in tried for envelope in core.waiting):
            return
        moment = core.next_moment
        wait = seconds
        if moment is not None:
            wait = min(seconds, max(0.0, moment - core.clock.monotonic()))
        await _pause(wait, sleep, wake, *streams)
        if wake.is_set() or any(stream.done() for stream in streams):
            return
        seconds -= wait


async def _pause(
    seconds: float, sleep: Sleep, wake: asyncio.Event, *streams: asyncio.Task[None]
) -> None:
    """Wait so long, or until woken, or until a stream breaks."""
    timer = asyncio.ensure_future(sleep(seconds))
    woken = asyncio.ensure_future(wake.wait())
    try:
        await asyncio.wait({timer, woken, *streams}, return_when=asyncio.FIRST_COMPLETED)
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
