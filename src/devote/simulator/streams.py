"""Named streams of uniform numbers, the same in plain Python and in arrays.

A trial draws from three streams of its own: who wakes, what a player chooses, what an arm
pays. Each is a Mersenne Twister seeded by the text ``seed/trial/name``, so a result depends on
nothing else: not on the number of workers, the order of trials, or what is compared with what.

Where a stretch of a player's life must be run again, numbers are counted instead, see ``numbers``.
"""

import hashlib
import random
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, TypeAlias

NAMES = ("wake", "choose", "pay")

Triple: TypeAlias = tuple[float, float, float]


def stream(seed: int, trial: int, name: str) -> random.Random:
    """The generator behind one named stream.

    >>> stream(7, 0, "wake").random() == stream(7, 0, "wake").random()
    True
    """
    return random.Random(f"{seed}/{trial}/{name}")


def triples(seed: int, trial: int) -> Iterator[Triple]:
    """The uniforms of one pull after another: who wakes, what is chosen, what is paid."""
    wake, choose, pay = (stream(seed, trial, name).random for name in NAMES)
    for _ in count():
        yield wake(), choose(), pay()


class Streams:
    """The named streams of one trial after another, in blocks: the numbers of ``stream``.

    A ``random.Random`` and NumPy's ``RandomState`` are the same Mersenne Twister; this seeds the
    latter with the words that the former makes of a text.

    >>> streams = Streams(["wake"])
    >>> streams.start(7, 0)
    >>> streams.random(1)[0].tolist() == [stream(7, 0, "wake").random()]
    True
    """

    def __init__(self, names: Sequence[str]) -> None:
        from numpy.random import MT19937, RandomState

        self.names = names
        self._generators = [RandomState(MT19937(0)) for _ in names]

    def start(self, seed: int, trial: int) -> None:
        """Begin the streams of a trial."""
        import numpy as np

        for name, generator in zip(self.names, self._generators, strict=True):
            text = f"{seed}/{trial}/{name}".encode()
            value = int.from_bytes(text + hashlib.sha512(text).digest())
            words = value.to_bytes(-(-value.bit_length() // 32) * 4, "little")
            generator.seed(np.frombuffer(words, dtype="<u4"))

    def random(self, size: int) -> list[Any]:
        """The next numbers of each stream, as arrays."""
        return [generator.random_sample(size) for generator in self._generators]


def trial_key(seed: int, trial: int) -> int:
    """64 bits from which the counter-based numbers of a trial follow, see ``numbers``."""
    text = f"{seed}/{trial}/passes".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8])
