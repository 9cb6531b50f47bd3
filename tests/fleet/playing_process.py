"""A device process that plays until the votes have settled, to be killed at any moment.

It writes down each pull before its reward is passed on and after, as a careful program would,
and settles on restart what it cannot know: if the pull is still pending, the reward was not
counted. So the file holds one ``counted`` line for each reward that must be in the store, once.
"""

import random
import sys
import time
from pathlib import Path

from devote.fleet import Device
from devote.fleet.loop import Pace


def play(url: str, store: str, journal: Path, invite: str, means: list[float]) -> None:
    pace = Pace(every=0.5, base=0.05, cap=1.0)
    with (
        Device.join(url, store=store, invite=invite, pace=pace) as device,
        journal.open("a", buffering=1) as lines,
    ):
        before = journal.read_text().splitlines()
        if before and before[-1] == "passing" and device.core._player.pending is None:
            lines.write("counted\n")
        while device.status().state == "open" or device.status().waiting:
            x = float(random.random() < means[device.choose()])
            lines.write("passing\n")
            device.reward(x)
            lines.write("counted\n")
            time.sleep(0.001)


if __name__ == "__main__":
    url, store, journal, invite, *means = sys.argv[1:]
    play(url, store, Path(journal), invite, [float(mean) for mean in means])
