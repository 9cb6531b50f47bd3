"""The few rules of a survey that a tally and the compiled loop share."""

from collections.abc import Sequence


def mix(x: int) -> int:
    """Scramble 32 bits; every step can be undone, so no two numbers get the same.

    Source: the constants are C. Wellons' (hash-prospector), chosen below 2^31 so that no product
    leaves 63 bits.
    """
    x = x & 0xFFFFFFFF
    x = x ^ (x >> 16)
    x = (x * 0x21F0AAAD) & 0xFFFFFFFF
    x = x ^ (x >> 15)
    x = (x * 0x735A2D97) & 0xFFFFFFFF
    return x ^ (x >> 15)


def uniform(first: int, second: int, step: int) -> float:
    """The number in [0, 1) with which the board's learner picks its arm at a step.

    ``first`` and ``second`` come from the experiment's fingerprint, so whoever folds the same
    log gets the same result.
    """
    return mix(mix(step + first) ^ second) / 4294967296.0


def leader(counts: Sequence[int], ones: Sequence[int], shared: Sequence[int]) -> int:
    """The arm with the highest share of ones among those asked about, the lowest index on a tie.

    An arm without answers comes after all others.
    """
    best = -1
    highest = -1.0
    for k in range(len(counts)):
        if shared[k]:
            value = ones[k] / counts[k] if counts[k] > 0 else -0.5
            if value > highest:
                best = k
                highest = value
    return best
