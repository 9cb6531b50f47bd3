"""A device in the world: player, board, storage, clock and dice.

>>> from devote.fleet import Device
>>> [verb for verb in ("choose", "reward", "best", "status") if hasattr(Device, verb)]
['choose', 'reward', 'best', 'status']
"""

from devote.boards.database import StoreBusy as StoreBusy
from devote.boards.database import StoreCorrupt as StoreCorrupt
from devote.boards.database import StoreError as StoreError
from devote.boards.database import StoreFull as StoreFull
from devote.boards.database import StoreMismatch as StoreMismatch
from devote.boards.database import StoreReadOnly as StoreReadOnly
from devote.fleet.device import AsyncDevice as AsyncDevice
from devote.fleet.device import Device as Device
from devote.fleet.errors import DeviceError as DeviceError
from devote.fleet.errors import JoinError as JoinError
from devote.fleet.errors import JoinRefused as JoinRefused
from devote.fleet.errors import LateReward as LateReward
from devote.fleet.errors import RepeatedReward as RepeatedReward
from devote.fleet.errors import RewardRefused as RewardRefused
from devote.fleet.errors import UnclearReward as UnclearReward
from devote.fleet.errors import UnknownPlay as UnknownPlay
from devote.fleet.plays import Choice as Choice
from devote.fleet.status import DeviceStatus as DeviceStatus
