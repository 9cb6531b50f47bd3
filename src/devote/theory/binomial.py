"""Binomial tails in plain Python: what a specification needs where nothing else is installed.

A jury of a specification is sized by a tail, and every device that reads the specification has to
come to the same number. Elsewhere SciPy serves.
"""

import math
import sys
from collections.abc import Iterator

from devote.theory.errors import check

LEAST = sys.float_info.min
"""Below it a number loses digits, and no ratio below one makes the smallest of all vanish."""


def binomial_tail(successes: int, trials: int, *, probability: float) -> float:
    """``P(Bin(trials, probability) >= successes)``, to about 1e-12 relative down to 1e-300.

    The likelier terms of the sum, relative to the largest. Work grows as the root of ``trials``:
    about .2 seconds for ten million.

    Paper: the law of a player's activations, proof of Theorem 2.

    >>> round(binomial_tail(2, 2, probability=0.5), 12), binomial_tail(3, 2, probability=0.5)
    (0.25, 0.0)
    """
    check.whole("successes", successes, least=0)
    check.whole("trials", trials, least=0)
    check.unit("probability", probability)
    if successes == 0:
        return 1.0
    if successes > trials or probability == 0.0:
        return 0.0
    if probability == 1.0:
        return 1.0
    terms = list(_terms(trials, probability))
    tail = math.fsum(term for count, term in terms if count >= successes)
    return tail / math.fsum(term for _, term in terms)


def _terms(trials: int, probability: float) -> Iterator[tuple[int, float]]:
    """P(Bin = count) over the largest of these, from the mode up and down until they vanish.

    Each is its neighbour times a ratio, which loses no digits; a logarithm of factorials would.
    """
    odds = probability / (1.0 - probability)
    mode = min(trials, int((trials + 1) * probability))
    term = 1.0
    for count in range(mode, trials + 1):
        yield count, term
        term *= (trials - count) / (count + 1) * odds
        if term < LEAST:
            break
    term = 1.0
    for count in range(mode, 0, -1):
        term *= count / ((trials - count + 1) * odds)
        if term < LEAST:
            break
        yield count - 1, term
