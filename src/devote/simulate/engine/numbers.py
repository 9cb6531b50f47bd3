"""Counter-based random numbers for compiled code: no state, so any of them can be had again.

``streams.Clock`` is the same in plain Python. Everything is 64 bits without a sign: numba turns
a sum of signed and unsigned numbers into a float, so each constant is made unsigned here.

Source: SplitMix64 (Steele, Lea and Flood 2014), whose state is the key plus a multiple of a
constant; keys of different players are mixed twice.
"""

import math
from typing import Any

import numpy as np

from devote.kernels.jitable import jitable
from devote.simulate.streams import LAYERS, TAIL, layer_edges

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S30, S27, S31, S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
UNIT = 2.0**-53

LOWEST = np.uint64(LAYERS - 1)
EDGES = np.array(layer_edges())
HEIGHTS = np.exp(-EDGES)

PER_ACTIVATION = np.uint64(4)
GAP, CHOOSE, PAY, NOISE = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
"""What the numbers of one activation are for; the gap is the time before it."""


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
def uniform(key: np.uint64, activation: int, which: np.uint64) -> float:
    """A number in [0, 1)."""
    place = PER_ACTIVATION * np.uint64(activation) + np.uint64(which)
    return np.int64(mix(key + GOLDEN * place) >> S11) * UNIT


@jitable
def edge(layer: Any) -> float:
    """How far a layer of the ziggurat reaches; a device keeps this table in faster memory."""
    return float(EDGES[layer])


@jitable
def exponential(word: np.uint64) -> float:
    """An exponential number of mean 1 from 64 random bits, by the ziggurat ``streams.LAYERS``.

    One in a hundred takes more bits, which are mixed from these.
    """
    while True:
        layer = np.int64(word & LOWEST)
        x: float = np.int64(word >> S11) * UNIT * edge(layer)
        if x < edge(layer + 1):
            return x
        word = mix(word + GOLDEN)
        u = np.int64(word >> S11) * UNIT
        if layer == 0:
            return TAIL - math.log(1.0 - u)
        if HEIGHTS[layer] + u * (HEIGHTS[layer + 1] - HEIGHTS[layer]) < math.exp(-x):
            return x
        word = mix(word + GOLDEN)


@jitable
def gap(key: np.uint64, activation: int) -> float:
    """The time before an activation, in units of its mean."""
    return exponential(mix(key + GOLDEN * (PER_ACTIVATION * np.uint64(activation))))
