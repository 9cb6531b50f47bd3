"""A device for programs that block: four verbs, and a thread that reads and sends."""

from collections.abc import Callable
from pathlib import Path
from typing import Self

from devote.boards.board import Board
from devote.fleet.async_device import AsyncDevice
from devote.fleet.background import LoopThread
from devote.fleet.choice import Choice
from devote.fleet.clock import Clock
from devote.fleet.expiry import OnExpire
from devote.fleet.loop import Pace
from devote.fleet.status import DeviceStatus


class Device:
    """One device in one experiment; ``AsyncDevice`` run in one background thread.

    ::

        with Device.join(url, store="device.db", invite="...") as device:
            choice = device.choose()
            device.reward(1.0, choice)
            device.best(), device.status()

    ``choose`` and ``reward`` only touch the store: they work offline and never wait for the
    network. Several threads may share a device; it has one pull at a time.
    """

    def __init__(self, device: AsyncDevice, thread: LoopThread) -> None:
        self._device = device
        self._thread = thread
        self._core = device._core

    @classmethod
    def join(
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
        """Take part in the experiment at ``url``; see ``AsyncDevice.join``."""
        thread = LoopThread()
        try:
            device = thread.run(
                AsyncDevice.join(
                    url,
                    store=store,
                    invite=invite,
                    expire_after=expire_after,
                    on_expire=on_expire,
                    dice=dice,
                    clock=clock,
                    pace=pace,
                    board=board,
                )
            )
        except BaseException:
            thread.stop()
            raise
        return cls(device, thread)

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms."""
        return self._device.arms

    def choose(self) -> Choice:
        """The arm to play; the pending choice again until its reward has come."""
        return self._core.choose()

    def pending(self) -> Choice | None:
        """The choice that awaits its reward, also after a restart; None if there is none."""
        return self._core.pending()

    def reward(self, x: float, choice: Choice | str | None = None) -> None:
        """What the choice paid, from 0 to 1; see ``AsyncDevice.reward``."""
        self._core.reward(x, choice)

    def best(self) -> int | None:
        """The arm the group has settled on, or None."""
        return self._core.best()

    def status(self) -> DeviceStatus:
        """How fresh the view is, what has left the device, and how the group stands."""
        return self._core.status()

    def sync(self) -> bool:
        """Post and read now, waiting for the network; for tests and tools."""
        return self._thread.run(self._device.sync())

    def close(self, grace: float = 2.0) -> None:
        """Stop, after up to ``grace`` seconds for messages still waiting; they are kept anyway."""
        if self._thread.is_running:
            self._thread.run(self._device.close(grace))
            self._thread.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
