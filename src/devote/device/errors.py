"""What can go wrong with a device, each with its remedy; never with a reward in the text.

What can go wrong with its store is in ``boards.database``.
"""

from devote.errors import DevoteError


class DeviceError(DevoteError):
    """A device cannot do what was asked; nothing that was stored is lost."""


class JoinError(DeviceError):
    """The experiment could not be joined."""


class JoinRefused(JoinError):
    """What answers is not the experiment, does not take this device, or is not what it accepts."""


class NoExperiment(JoinRefused):
    """The server has no experiment of that name."""


class StaysOut(JoinError):
    """The device does not take part, as its app has set: nothing was sent."""


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
