"""A device process that plays until the votes have settled, to be killed at any moment.

It writes down each pull before its reward is passed on and after, as a careful program would,
and settles on restart what it cannot know: if the pull is still pending, the reward was not
counted. So the file holds one ``counted`` line for each reward that must be in the store, once.
Another file holds each message that the board has acknowledged, as soon as it has. Nobody plays
while a vote waits, so that the votes keep coming for as long as the server is killed.

It pauses between two plays, for 64 of them share a machine: each for a time of its own, so that
they vote one after the other, and longer once it has voted. After SIGUSR1 it hardly does until it
votes, so that whoever kills it then may well kill it in the middle of a step.
"""

import random
import signal
import sys
import time
from pathlib import Path

from devote.boards.board import Envelope, Outcome
from devote.boards.http import HttpBoard
from devote.device import Device, JoinError
from devote.device.sync import Pace
from devote.protocol import to_json

PACE = Pace(every=2.0, base=0.05, cap=0.5)
PAUSE = 0.1, 1.0
VOTED, HURRIED = 0.5, 0.001


class WitnessedBoard(HttpBoard):
    """Writes down what was acknowledged."""

    def __init__(self, url: str, store: Path) -> None:
        super().__init__(url)
        self._lines = store.with_suffix(".acknowledged").open("a", buffering=1)

    async def publish(self, envelope: Envelope) -> Outcome:
        outcome = await super().publish(envelope)
        if outcome is not Outcome.REFUSED:
            self._lines.write(to_json(envelope.message) + "\n")
        return outcome

    async def aclose(self) -> None:
        self._lines.close()
        await super().aclose()


def join(url: str, store: Path, invite: str) -> Device:
    """The first join needs the server, which may be away just now; later ones do not."""
    while True:
        board = WitnessedBoard(url, store)
        try:
            return Device.join(url, store=store, invite=invite, pace=PACE, board=board)
        except JoinError:
            time.sleep(0.1)


def play(url: str, store: Path, invite: str, means: list[float]) -> None:
    hurried, pause = False, random.uniform(*PAUSE)

    def hurry(*_: object) -> None:
        nonlocal hurried
        hurried = True

    signal.signal(signal.SIGUSR1, hurry)
    journal = store.with_suffix(".journal")
    with join(url, store, invite) as device, journal.open("a", buffering=1) as lines:
        before = journal.read_text().splitlines()
        if before and before[-1] == "passing" and device.pending() is None:
            lines.write("counted\n")
        while (status := device.status()).state == "open" or status.waiting:
            if not status.waiting:
                choice = device.choose()
                x = float(random.random() < means[choice])
                lines.write("passing\n")
                device.reward(x, choice)
                lines.write("counted\n")
            if status.waiting:
                hurried = False
            time.sleep(HURRIED if hurried else VOTED if status.sent else pause)


if __name__ == "__main__":
    play(sys.argv[1], Path(sys.argv[2]), sys.argv[3], [float(mean) for mean in sys.argv[4:]])
