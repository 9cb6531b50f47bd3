"""What can go wrong with a device, each with its remedy; never with a reward in the text."""


class DeviceError(Exception):
    """A device cannot do what was asked; nothing that was stored is lost."""


class JoinError(DeviceError):
    """The experiment could not be joined: not reachable, not ours, or not open to this device."""


class SeatRefused(JoinError):
    """The experiment has no seat for this device: its invite is no good, or all are taken."""


class RewardRefused(DeviceError):
    """A reward is not counted, and nothing has changed."""


class LateReward(RewardRefused):
    """The play that the reward is for has expired."""


class RepeatedReward(RewardRefused):
    """The play that the reward is for has had its reward."""


class UnclearReward(RewardRefused):
    """The reward names no play, and one that has expired may be meant."""


class UnknownPlay(RewardRefused):
    """The device remembers no such play."""


class StoreError(DeviceError):
    """The device's store could not be read or written; the last committed state stands."""


class StoreBusy(StoreError):
    """Another process, or another device in this one, has the store open."""


class StoreCorrupt(StoreError):
    """The file is damaged, or is not a device store."""


class StoreFull(StoreError):
    """There is no room to write; what was asked has not happened and can be asked again."""


class StoreMismatch(StoreError):
    """The store belongs to another experiment, another specification or another version."""


class StoreReadOnly(StoreError):
    """The file or its folder may not be written."""
