"""How much of a secret a device's messages expose, beside what its scheme promises.

What is promised of a private scheme is e-local differential privacy: whatever the user does,
anything that leaves its device is at most exp(e) times likelier than if it did something else.
Two numbers are measured for each secret, a pair of worlds.

*Success*: how often the best adversary names the world when both are equally likely. A device that
keeps its promise caps it at exp(e)/(1 + exp(e)). *Epsilon at least*: the adversary names an event
A, and e is at least ln P(A | one world)/P(A | the other) and the same for the complement of A,
taken at the ends of exact intervals. All rows hold together with the confidence stated, and a
lower bound above e refutes the promise.

A third of the devices teach the adversary, with a third it chooses how to look and which event to
name, a third measure it: so neither number profits from having been chosen.

Paper: no place in it; Definition 3 is not differential privacy.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from devote.audit.rates import AuditError, Progress, Rate, epsilon_lower_bound, to_json
from devote.audit.watched import SECRETS, Copy, Make, Secret, SimulatedDevice, Wire, World, watch
from devote.checks import Checks
from devote.protocol import ExperimentSpec
from devote.simulator.executors import in_chunks, local_executor, worker_count

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


LEAST = 90
CONFIDENCE = 0.999
"""Of all lower bounds on epsilon together."""

THRESHOLDS = 24
"""How many events of one reading an adversary tries."""

CAUTION = 5.0
"""Standard errors that an adversary allows for when it chooses an event."""


@dataclass(frozen=True)
class Exposure:
    """How well the best adversary did on one secret.

    ``cap`` is the proved cap on its success, ``promised`` the e of the scheme, None where it
    promises nothing. ``by`` and ``event_by`` are what it looked at.
    """

    secret: str
    worlds: tuple[str, str]
    success: Rate
    by: str
    cap: float | None
    epsilon_at_least: float
    event_by: str
    promised: float | None
    confidence: float

    @property
    def is_broken(self) -> bool:
        """Whether the promise is refuted."""
        return self.promised is not None and self.epsilon_at_least > self.promised

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {**to_json(self, cap="proved_cap"), "is_broken": self.is_broken}


def promised_epsilon(spec: ExperimentSpec) -> float | None:
    """The e that a scheme promises for all that a device ever says, None if it promises none.

    >>> promised_epsilon(ExperimentSpec(arms=3, scheme="survey"))
    1.0
    >>> promised_epsilon(ExperimentSpec(arms=3))
    """
    return spec.scheme.sending.privacy


def proved_cap(epsilon: float) -> float:
    """How often anybody can name one of two equally likely worlds: e^epsilon/(1 + e^epsilon).

    >>> round(proved_cap(1.0), 4)
    0.7311
    """
    return 1.0 / (1.0 + math.exp(-epsilon))


def audit_exposure(
    spec: ExperimentSpec,
    *,
    runs: int = 2_000,
    seed: int = 0,
    workers: int | None = 1,
    confidence: float = CONFIDENCE,
    secrets: Sequence[Secret] = SECRETS,
    make: Make = SimulatedDevice,
    progress: Progress | None = None,
) -> list[Exposure]:
    """Watch ``runs`` devices in each world, and put the adversaries to work.

    ``make`` makes the device that is watched.
    """
    remedy = "A third of them teach, a third choose, a third measure."
    Checks(AuditError).whole("runs", runs, least=LEAST, remedy=remedy)
    worlds = list(dict.fromkeys(world for secret in secrets for world in secret.worlds))
    seen: dict[World, list[Wire]] = {}
    count = worker_count(workers)
    size = max(1, min(200, runs // count))
    with local_executor(count) as executor:
        for done, world in enumerate(worlds):
            if progress is not None:
                progress(done, len(worlds), world.name)
            parts = in_chunks(executor, size, _watch_some, spec, range(runs), world, make, seed)
            seen[world] = [wire for part in parts for wire in part]
    each = 1.0 - (1.0 - confidence) / len(secrets)
    return [_expose(spec, secret, seen, each, confidence) for secret in secrets]


def _watch_some(
    spec: ExperimentSpec, numbers: Sequence[int], world: World, make: Make, seed: int
) -> list[Wire]:
    return [watch(spec, world, make, f"{seed}/{world.name}/{number}") for number in numbers]


def _expose(
    spec: ExperimentSpec,
    secret: Secret,
    seen: dict[World, list[Wire]],
    each: float,
    confidence: float,
) -> Exposure:
    pair = [seen[world] for world in secret.worlds]
    third = len(pair[0]) // 3
    taught, chosen, tested = (
        [wires[start * third : (start + 1) * third] for wires in pair] for start in range(3)
    )
    ways = [
        (name, weights(taught[0], taught[1], read))
        for name, read in readings([*taught[0], *taught[1]])
    ]
    by, guess = max(ways, key=lambda way: _right(way[1], chosen))
    event_by, weigh, least = _best_event(ways, chosen)
    hits, alarms = (sum(weigh(wire) >= least for wire in wires) for wires in tested)
    promised = promised_epsilon(spec)
    return Exposure(
        secret=secret.name,
        worlds=(secret.worlds[0].name, secret.worlds[1].name),
        success=Rate(_right(guess, tested), 2 * third),
        by=by,
        cap=None if promised is None else proved_cap(promised),
        epsilon_at_least=epsilon_lower_bound(hits, third, alarms, third, confidence=each),
        event_by=event_by,
        promised=promised,
        confidence=confidence,
    )


def _right(weigh: Weigh, pair: Sequence[Sequence[Wire]]) -> int:
    """How many worlds are named rightly."""
    one, other = pair
    return sum(weigh(wire) > 0.0 for wire in one) + sum(weigh(wire) <= 0.0 for wire in other)


def _best_event(
    ways: Sequence[tuple[str, Weigh]], pair: Sequence[Sequence[Wire]]
) -> tuple[str, Weigh, float]:
    """Among events "at least this much likelier in the first world": that with the most odds."""
    tried = []
    for name, weigh in ways:
        one, other = (sorted(weigh(wire) for wire in wires) for wires in pair)
        levels = sorted({*one, *other})[1:]
        for least in levels[:: max(1, len(levels) // THRESHOLDS)]:
            hits = 1.0 - bisect_left(one, least) / len(one)
            alarms = 1.0 - bisect_left(other, least) / len(other)
            odds = max(
                _cautious_odds(hits, alarms, len(one)),
                _cautious_odds(1.0 - alarms, 1.0 - hits, len(one)),
            )
            tried.append((odds, name, weigh, least))
    if not tried:  # everything always looks alike
        return "nothing", lambda wire: 0.0, 1.0
    _, name, weigh, least = max(tried, key=lambda event: event[0])
    return name, weigh, least


def _cautious_odds(often: float, seldom: float, runs: int) -> float:
    """About the lower bound on the logarithm of the odds: how an event is chosen."""
    reach = CAUTION / (2.0 * math.sqrt(runs))
    low = math.sin(max(0.0, math.asin(math.sqrt(often)) - reach))
    high = math.sin(min(math.pi / 2.0, math.asin(math.sqrt(seldom)) + reach))
    return 2.0 * math.log(low / high) if low > 0.0 else -math.inf
