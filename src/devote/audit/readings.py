"""What an adversary may look at in all that leaves a device, and how it weighs what it sees.

It knows the scheme, so it watches devices of its own in both worlds and learns how much likelier
each thing that it may see is in the one than in the other. It looks at contents, at each copy, at
how many there are, at moments, and at contents and moments together.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cache
from typing import TypeAlias

from devote.audit.wire import Copy, Wire

Reader: TypeAlias = Callable[[Wire], Hashable]
Weigh: TypeAlias = Callable[[Wire], float]
BINS = 12
"""Stretches of a number that are told apart, equally frequent where it was learned."""


MOST = 6
"""A lead of more copies counts as this."""


def readings(taught: Sequence[Wire]) -> Iterator[tuple[str, Reader]]:
    """Every way of looking, with its name; stretches are learned from these wires."""
    yield "contents", lambda wire: tuple(sorted(wire.messages))
    yield "how many", lambda wire: (len(wire.messages), len(wire.copies))
    widths = [len(copy.numbers) for wire in taught for copy in wire.copies]
    places = range(max(widths, default=0))
    contents = [cache(_leading(place, lambda wire: wire.firsts)) for place in places]
    for leading in contents:
        yield "contents", leading
    for place in places:
        yield "every copy", _leading(place, lambda wire: wire.copies)
    for moment in (_since_first_open, _since_open, _opens_before, _between, _last):
        when = _stretches(taught, moment)
        yield "moments", when
        for leading in contents:
            yield "contents, moments", _both(leading, when)


def weights(one: Sequence[Wire], other: Sequence[Wire], read: Reader) -> Weigh:
    """The logarithm of how much likelier a wire looks in the first world than in the second.

    Of what was never seen while learning it knows nothing: 0.
    """
    here, there = Counter(map(read, one)), Counter(map(read, other))
    share = math.log((len(other) + 1.0) / (len(one) + 1.0))
    learned = {
        value: math.log((here[value] + 0.5) / (there[value] + 0.5)) + share
        for value in here | there
    }
    return lambda wire: learned.get(read(wire), 0.0)


def _leading(place: int, those: Callable[[Wire], Sequence[Copy]]) -> Reader:
    """The commonest number in one place of these copies, and by how many it leads."""

    def read(wire: Wire) -> Hashable:
        found = Counter(copy.numbers[place] for copy in those(wire) if place < len(copy.numbers))
        ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
        if not ranked:
            return None
        behind = ranked[1][1] if len(ranked) > 1 else 0
        return ranked[0][0], min(ranked[0][1] - behind, MOST)

    return read


def _both(one: Reader, other: Reader) -> Reader:
    return lambda wire: (one(wire), other(wire))


def _stretches(taught: Sequence[Wire], when: Callable[[Wire], float]) -> Reader:
    times = sorted(when(wire) for wire in taught if wire.copies)
    edges = [times[len(times) * i // BINS] for i in range(1, BINS)] if times else []
    return lambda wire: bisect_right(edges, when(wire)) if wire.copies else None


def _since_first_open(wire: Wire) -> float:
    return round(wire.copies[0].time - wire.opens[0], 6)


def _since_open(wire: Wire) -> float:
    """Rounded, so that a moment which is always the same is one."""
    return round(wire.since_open(wire.copies[0]), 6)


def _opens_before(wire: Wire) -> float:
    return wire.opens_before(wire.copies[0])


def _between(wire: Wire) -> float:
    return round(wire.firsts[-1].time - wire.firsts[0].time, 6)


def _last(wire: Wire) -> float:
    return wire.opens_before(wire.firsts[-1])
