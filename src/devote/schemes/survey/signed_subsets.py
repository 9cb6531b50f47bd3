"""Signed subsets: one answer that hides a device's segment and its reward together.

A device belongs to one of S segments and has a bit, written as a sign: + for 1, - for 0. It sends
d of the S segments, each with a sign. Whether its own segment is among them, and with which sign,
is drawn first: with its own sign it has the weight ``d exp(e)``, with the other sign ``d``, absent
``2 (S - d)``. The remaining members are a uniform subset of the other segments, with uniform
signs. So an output is ``exp(e)`` times as likely if it holds the segment with its sign, and equally
likely otherwise: the answer is e-locally-differentially-private towards segment and bit together.
With d = 1 it is randomized response over the 2S pairs of a segment and a sign.

Exact by construction, as ``rules.randomizer``: a uniform number is one of 2^53 places, and each of
the three cases has a whole number of them. The proof is in ``docs/proofs.md``.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from devote.rules.randomizer import GRID

MOST_SEGMENTS = 64

DIGITS = 32
"""Segments whose signs fit in one number of a message: 3^32 is below 2^53."""


@dataclass(frozen=True)
class SignedSubsets:
    """How many of the ``GRID`` places stand for each case, and what an answer says of a segment.

    >>> randomizer = SignedSubsets.of(n_segments=3, size=1, privacy=math.log(2.0))
    >>> [round(p, 4) for p in randomizer.probabilities]
    [0.2857, 0.1429]
    """

    n_segments: int
    size: int
    own: int
    """Places for the segment with its own sign."""
    other: int
    """Places for the segment with the other sign."""

    @classmethod
    def of(cls, n_segments: int, size: int, privacy: float | None) -> "SignedSubsets":
        """The most places for the own sign that ``privacy`` allows; all of them if it is None."""
        if privacy is None:
            return cls(n_segments, 1, GRID, 0)
        # exp is right to the last digit or one off: two digits less are surely below it.
        odds = Fraction(math.nextafter(math.nextafter(math.exp(privacy), 0.0), 0.0))
        unit = math.ceil(Fraction(GRID) / (size * odds + 2 * n_segments - size))
        other = size * unit
        return cls(n_segments, size, GRID - other - 2 * (n_segments - size) * unit, other)

    @property
    def absent(self) -> int:
        """Places for a subset without the device's own segment."""
        return GRID - self.own - self.other

    @property
    def probabilities(self) -> tuple[float, float]:
        """Of the own sign and of the other sign on the device's own segment."""
        return self.own / GRID, self.other / GRID

    @property
    def slope(self) -> float:
        """kappa: how far the mean sign of a segment moves when its reward goes from 1/2 to 1."""
        own, other = self.probabilities
        return own - other

    @property
    def presence(self) -> tuple[float, float]:
        """How likely a segment is in the answer: of a device that belongs to it, and of another."""
        member = sum(self.probabilities)
        return member, (self.size - member) / (self.n_segments - 1)

    def variance(self, epsilon: float) -> float:
        """About the variance of what one answer says of one segment, to compare sizes by.

        That of its sign, divided by the slope, and that of the estimate of the segment's share,
        which counts ``epsilon`` times. ``best_size`` takes the size for which it is smallest.
        """
        member, stranger = self.presence
        sign = self.size / self.n_segments / (2.0 * self.slope**2)
        share = stranger * (1.0 - stranger) / (2.0 * (member - stranger) ** 2)
        return sign + epsilon**2 * share


@lru_cache(maxsize=256)
def best_size(n_segments: int, privacy: float | None, epsilon: float) -> int:
    """The number of segments to send with which answers say most.

    >>> [best_size(10, privacy, 0.1) for privacy in (None, 4.0, 2.0, 1.0)]
    [1, 1, 3, 8]
    """
    if privacy is None:
        return 1
    return min(
        range(1, n_segments),
        key=lambda size: SignedSubsets.of(n_segments, size, privacy).variance(epsilon),
    )


@dataclass(frozen=True)
class Noise:
    """All that is random in an answer, drawn when the device chooses its arm and stored with it."""

    place: int
    """Below ``GRID``."""
    others: tuple[int, ...]
    """As many different segments as the answer has, none of them the device's own."""
    signs: tuple[int, ...]
    """The sign of each, 1 or -1."""


def draw_noise(subsets: SignedSubsets, segment: int, draw_bits: Callable[[int], int]) -> Noise:
    """Draw what hides a segment; ``draw_bits(n)`` gives n random bits.

    ``secrets.randbits`` on a device. Other segments are drawn until there are enough different
    ones: each number of bits stands for one segment or is drawn again, so the subset is uniform.
    """
    n_bits = (subsets.n_segments - 1).bit_length()
    place = draw_bits(53)
    others: list[int] = []
    wanted = min(subsets.size, subsets.n_segments - 1) if subsets.absent else 0
    while len(others) < wanted:
        drawn = draw_bits(n_bits)
        if drawn < subsets.n_segments and drawn != segment and drawn not in others:
            others.append(drawn)
    return Noise(place, tuple(others), tuple(2 * draw_bits(1) - 1 for _ in others))


def signed_subset(
    subsets: SignedSubsets, segment: int, reward: float, noise: Noise
) -> tuple[int, ...]:
    """The sign of each segment in the answer, 0 for the absent ones.

    One place decides on the segment and rounds the reward to a bit. Whatever the reward, between
    ``other`` and ``own`` places give the segment either sign.
    """
    signs = [0] * subsets.n_segments
    place = noise.place - subsets.absent
    members = subsets.size
    if place >= 0:
        is_one = place < subsets.other + int(reward * (subsets.own - subsets.other))
        signs[segment] = 1 if is_one else -1
        members -= 1
    for other, sign in zip(noise.others[:members], noise.signs[:members], strict=True):
        signs[other] = sign
    return tuple(signs)


def is_signed_subset(subsets: SignedSubsets, signs: Sequence[int]) -> bool:
    """Whether an answer has a sign for each segment, and as many members as it must have."""
    return (
        len(signs) == subsets.n_segments
        and all(type(sign) is int and -1 <= sign <= 1 for sign in signs)
        and sum(map(abs, signs)) == subsets.size
    )


def pack(signs: Sequence[int]) -> tuple[int, int]:
    """Signs as two numbers in base 3, the first 32 segments in the first, the lowest digit first.

    A digit is 0 for an absent segment, 1 for +, 2 for -.

    >>> pack((0, 1, -1))
    (21, 0)
    """
    low, high = 0, 0
    for z, sign in enumerate(signs):
        digit = sign % 3 * 3 ** (z % DIGITS)
        low, high = (low + digit, high) if z < DIGITS else (low, high + digit)
    return low, high


def unpack(low: int, high: int, n_segments: int) -> tuple[int, ...] | None:
    """The signs that ``pack`` was given; None for digits beyond the number of segments.

    >>> unpack(21, 0, n_segments=3), unpack(21, 0, n_segments=2)
    ((0, 1, -1), None)
    """
    signs = []
    for z in range(n_segments):
        if z == DIGITS:
            low, high = high, low
        low, digit = divmod(low, 3)
        signs.append(digit - 3 * (digit // 2))
    return None if low or high else tuple(signs)
