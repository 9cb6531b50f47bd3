"""A device in the world: player, board, storage, clock and dice.

>>> from devote.fleet import Device
>>> [verb for verb in ("choose", "reward", "best", "status") if hasattr(Device, verb)]
['choose', 'reward', 'best', 'status']
"""

from devote.boards.database import (
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreMismatch,
    StoreReadOnly,
)
from devote.fleet.async_device import AsyncDevice
from devote.fleet.choice import Choice
from devote.fleet.device import Device
from devote.fleet.errors import (
    DeviceError,
    JoinError,
    JoinRefused,
    LateReward,
    RepeatedReward,
    RewardRefused,
    UnclearReward,
    UnknownPlay,
)
from devote.fleet.status import DeviceStatus

__all__ = [
    "AsyncDevice",
    "Choice",
    "Device",
    "DeviceError",
    "DeviceStatus",
    "JoinError",
    "JoinRefused",
    "LateReward",
    "RepeatedReward",
    "RewardRefused",
    "StoreBusy",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreMismatch",
    "StoreReadOnly",
    "UnclearReward",
    "UnknownPlay",
]
