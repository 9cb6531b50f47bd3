"""A device as a program uses it: ``Device`` for programs that block, ``AsyncDevice`` for others."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict, TypeVar, Unpack

from devote.boards.board import Board, BoardRefused, BoardUnavailable
from devote.boards.experiment import read_link
from devote.boards.http import HttpBoard
from devote.fleet.clock import Clock, Expiry, OnExpire
from devote.fleet.core import DeviceCore
from devote.fleet.errors import JoinError, JoinRefused
from devote.fleet.joining import gossip_board, open_store
from devote.fleet.loop import Pace, run_forever
from devote.fleet.plays import Choice
from devote.fleet.state import SYSTEM_RANDOM
from devote.fleet.status import DeviceStatus
from devote.fleet.sync import sync_once

if TYPE_CHECKING:
    from devote.gossip import GossipSettings

T = TypeVar("T")


AT_HAND = Pace(every=2.0, base=0.25, cap=2.0)
"""Where the board is on the device itself, reading it costs no traffic."""


def is_gossip(url: str) -> bool:
    """Whether an address is of devices that have no server."""
    return url.startswith("gossip:")


class _Joined:
    """What every device can tell without waiting."""

    _core: DeviceCore

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms."""
        return self._core.spec.arm_names

    def best(self) -> int | None:
        """The arm the group has settled on, or None."""
        return self._core.best()

    def status(self) -> DeviceStatus:
        """How fresh the view is, what has left the device, and how the group stands."""
        return self._core.status()


class AsyncDevice(_Joined):
    """One device in one experiment; messages are read and sent by a task beside yours.

    ::

        async with await AsyncDevice.join(url, store="device.db", invite="...") as device:
            choice = await device.choose()
            await device.reward(1.0, choice)
    """

    def __init__(self, core: DeviceCore, board: Board, pace: Pace | None = None) -> None:
        self._core = core
        self._board = board
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        core.on_message = self._on_message
        self._task = asyncio.create_task(
            run_forever(core, board, wake=self._wake, dice=SYSTEM_RANDOM, pace=pace)
        )

    @classmethod
    async def join(
        cls,
        url: str,
        *,
        store: str | Path,
        invite: str | None = None,
        expire_after: float | None = None,
        on_expire: OnExpire = "drop",
        dice: Callable[[], float] | None = None,
        clock: Clock | None = None,
        pace: Pace | None = None,
        board: Board | None = None,
        gossip: "GossipSettings | None" = None,
    ) -> Self:
        """Take part in the experiment at ``url`` with the state in ``store``.

        ``url`` may be a link with an invite, as ``devote invites --links`` makes them.

        The first time, this makes the store, with a fresh key, and enrols with it; after that
        it needs no network. ``expire_after`` and ``on_expire`` say what becomes of a pull whose
        reward never comes, see ``Expiry``. ``dice`` gives a uniform number for each new pull.
        ``board`` is any board to use in place of the one at ``url``; the device closes it.
        At ``gossip://HOST:PORT/NAME`` there is no server: ``invite`` is a ticket, ``gossip`` says
        how to exchange votes with other devices (docs/serverless.md).
        """
        expiry = Expiry(expire_after, on_expire)
        url, linked = read_link(url)
        try:
            if board is None and is_gossip(url):
                board = gossip_board(url, store, invite, gossip)
            board = board or HttpBoard(url)
            async with AsyncExitStack() as opened:
                opened.push_async_callback(board.aclose)
                state = await open_store(store, url, board, invite or linked, expiry)
                opened.callback(state.close)
                core = DeviceCore(
                    state, expiry=expiry, clock=clock or Clock(), dice=dice or SYSTEM_RANDOM
                )
                await board.begin(core.identity)
                if core.spec.scheme.reads_tally and not core.bookmark.complete:
                    await sync_once(core, board)  # so that the first question is one of today's
                opened.pop_all()  # the device closes them from here on
        except BoardUnavailable as error:
            raise JoinError(
                f"{error}\nThe first join needs the board; later ones work offline."
            ) from None
        except BoardRefused as error:
            raise JoinRefused(str(error)) from None
        return cls(core, board, pace or (AT_HAND if is_gossip(url) else None))

    async def choose(self) -> Choice:
        """The arm to play; the pending choice again until its reward has come."""
        return await asyncio.to_thread(self._core.choose)

    async def pending(self) -> Choice | None:
        """The choice that awaits its reward, also after a restart; None if there is none."""
        return await asyncio.to_thread(self._core.pending)

    async def reward(self, x: float, choice: Choice | str | None = None) -> None:
        """What the choice, or the choice whose ``play`` this text is, paid: from 0 to 1.

        Raises ``LateReward`` if its play has expired and ``RepeatedReward`` if it has had its
        reward; nothing is counted then. Without a choice the reward is for the pending play;
        raises ``UnclearReward`` if one of the last 100 plays has expired, for whose reward
        this may be.
        """
        await asyncio.to_thread(self._core.reward, x, choice)

    async def sync(self) -> bool:
        """Post and read now; returns whether that worked. Never needed, for tests and tools."""
        self._core.health.unbar()
        return await sync_once(self._core, self._board)

    async def close(self, grace: float = 2.0) -> None:
        """Stop, after up to ``grace`` seconds for messages still waiting; they are kept anyway."""
        if self._task.done():
            return
        self._task.cancel()
        await asyncio.wait({self._task})
        if grace > 0.0 and self._core.waiting:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.sync(), grace)
        await self._board.aclose()
        self._core.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _on_message(self) -> None:
        with suppress(RuntimeError):  # the loop has ended: the message is kept for the next start
            self._loop.call_soon_threadsafe(self._wake.set)


class JoinOptions(TypedDict, total=False):
    """What may be passed to ``join`` besides the address and the store."""

    invite: str | None
    expire_after: float | None
    on_expire: OnExpire
    dice: Callable[[], float] | None
    clock: Clock | None
    pace: Pace | None
    board: Board | None
    gossip: "GossipSettings | None"


class Device(_Joined):
    """One device in one experiment; ``AsyncDevice`` run in one background thread.

    ::

        with Device.join(url, store="device.db", invite="...") as device:
            choice = device.choose()
            device.reward(1.0, choice)
            device.best(), device.status()

    ``choose`` and ``reward`` only touch the store: they work offline and never wait for the
    network. Several threads may share a device; it has one pull at a time.
    """

    def __init__(self, joining: Coroutine[Any, Any, AsyncDevice]) -> None:
        # The factory keeps the runner from giving its loop to the calling thread as well.
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._loop = self._runner.get_loop()
        # A daemon: a program that forgets to close its device must still be able to end.
        self._thread = threading.Thread(target=self._run, name="devote-device", daemon=True)
        self._thread.start()
        try:
            self._device = self._result(joining)
        except BaseException:
            self._stop()
            raise
        self._core = self._device._core

    @classmethod
    def join(cls, url: str, *, store: str | Path, **options: Unpack[JoinOptions]) -> Self:
        """Take part in the experiment at ``url``; options as of ``AsyncDevice.join``."""
        return cls(AsyncDevice.join(url, store=store, **options))

    def choose(self) -> Choice:
        """The arm to play; the pending choice again until its reward has come."""
        return self._core.choose()

    def pending(self) -> Choice | None:
        """The choice that awaits its reward, also after a restart; None if there is none."""
        return self._core.pending()

    def reward(self, x: float, choice: Choice | str | None = None) -> None:
        """What the choice paid, from 0 to 1; see ``AsyncDevice.reward``."""
        self._core.reward(x, choice)

    def sync(self) -> bool:
        """Post and read now, waiting for the network; for tests and tools."""
        return self._result(self._device.sync())

    def close(self, grace: float = 2.0) -> None:
        """Stop, after up to ``grace`` seconds for messages still waiting; they are kept anyway."""
        if self._thread.is_alive():
            self._result(self._device.close(grace))
            self._stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        """The background thread: its event loop, and at the end what is left on it."""
        with self._runner:
            self._loop.run_forever()

    def _result(self, work: Coroutine[Any, Any, T]) -> T:
        """What a coroutine returns that runs in the background."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
