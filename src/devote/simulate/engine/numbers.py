"""Counter-based random numbers for compiled code: no state, so any of them can be had again.

``streams.Clock`` is the same in plain Python, and says what they are. Everything is 64 bits
without a sign: numba turns a sum of signed and unsigned numbers into a float, so each constant
is made unsigned here.

Source: SplitMix64 (Steele, Lea and Flood 2014), whose state is the key plus a multiple of a
constant; keys of different players are mixed twice.
"""

import numpy as np

from devote.kernels.jitable import jitable
from devote.simulate.streams import WORDS_OF_A_CELL, poisson_table

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
ONWARD = np.uint64(0xD1342543DE82EF95)
S30, S27, S31 = np.uint64(30), np.uint64(27), np.uint64(31)
S11, S56 = np.uint64(11), np.uint64(56)
UNIT = 2.0**-53
LAST_PART = np.int64(1 << 53)
"""The end of a cell, in such units."""

TWO, ONE, PER_CELL = np.uint64(2), np.uint64(1), np.uint64(WORDS_OF_A_CELL)
CELLS = np.uint64(1 << 63)
"""Where the words of a clock's cells begin, after those of all activations."""

UP_TO = np.array(poisson_table())
GUIDE = np.searchsorted(UP_TO, np.arange(256) / 256, side="right")
"""The fewest activations of a cell whose number has this first byte."""


@jitable
def mix(x: np.uint64) -> np.uint64:
    """Scramble 64 bits."""
    x = (x ^ (x >> S30)) * FIRST
    x = (x ^ (x >> S27)) * SECOND
    return x ^ (x >> S31)


@jitable
def player_key(trial: np.uint64, player: int) -> np.uint64:
    """The key of a player's numbers in a trial."""
    return mix(mix(trial + GOLDEN * np.uint64(player)) ^ trial)


@jitable
def part(word: np.uint64) -> np.int64:
    """A whole number of ``UNIT`` from 64 random bits."""
    return np.int64(word >> S11)


@jitable
def unit(word: np.uint64) -> float:
    """A number in [0, 1) from 64 random bits."""
    return part(word) * UNIT


@jitable
def word_at(key: np.uint64, place: int) -> np.uint64:
    """A word of a stream by its place, as ``streams.CountedStream`` has it."""
    return mix(key + GOLDEN * np.uint64(place))


@jitable
def activation_word(key: np.uint64, activation: int) -> np.uint64:
    """The word from which a player chooses; ``onward`` of it is the one from which it is paid."""
    return mix(key + GOLDEN * (TWO * np.uint64(activation)))


@jitable
def onward(word: np.uint64) -> np.uint64:
    """A second word from a first one."""
    return word * ONWARD


@jitable
def noise_word(key: np.uint64, activation: int) -> np.uint64:
    """The word that blurs what a player says."""
    return mix(key + GOLDEN * (TWO * np.uint64(activation) + ONE))


@jitable
def cell_key(key: np.uint64, cell: int) -> np.uint64:
    """Where the words of a cell begin."""
    return key + GOLDEN * (CELLS + PER_CELL * np.uint64(cell))


@jitable
def activations_in(key: np.uint64, cell: int) -> int:
    """How many activations a cell of a player's clock has."""
    word = mix(cell_key(key, cell))
    n = int(GUIDE[np.int64(word >> S56)])
    while unit(word) >= UP_TO[n]:
        n += 1
    return n


@jitable
def moment(words: np.uint64, i: int, cell: int, span: float) -> float:
    """When the i-th activation of a cell is, in no order; ``words`` is its ``cell_key``."""
    return (cell + unit(mix(words + GOLDEN * np.uint64(i + 1)))) * span


@jitable
def look_ahead(key: np.uint64, cell: int, n: int, span: float, limit: float) -> tuple[int, float]:
    """How many of the activations of a cell are before a moment, and when the next one is.

    If none is left in the cell, its end stands for the next one. The least is found among whole
    numbers, of which compiled code does several at once.
    """
    words = cell_key(key, cell)
    found = 0
    least = LAST_PART
    for i in range(n):
        one = part(mix(words + GOLDEN * np.uint64(i + 1)))
        before = (cell + one * UNIT) * span < limit
        found += int(before)
        later = LAST_PART if before else one
        least = later if later < least else least
    return found, (cell + least * UNIT) * span


@jitable
def moment_of_rank(key: np.uint64, cell: int, n: int, span: float, rank: int) -> float:
    """When the activation of a cell is that comes after ``rank`` others; its end if none does."""
    words = cell_key(key, cell)
    last = -1.0
    for _ in range(rank + 1):
        best = (cell + 1) * span
        for i in range(n):
            t = moment(words, i, cell, span)
            if last < t < best:
                best = t
        last = best
    return last


@jitable
def run_clock(
    key: np.uint64, cell: int, made: int, span: float, limit: float
) -> tuple[int, int, int, float]:
    """How many activations a player has before a moment, of which ``made`` of a cell are made.

    Also the cell that holds the moment, how many of it come before, and when the next one is.
    """
    ahead = -made
    while (cell + 1) * span <= limit:
        ahead += activations_in(key, cell)
        cell += 1
    found, following = look_ahead(key, cell, activations_in(key, cell), span, limit)
    return ahead + found, cell, found, following


@jitable
def place_after(key: np.uint64, cell: int, made: int, more: int) -> tuple[int, int, int]:
    """The cell of the activation that comes after so many more, its rank, and how many it has."""
    rank = made + more
    n = activations_in(key, cell)
    while rank >= n:
        rank -= n
        cell += 1
        n = activations_in(key, cell)
    return cell, rank, n


@jitable
def moment_after(
    key: np.uint64, cell: int, made: int, span: float, more: int
) -> tuple[int, int, float]:
    """The cell of the activation that comes after so many more, its rank there, and its time."""
    cell, rank, n = place_after(key, cell, made, more)
    return cell, rank, moment_of_rank(key, cell, n, span, rank)
