"""A device for programs with an event loop."""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

from devote.boards.board import BoardRefused
from devote.boards.http import HttpBoard
from devote.fleet.choice import Choice
from devote.fleet.clock import Clock
from devote.fleet.core import DeviceCore
from devote.fleet.errors import JoinError
from devote.fleet.expiry import Expiry, OnExpire
from devote.fleet.joining import RemoteBoard, open_store
from devote.fleet.loop import Pace, run_forever
from devote.fleet.status import DeviceStatus
from devote.fleet.sync import sync_once


class AsyncDevice:
    """One device in one experiment; votes are read and sent by a task beside yours.

    ::

        async with await AsyncDevice.join(url, store="device.db", invite="...") as device:
            choice = await device.choose()
            await device.reward(1.0, choice)
    """

    def __init__(self, core: DeviceCore, board: RemoteBoard, pace: Pace | None = None) -> None:
        self.core = core
        self._board = board
        self._pace = pace or Pace()
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        core.on_vote = self._on_vote
        self._task = asyncio.create_task(self._run())

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
        board: RemoteBoard | None = None,
    ) -> Self:
        """Take part in the experiment at ``url`` with the state in ``store``.

        The first time, this makes the store, with a fresh key, and claims a seat; after that it
        needs no network. ``expire_after`` and ``on_expire`` say what becomes of a pull whose
        reward never comes, see ``Expiry``. ``dice`` gives a uniform number for each new pull.
        """
        expiry = Expiry(expire_after, on_expire)
        try:
            board = board or HttpBoard(url)
        except BoardRefused as error:
            raise JoinError(str(error)) from None
        try:
            opened = await open_store(store, url, board, invite)
            try:
                core = DeviceCore(opened, expiry=expiry, clock=clock, dice=dice)
            except BaseException:
                opened.close()
                raise
        except BaseException:
            await _close(board)
            raise
        return cls(core, board, pace)

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms."""
        return tuple(str(name) for name in self.core.spec.arms)  # type: ignore[union-attr]

    async def choose(self) -> Choice:
        """The arm to play; the pending choice again until its reward has come."""
        return await asyncio.to_thread(self.core.choose)

    async def pending(self) -> Choice | None:
        """The choice that awaits its reward, also after a restart; None if there is none."""
        return await asyncio.to_thread(self.core.pending)

    async def reward(self, x: float, choice: Choice | str | None = None) -> None:
        """What the choice, or the choice whose ``play`` this text is, paid: from 0 to 1.

        Raises ``LateReward`` if its play has expired and ``RepeatedReward`` if it has had its
        reward; nothing is counted then. Without a choice the reward is for the pending play;
        raises ``UnclearReward`` if one of the last 100 plays has expired, for whose reward
        this may be.
        """
        await asyncio.to_thread(self.core.reward, x, choice)

    def best(self) -> int | None:
        """The arm the votes have settled on, or None."""
        return self.core.best()

    def status(self) -> DeviceStatus:
        """How fresh the view is, what has left the device, and how the votes stand."""
        return self.core.status()

    async def sync(self) -> bool:
        """Post and read now; returns whether that worked. Never needed, for tests and tools."""
        return await sync_once(self.core, self._board, self._board.fetch_experiment)

    async def close(self, grace: float = 2.0) -> None:
        """Stop, after up to ``grace`` seconds for votes still waiting; they are kept anyway."""
        if self._task.done():
            return
        self._task.cancel()
        await asyncio.wait({self._task})
        if grace > 0.0 and self.core.waiting:
            with suppress(TimeoutError):
                await asyncio.wait_for(sync_once(self.core, self._board), grace)
        await _close(self._board)
        self.core.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _on_vote(self) -> None:
        with suppress(RuntimeError):  # the loop has ended: the vote is kept for the next start
            self._loop.call_soon_threadsafe(self._wake.set)

    async def _run(self) -> None:
        dice = random.SystemRandom().random
        while True:
            try:
                await run_forever(
                    self.core,
                    self._board,
                    wake=self._wake,
                    dice=dice,
                    describe=self._board.fetch_experiment,
                    pace=self._pace,
                )
            except Exception as error:
                # Whatever it was, playing goes on, the status says so, and it is tried again.
                self.core.health.note(
                    "sync", f"Reading and sending failed ({type(error).__name__}).\nReport this."
                )
                await asyncio.sleep(self._pace.cap * dice())


async def _close(board: RemoteBoard) -> None:
    close = getattr(board, "aclose", None)
    if close is not None:
        await close()
