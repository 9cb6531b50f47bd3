"""The named streams of a trial in blocks: the numbers of ``streams.stream``, a tenth of the time.

A Mersenne Twister as ``random.Random`` has it, compiled: the state is renewed as a whole, several
words at once, and seeding one takes some microseconds.

Source: Matsumoto and Nishimura 1998, mt19937ar.c.
"""

import hashlib
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])

WORDS, FAR = 624, 397
NEAR, PAIRS = WORDS - FAR, WORDS // 2
USED = WORDS
"""The place after the state that says how many of the numbers that are ready have been used."""

word: Any = np.uint32
UPPER, LOWER, TWIST = word(0x80000000), word(0x7FFFFFFF), word(0x9908B0DF)
ZERO, ONE = word(0), word(1)
S5, S6, S7, S11, S15, S18, S30 = map(word, (5, 6, 7, 11, 15, 18, 30))
MASK_7, MASK_15 = word(0x9D2C5680), word(0xEFC60000)
HIGH, UNIT = 2.0**26, 2.0**-53

compiler: Any = numba.njit
compiled: Callable[[F], F] = compiler(
    cache=True, error_model="numpy", nogil=True, no_cfunc_wrapper=True
)


@compiled
def mixed(y: Any) -> Any:
    """A word of the state, as it goes into the next one."""
    return y ^ (y >> S30)


@compiled
def seed(state: Any, key: Any) -> None:
    """Begin from words of any number."""
    state[0] = word(19650218)
    for i in range(1, WORDS):
        state[i] = word(1812433253) * mixed(state[i - 1]) + word(i)
    i, j = 1, 0
    first = max(WORDS, len(key))
    for n in range(first + WORDS - 1):
        if n < first:
            state[i] = (state[i] ^ (mixed(state[i - 1]) * word(1664525))) + key[j] + word(j)
            j = (j + 1) % len(key)
        else:
            state[i] = (state[i] ^ (mixed(state[i - 1]) * word(1566083941))) - word(i)
        i += 1
        if i == WORDS:
            state[0] = state[WORDS - 1]
            i = 1
    state[0] = UPPER
    state[USED] = PAIRS


@compiled
def twisted(high: Any, low: Any) -> Any:
    """What two neighbours add to a word of the next state."""
    y = (high & UPPER) | (low & LOWER)
    return (y >> ONE) ^ ((ZERO - (y & ONE)) & TWIST)


@compiled
def tempered(y: Any) -> Any:
    """A number from a word of the state."""
    y ^= y >> S11
    y ^= (y << S7) & MASK_7
    y ^= (y << S15) & MASK_15
    return y ^ (y >> S18)


@compiled
def draw(state: Any, ready: Any, out: Any) -> None:
    """Fill ``out``; ``ready`` holds the numbers of the present state."""
    used: Any = np.int64(state[USED])
    for n in range(len(out)):
        if used == PAIRS:
            for k in range(NEAR):
                state[k] = state[k + FAR] ^ twisted(state[k], state[k + 1])
            for k in range(FAR - 1):
                state[k + NEAR] = state[k] ^ twisted(state[k + NEAR], state[k + NEAR + 1])
            state[WORDS - 1] = state[FAR - 1] ^ twisted(state[WORDS - 1], state[0])
            for i in range(PAIRS):
                a, b = tempered(state[2 * i]), tempered(state[2 * i + 1])
                ready[i] = (np.int32(a >> S5) * HIGH + np.int32(b >> S6)) * UNIT
            used = 0
        out[n] = ready[used]
        used += 1
    state[USED] = used


class Twister:
    """One named stream of a trial."""

    def __init__(self, number: int, trial: int, name: str) -> None:
        # As ``random.Random`` is seeded by a text.
        text = f"{number}/{trial}/{name}".encode()
        value = int.from_bytes(text + hashlib.sha512(text).digest())
        words = value.to_bytes(-(-value.bit_length() // 32) * 4, "little")
        self._state = np.empty(WORDS + 1, dtype=word)
        self._ready = np.empty(PAIRS)
        seed(self._state, np.frombuffer(words, dtype="<u4"))

    def random(self, size: int) -> NDArray[np.float64]:
        """The next numbers, uniform in [0, 1)."""
        out = np.empty(size)
        draw(self._state, self._ready, out)
        return out
