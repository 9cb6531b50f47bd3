"""Counter-based random numbers for compiled code: no state, so any of them can be had again.

Everything is 64 bits without a sign; numba turns a sum of signed and unsigned numbers into a float,
so each constant is made unsigned here.

Source: SplitMix64 (Steele, Lea and Flood 2014), whose state is the key plus a multiple of a
constant; keys of different players are mixed twice.
"""

import math

import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S30, S27, S31, S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
UNIT = 2.0**-53

WORDS = np.uint64(4)
"""Words of one activation: what is chosen, what is paid, the noise, the time to the next."""
CHOOSE, PAY, NOISE, GAP = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)


def mix(x: np.uint64) -> np.uint64:
    """Scramble 64 bits."""
    x = (x ^ (x >> S30)) * FIRST
    x = (x ^ (x >> S27)) * SECOND
    return x ^ (x >> S31)


def player_key(trial: np.uint64, player: int) -> np.uint64:
    """The key of a player's numbers in a trial."""
    return mix(mix(trial + GOLDEN * np.uint64(player)) ^ trial)


def uniform(key: np.uint64, activation: int, word: np.uint64) -> float:
    """A number in [0, 1): one of the words of an activation."""
    x = mix(key + GOLDEN * (WORDS * np.uint64(activation) + word))
    return float(np.int64(x >> S11)) * UNIT


def gap(key: np.uint64, activation: int, span: float) -> float:
    """The time before an activation of a Poisson clock with this mean gap; never 0."""
    return -math.log(1.0 - uniform(key, activation, GAP)) * span + 1e-300
