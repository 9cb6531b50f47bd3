"""More than one random number from the one uniform number that a rule is given for a pull.

A uniform number is one of 2^53 equally likely values, multiples of 2^-53 below 1. Only arithmetic
that is exact on a device and in compiled code is used, so that both draw the same.
"""

HIGH, LOW = 1 << 27, 1 << 26


def below(n: int, u: float) -> tuple[int, float]:
    """A whole number below n, and what is left of u: uniform again, and independent of it.

    Exactly so for a power of two; else every number has probability 1/n up to 2^-53. What is left
    takes 2^53/n values: after draws whose n multiply to M it has 53 - log2(M) random bits.

    >>> below(4, 0.625)
    (2, 0.5)
    """
    scaled = u * n
    whole = int(scaled)
    return whole, scaled - whole


def split(u: float) -> tuple[float, float]:
    """Two numbers instead of one, either of which can be split again, as often as it takes.

    Each is exactly uniform, with all 53 bits, because it is a permutation of the values of u. But
    together, too, they have only the 53 random bits of u: to a rule they are as independent as two
    numbers of a good generator, to a proof they are not.

    >>> split(0.5)[0] != split(0.5)[1], all(0.0 <= x < 1.0 for x in split(0.7))
    (True, True)
    """
    return permuted(u, 0x21F0AAAD, 0x735A2D97), permuted(u, 0x2C1B3C6D, 0x297A2D39)


def permuted(u: float, first: int, second: int) -> float:
    """Another of the 2^53 values, a different one for each u, by a Feistel network of four rounds.

    Source: Luby and Rackoff 1988; the multipliers are C. Wellons' (hash-prospector).
    """
    place = int(u * 9007199254740992.0)
    high, low = place // LOW, place % LOW
    for _ in range(2):
        low = low ^ (scrambled(high + 1, first) % LOW)
        high = high ^ (scrambled(low + 1, second) % HIGH)
    return (high * LOW + low) / 9007199254740992.0


def scrambled(x: int, factor: int) -> int:
    """27 bits or so that all depend on all bits of x."""
    x = (x * factor) % 4294967296
    x = x ^ (x >> 15)
    x = (x * 0x2B2AE35) % 4294967296
    return x ^ (x >> 13)
