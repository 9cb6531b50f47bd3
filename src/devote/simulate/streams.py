"""Named streams of uniform numbers, the same in plain Python and in compiled code.

A trial draws from three streams of its own: who wakes, what a player chooses, what an arm
pays. Each is a Mersenne Twister seeded by the text ``seed/trial/name``, so a result depends on
nothing else: not on the number of workers, the order of trials, or what is compared with what.
``engine.twister`` draws the numbers of ``random.Random`` in blocks.

On independent clocks each player draws numbers of its own instead, see ``Clock``.
"""

import hashlib
import math
import random
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    pass

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


class CountedStream:
    """Uniform numbers by their place: nothing is set up, and nothing but the place is kept."""

    def __init__(self, key: int) -> None:
        self.key = key
        self.place = 0

    def random(self, size: int) -> Any:
        """The next numbers, as an array."""
        import numpy as np

        places = np.arange(self.place, self.place + size, dtype=np.uint64)
        self.place += size
        x = np.uint64(self.key) + np.uint64(GOLDEN) * places
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return ((x ^ (x >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def counted_stream(seed: int, trial: int, name: str) -> CountedStream:
    """A named stream of the clocks of a trial that are merged into one."""
    return CountedStream(trial_key(seed, trial, name))


MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def trial_key(seed: int, trial: int, name: str = "players") -> int:
    """64 bits for the clocks of one trial."""
    text = f"{seed}/{trial}/clocks/{name}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8])


KEYS_AT_ONCE = 1024


def trial_keys(seed: int, trials: Sequence[int], name: str = "players") -> Any:
    """``trial_key`` of many trials, as an array; scenarios have the same, which are kept."""
    import numpy as np

    blocks, places = np.divmod(np.asarray(trials, dtype=np.int64), KEYS_AT_ONCE)
    found, rows = np.unique(blocks, return_inverse=True)
    keys = [_some_keys(seed, block, name) for block in found.tolist()]
    return np.array(keys, dtype=np.uint64).reshape(-1, KEYS_AT_ONCE)[rows, places]


@lru_cache(maxsize=1024)
def _some_keys(seed: int, block: int, name: str) -> Any:
    import numpy as np

    first = block * KEYS_AT_ONCE
    keys = [trial_key(seed, trial, name) for trial in range(first, first + KEYS_AT_ONCE)]
    return np.array(keys, dtype=np.uint64)


def scramble(x: int) -> int:
    """SplitMix64's mixing of 64 bits."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


CELL = 8
"""Mean activations in a cell of a player's clock."""

MANY = 63
"""More activations than a cell ever has: the probability is below that of the smallest uniform."""

WORDS_OF_A_CELL = MANY + 1
ONWARD = 0xD1342543DE82EF95
"""Points (x, x times this) / 2^64 are a lattice that fills the unit square evenly.

Source: Steele and Vigna 2021, "Computationally easy, spectrally good multipliers"."""


@cache
def poisson_table() -> tuple[float, ...]:
    """The probability of up to 0, 1, 2, ... activations in a cell; the last is 1.

    >>> round(sum(1.0 - p for p in poisson_table()), 9)
    8.0
    """
    terms = [math.exp(-CELL)]
    for n in range(1, 4 * MANY):
        terms.append(terms[-1] * CELL / n)
    sums = [math.fsum(terms[: n + 1]) for n in range(MANY)]
    return (*(min(p, 1.0) for p in sums[:-1]), 1.0)


class Clock:
    """One player's numbers on independent clocks, by the number of the activation.

    Its activations are a Poisson process. Time, in units of the player's mean gap, has cells of
    length ``CELL``: how many activations a cell has is a Poisson number, and given that they are
    spread over it uniformly. So a player who runs through whole cells needs no times at all.

    ``simulate.engine.numbers`` computes the same in compiled code.

    >>> clock = Clock(seed=7, trial=0, player=3)
    >>> clock.in_cell(0, 1.0) == sorted(clock.in_cell(0, 1.0)), 0.0 <= clock.pay(12) < 1.0
    (True, True)
    """

    def __init__(self, seed: int, trial: int, player: int) -> None:
        key = trial_key(seed, trial)
        self.key = scramble(scramble((key + GOLDEN * player) & MASK) ^ key)

    def _word(self, place: int) -> int:
        return scramble((self.key + GOLDEN * place) & MASK)

    def _cell_word(self, cell: int, i: int) -> int:
        return self._word((1 << 63) + WORDS_OF_A_CELL * cell + i)

    def in_cell(self, cell: int, mean_gap: float) -> list[float]:
        """The times of the activations in a cell."""
        u = _unit(self._cell_word(cell, 0))
        n = next(n for n, p in enumerate(poisson_table()) if u < p)
        span = CELL * mean_gap
        return sorted((cell + _unit(self._cell_word(cell, i + 1))) * span for i in range(n))

    def times(self, mean_gap: float) -> Iterator[float]:
        """When the player wakes."""
        for cell in count():
            yield from self.in_cell(cell, mean_gap)

    def choose(self, activation: int) -> float:
        """The uniform from which the player chooses."""
        return _unit(self._word(2 * activation))

    def pay(self, activation: int) -> float:
        """The uniform from which the arm pays."""
        return _unit((self._word(2 * activation) * ONWARD) & MASK)

    def noise(self, activation: int) -> float:
        """The uniform that blurs what the player says."""
        return _unit(self._word(2 * activation + 1))


def _unit(word: int) -> float:
    """A number in [0, 1) from 64 random bits."""
    return (word >> 11) * 2.0**-53
