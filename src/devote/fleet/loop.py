"""Round after round in the background, and a stream in between where the server has room for it.

Rounds prove that the board is there; between them a stream brings messages as they come. Streams
hang silently in real networks: the next round notices. Where streams do not get through, or the
server declines them, they are tried ever more rarely, and rounds alone do the work.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

from devote.boards.board import Board, BoardRefused, BoardUnavailable, EndOfBacklog, Envelope
from devote.boards.database import StoreError
from devote.fleet.core import DeviceCore
from devote.fleet.pace import Pace as Pace
from devote.fleet.sync import sync_once

Sleep: TypeAlias = Callable[[float], Awaitable[None]]

CHECK_EVERY = 20
"""Rounds between two that read what was read before again, to see that it is still there; every
failure asks for one too.
"""

SELDOM = 3_600.0
"""At most so many seconds between two tries to open a stream."""


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
    stream: asyncio.Task[float] | None = None
    rounds = failures = cuts = 0
    stream_at = core.clock.monotonic()
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
                wait = pace.after_failures(failures, core.asked, dice())
                await _rest(core, tried, wait, sleep, asyncio.Event())  # which nobody sets
                rounds, failures = 0, failures + 1
                continue
            rounds, failures = rounds + 1, 0
            if not _may_stream(core):
                await _cancelled(stream)
                stream = None
            elif stream is None and core.clock.monotonic() >= stream_at:
                stream = asyncio.create_task(_listen(core, board))
            streams = () if stream is None else (stream,)
            await _rest(core, tried, pace.after_round(core.asked, dice()), sleep, wake, *streams)
            if stream is None or not stream.done():
                cuts = cuts if stream is None else 0
                continue
            # All streams of a server that was stopped break at once: not all come back at once.
            wait = pace.between(core.asked) * 2.0 ** min(cuts, 32)
            quiet = max(min(wait, SELDOM), stream.result()) * (0.5 + dice())
            stream, cuts, stream_at = None, cuts + 1, core.clock.monotonic() + quiet
            await _pause(pace.between(core.asked) * dice(), sleep, wake)
    finally:
        await _cancelled(stream)


def _may_stream(core: DeviceCore) -> bool:
    return core.asked.streams and not core.spec.scheme.reads_tally


@contextmanager
def _noting(core: DeviceCore) -> Iterator[None]:
    """Whatever goes wrong, the status says so, and the loop goes on."""
    try:
        yield
    except BoardUnavailable:
        raise
    except Exception as error:
        core.health.sync = f"Reading and sending failed ({type(error).__name__}).\nReport this."


async def _listen(core: DeviceCore, board: Board) -> float:
    """Take in messages as they come, until the stream breaks; the next round finds out why.

    Returns for how many seconds the server wants no stream.
    """
    events = board.stream(core.bookmark.number)
    try:
        with _noting(core), suppress(BoardRefused, StoreError):
            async for event in events:
                if isinstance(event, EndOfBacklog):
                    core.receive((), event.number)
                else:
                    core.receive((event,))
    except BoardUnavailable as error:
        return error.retry_after
    finally:
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()
    return 0.0


async def _rest(
    core: DeviceCore,
    tried: tuple[Envelope, ...],
    seconds: float,
    sleep: Sleep,
    wake: asyncio.Event,
    *streams: asyncio.Task[float],
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
    seconds: float, sleep: Sleep, wake: asyncio.Event, *streams: asyncio.Task[float]
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
