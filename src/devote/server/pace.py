"""How often devices are asked to read, so that a fleet of any size asks no more than it may.

It is told with the tally, rounded up to steps of two, so that it hardly ever changes what caches
hold. Once the group has decided there is nothing to wait for, and devices hardly read at all.
"""

import math
from dataclasses import replace

from devote.boards.board import PublicTally
from devote.boards.experiment import Experiment
from devote.server.settings import Settings


def told_pace(told: PublicTally, experiment: Experiment, settings: Settings) -> PublicTally:
    """A tally with the pace that suits the fleet, and whether its devices may hold streams."""
    is_settled = told.tally["status"] == "agreed" and not experiment.spec.resets
    return replace(
        told,
        pace=pace(experiment.enrolled, settings, is_settled=is_settled),
        streams=experiment.enrolled <= settings.streams and not is_settled,
    )


def pace(devices: int, settings: Settings, *, is_settled: bool = False) -> int:
    """Seconds between two reads of one of so many devices.

    >>> [pace(n, Settings(pace=15.0, polls=1_000.0)) for n in (100, 20_000, 1_000_000)]
    [15, 30, 1920]
    >>> pace(100, Settings(), is_settled=True)
    3600
    """
    least = settings.pace
    needed = max(1.0, devices / settings.polls / least)
    seconds = math.ceil(least * 2.0 ** math.ceil(math.log2(needed)))
    return max(seconds, math.ceil(settings.settled_pace)) if is_settled else seconds
