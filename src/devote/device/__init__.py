"""A device in the world: player, board, storage, clock and randomness.

``record`` is what a device knows, ``steps`` how that changes, ``store`` where it is kept, ``core``
the three together, ``sync`` how it talks to its board, ``device`` what a program calls.

>>> from devote.device import Device
>>> [verb for verb in ("choose", "reward", "best", "status") if hasattr(Device, verb)]
['choose', 'reward', 'best', 'status']
"""

from devote.boards.database import StoreBusy as StoreBusy
from devote.boards.database import StoreCorrupt as StoreCorrupt
from devote.boards.database import StoreError as StoreError
from devote.boards.database import StoreFull as StoreFull
from devote.boards.database import StoreMismatch as StoreMismatch
from devote.boards.database import StoreReadOnly as StoreReadOnly
from devote.device.core import DeviceStatus as DeviceStatus
from devote.device.device import AsyncDevice as AsyncDevice
from devote.device.device import Client as Client
from devote.device.device import Device as Device
from devote.device.errors import DeviceError as DeviceError
from devote.device.errors import JoinError as JoinError
from devote.device.errors import JoinRefused as JoinRefused
from devote.device.errors import LateReward as LateReward
from devote.device.errors import NoExperiment as NoExperiment
from devote.device.errors import RepeatedReward as RepeatedReward
from devote.device.errors import RewardRefused as RewardRefused
from devote.device.errors import StaysOut as StaysOut
from devote.device.errors import UnclearReward as UnclearReward
from devote.device.errors import UnknownPlay as UnknownPlay
from devote.device.steps import Choice as Choice
