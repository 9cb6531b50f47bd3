"""A device for programs with an event loop."""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

from devote.boards.board import Board, BoardRefused
from devote.boards.http import HttpBoard
from devote.fleet.choice import Choice
from devote.fleet.clock import Clock
from devote.fleet.core import DeviceCore
from devote.fleet.errors import JoinRefused
from devote.fleet.expiry import Expiry, OnExpire
from devote.fleet.joining import open_store
from devote.fleet.loop import Pace, run_forever
from devote.fleet.status import DeviceStatus
from devote.fleet.sync import sync_once


class AsyncDevice:
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
        dice = random.SystemRandom().random
        self._task = asyncio.create_task(
            run_forever(core, board, wake=self._wake, dice=dice, pace=pace)
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
    ) -> Self:
        """Take part in the experiment at ``url`` with the state in ``store``.

        The first time, this makes the store, with a fresh key, and enrols with it; after that
        it needs no network. ``expire_after`` and ``on_expire`` say what becomes of a pull whose
        reward never comes, see ``Expiry``. ``dice`` gives a uniform number for each new pull.
        ``board`` is any board to use in place of the one at ``url``; the device closes it.
        """
        expiry = Expiry(expire_after, on_expire)
        try:
            board = board or HttpBoard(url)
        except BoardRefused as error:
            raise JoinRefused(str(error)) from None
        try:
            opened = await open_store(store, url, board, invite)
            try:
                core = DeviceCore(opened, expiry=expiry, clock=clock, dice=dice)
            except BaseException:
                opened.close()
                raise
        except BaseException:
            await board.aclose()
            raise
        return cls(core, board, pace)

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms."""
        return self._core.spec.arm_names

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

    def best(self) -> int | None:
        """The arm the group has settled on, or None."""
        return self._core.best()

    def status(self) -> DeviceStatus:
        """How fresh the view is, what has left the device, and how the group stands."""
        return self._core.status()

    async def sync(self) -> bool:
        """Post and read now; returns whether that worked. Never needed, for tests and tools."""
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
