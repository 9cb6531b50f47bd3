"""Rounds of gossip among more devices than a machine can run: ``python -m benchmarks.gossip``.

Only who meets whom and when is simulated: each device wakes after half to one and a half periods,
meets one of the peers it knows (64 at random), and both hold what either held. What is new is also
pushed to three peers a tenth of a second later, as the board does. An exchange takes no time, so
networks and processors are left out; ``--devices 32 100`` says how far that is from the measured.

Bytes are those of the bodies of the real protocol: a comparison of equal sets, one of sets that
differ, and an item (tests/gossip/test_exchange.py measures them).
"""

import argparse
import heapq
import random

PERIOD, FANOUT, VIEW = 2.0, 3, 64
VOTES = 279
SAME, DIFFERS, ITEM = 180, 1_100, 560
GATHER = 0.1
MANY = 50


class Rounds:
    """So many devices; ``held`` is a bit mask for each."""

    def __init__(self, devices: int, seed: int, *, push: bool) -> None:
        self.n, self.dice, self.push = devices, random.Random(seed), push
        self.held = [0] * devices
        self.bytes = 0
        self.whole = 0
        self.missing = 0
        self.events: list[tuple[float, int, int]] = []

    def give(self, device: int, items: int) -> None:
        """Let a device hold items from the start."""
        self.held[device] |= items
        self.whole |= items

    def peer(self, device: int) -> int:
        """One of the 64 that a device knows."""
        place = self.dice.randrange(VIEW)
        return random.Random(device * VIEW + place).randrange(self.n)

    def run(self) -> float:
        """Seconds until all hold everything."""
        self.missing = sum(held != self.whole for held in self.held)
        for device in range(self.n):
            self.events.append((PERIOD * 1.5 * self.dice.random(), device, 0))
        heapq.heapify(self.events)
        for device in [d for d in range(self.n) if self.held[d]]:
            self._plan_push(0.0, device, self.held[device])
        now = 0.0
        while self.missing:
            now, device, items = heapq.heappop(self.events)
            if items:
                for _ in range(FANOUT):
                    other = self.peer(device)
                    self.bytes += 150 + ITEM * items.bit_count()
                    self._take(now, other, items)
            else:
                self._meet(now, device, self.peer(device))
                wait = PERIOD * (0.5 + self.dice.random())
                heapq.heappush(self.events, (now + wait, device, 0))
        return now

    def _meet(self, now: float, a: int, b: int) -> None:
        mine, theirs = self.held[a], self.held[b]
        self.bytes += SAME
        if mine != theirs:
            self.bytes += DIFFERS + ITEM * (mine ^ theirs).bit_count()
            self._take(now, a, theirs)
            self._take(now, b, mine)

    def _take(self, now: float, device: int, items: int) -> None:
        new = items & ~self.held[device]
        if new:
            self.held[device] |= new
            self.missing -= self.held[device] == self.whole
            self._plan_push(now, device, new)

    def _plan_push(self, now: float, device: int, new: int) -> None:
        if self.push and new.bit_count() <= MANY:
            heapq.heappush(self.events, (now + GATHER, device, new))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, nargs="+", default=[32, 100, 1_000, 100_000])
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(f"{'devices':>8}  {'a new vote, pushed':>18}  {'by rounds alone':>15}  "
          f"{'cut in two, healed':>18}  {'KB per device':>13}")  # fmt: skip
    for devices in given.devices:
        times = []
        for push in (True, False):
            rounds = Rounds(devices, given.seed, push=push)
            rounds.give(0, 1)
            times.append(rounds.run())
        healed = Rounds(devices, given.seed, push=False)
        common = (1 << VOTES) - 1
        left, right = common & ~0b1111100000, common & ~0b11111  # five votes that the other lacks
        for device in range(devices):
            healed.give(device, left if device % 2 else right)
        times.append(healed.run())
        weight = healed.bytes / devices / 1e3
        print(f"{devices:>8}  {times[0]:>16.1f} s  {times[1]:>13.1f} s  {times[2]:>16.1f} s  "
              f"{weight:>13.1f}")  # fmt: skip
    idle = 2 * SAME * 3600 / PERIOD / 1e6
    print(f"When nothing happens: {idle:.2f} MB of bodies per device and hour, at any size.")


if __name__ == "__main__":
    main()
