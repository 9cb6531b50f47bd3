"""Named streams of uniform numbers, the same with and without numpy.

A trial draws from three streams of its own: who wakes, what a player chooses, what an arm
pays. Each is a Mersenne Twister seeded by the text ``seed/trial/name``, so a result depends on
nothing else: not on the number of workers, the order of trials, or what is compared with what.
``random.Random`` and numpy produce the same numbers from the same state.
"""

import random
from collections.abc import Iterator
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np

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


def numpy_stream(seed: int, trial: int, name: str) -> "np.random.Generator":
    """The same stream as ``stream``, drawn in blocks."""
    import numpy as np

    _, words, _ = stream(seed, trial, name).getstate()
    twister = np.random.MT19937(_unseeded())
    twister.state = {
        "bit_generator": "MT19937",
        "state": {"key": np.array(words[:-1], dtype=np.uint32), "pos": words[-1]},
    }
    return np.random.Generator(twister)


@cache
def _unseeded() -> Any:
    """A seed that costs nothing, for a twister whose state is set next: ten times as quick."""
    import numpy as np
    from numpy.random.bit_generator import ISeedSequence

    class Unseeded(ISeedSequence):
        def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
            return np.zeros(n_words, dtype)

    return Unseeded()
