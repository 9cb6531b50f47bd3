"""How much of a secret a device's messages expose, beside what its scheme promises.

What is promised of a private scheme is e-local differential privacy: whatever the user does,
anything that leaves its device is at most exp(e) times likelier than if it did something else.
Two numbers are measured for each secret, some worlds that are equally likely.

*Success*: how often the best adversary names the world. If P(y | w) is the probability of an output
in a world, the best guess is right with probability ``sum_y max_w P(y | w) / n``. Where the largest
of n such probabilities is m, the others are at least ``m exp(-e)``, so their sum is at least
``m (1 + (n - 1) exp(-e))``; and all sums add up to n. So a device that keeps its promise caps the
success at ``exp(e)/(exp(e) + n - 1)``.

*Epsilon at least*: the least e that leaves the success possible, by the same formula; and of two
worlds, the least that an event A leaves possible which the adversary names: ``ln P(A | one)/P(A |
other)``, and the same for the complement.

All intervals are exact (Clopper and Pearson) for a number of devices that is fixed beforehand, and
hold together with the confidence stated. A third of the devices teach the adversary, with a third
it chooses how to look and which event to name, a third measure it: so neither number profits from
having been chosen. A lower bound above e refutes the promise; nothing measured can prove it.

Paper: no place in it; Definition 3 is not differential privacy.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

from devote.audit.rates import AuditError, Progress, Rate, epsilon_lower_bound, to_json
from devote.audit.watched import Copy, Plan, Secret, Wire, World, plan, secrets_of
from devote.checks import Checks
from devote.protocol import ExperimentSpec
from devote.simulator.executors import in_chunks, local_executor, worker_count

Watch: TypeAlias = Callable[[ExperimentSpec, World, Sequence[Plan]], list[Wire]]
"""Runs a device through each plan."""

Reader: TypeAlias = Callable[[Wire], Hashable]
Guess: TypeAlias = Callable[[Wire], int]
Weigh: TypeAlias = Callable[[Wire], float]
BINS = 12
"""Stretches of a number that are told apart, equally frequent where it was learned."""

MOST = 6
"""A lead of more copies counts as this."""

AT_ONCE = 0.05
"""Seconds from an open in which what it gives rise to leaves."""

DIGITS = 4
"""Moments are read to a tenth of a millisecond, so that one that is always the same is one."""


def readings(taught: Sequence[Wire]) -> Iterator[tuple[str, Reader]]:
    """Every way of looking, with its name; stretches are learned from these wires."""
    yield "contents", lambda wire: tuple(sorted(wire.messages))
    yield "how many", lambda wire: (len(wire.messages), len(wire.copies))
    yield "requests", lambda wire: wire.forms
    for count in (_requests, _after_an_open):
        yield "requests", _stretches(taught, count)
    widths = [len(copy.numbers) for wire in taught for copy in wire.copies]
    places = range(max(widths, default=0))
    contents = [cache(_leading(place, lambda wire: wire.firsts)) for place in places]
    for leading in contents:
        yield "contents", leading
    for place in places:
        yield "every copy", _leading(place, lambda wire: wire.copies)
    for moment in (_since_first_open, _since_open, _opens_before, _between, _last, _since_drawn):
        when = _stretches(taught, moment)
        yield "moments", when
        for leading in contents:
            yield "contents, moments", _both(leading, when)


def learn(pairs: Sequence[Sequence[Wire]], read: Reader) -> Guess:
    """Guess the world in which what is read was seen most often; the first if that is new."""
    counts = [Counter(map(read, wires)) for wires in pairs]

    def guess(wire: Wire) -> int:
        seen = read(wire)
        return max(range(len(counts)), key=lambda world: counts[world][seen])

    return guess


def weights(one: Sequence[Wire], other: Sequence[Wire], read: Reader) -> Weigh:
    """The logarithm of how much likelier a wire looks in the first world than in the second.

    Of what was never seen while learning it knows nothing: 0.
    """
    here, there = Counter(map(read, one)), Counter(map(read, other))
    learned = {v: math.log((here[v] + 0.5) / (there[v] + 0.5)) for v in here | there}
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


def _stretches(taught: Sequence[Wire], number: Callable[[Wire], float]) -> Reader:
    """In which stretch a number falls, or on which of their ends; None if nothing was sent."""
    found = sorted(round(number(wire), DIGITS) for wire in taught if wire.copies)
    edges = [found[len(found) * i // BINS] for i in range(1, BINS)] if found else []

    def read(wire: Wire) -> Hashable:
        if not wire.copies:
            return None
        value = round(number(wire), DIGITS)
        return bisect_left(edges, value), bisect_right(edges, value)

    return read


def _requests(wire: Wire) -> float:
    return len(wire.requests)


def _after_an_open(wire: Wire) -> float:
    """How soon after an open there was a request, but for those that come with it."""
    waits = map(wire.since_open, wire.requests)
    return min((wait for wait in waits if wait > AT_ONCE), default=math.inf)


def _since_first_open(wire: Wire) -> float:
    return wire.copies[0].time - wire.opens[0]


def _since_open(wire: Wire) -> float:
    return wire.since_open(wire.copies[0].time)


def _opens_before(wire: Wire) -> float:
    return wire.opens_before(wire.copies[0].time)


def _between(wire: Wire) -> float:
    return wire.firsts[-1].time - wire.firsts[0].time


def _last(wire: Wire) -> float:
    return wire.opens_before(wire.firsts[-1].time)


def _since_drawn(wire: Wire) -> float:
    """How far an answer was from the moment that was drawn for it, at the farthest."""
    return max((wire.since_drawn(copy.time) for copy in wire.firsts), key=abs)


LEAST = 90
CONFIDENCE = 0.999
"""Of all intervals and lower bounds together."""

THRESHOLDS = 24
"""How many events of one reading an adversary tries."""

CAUTION = 5.0
"""Standard errors that an adversary allows for when it chooses an event."""


@dataclass(frozen=True)
class Exposure:
    """How well the best adversary did on one secret.

    ``cap`` is the proved cap on its success, ``promised`` the e of the scheme for all the device's
    experiments, None where it promises nothing. ``by`` and ``event_by`` are what it looked at.
    """

    secret: str
    worlds: tuple[str, ...]
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

    @property
    def verdict(self) -> str:
        """What the numbers say, for people."""
        if self.promised is None or self.cap is None:
            return "no cap is promised"
        if self.success.interval[0] > self.cap:
            return f"exceeds the cap, by {self.by}"
        if self.is_broken:
            return f"exceeds e = {self.promised:g}: {self.epsilon_at_least:.2f}, by {self.event_by}"
        return "consistent with the cap"

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        told = {"is_broken": self.is_broken, "verdict": self.verdict}
        return {**to_json(self, cap="proved_cap"), **told}


def promised_epsilon(spec: ExperimentSpec) -> float | None:
    """The e that a scheme promises for all that a device ever says, None if it promises none.

    >>> promised_epsilon(ExperimentSpec(arms=3, scheme="survey"))
    1.0
    >>> promised_epsilon(ExperimentSpec(arms=3))
    """
    return spec.scheme.sending.privacy


def proved_cap(epsilon: float, worlds: int = 2) -> float:
    """How often anybody can name one of some equally likely worlds.

    >>> round(proved_cap(1.0), 4), round(proved_cap(1.0, worlds=6), 4)
    (0.7311, 0.3522)
    """
    return 1.0 / (1.0 + (worlds - 1) * math.exp(-epsilon))


def epsilon_of_success(success: float, worlds: int) -> float:
    """The least epsilon that leaves such a success possible; 0 for what chance alone does.

    >>> round(epsilon_of_success(proved_cap(2.0, worlds=6), worlds=6), 9)
    2.0
    """
    if not 1.0 / worlds < success < 1.0:
        return math.inf if success == 1.0 else 0.0
    return math.log((worlds - 1) * success / (1.0 - success))


def audit_devices(
    spec: ExperimentSpec, *, client: Path | None = None, **options: Any
) -> dict[str, list[Exposure]]:
    """The audit of every device that ships and can run the scheme; options as ``audit_exposure``'s.

    ``client`` is a browser client in place of the one that ships. Without Node there is none.
    """
    from devote.audit import browser_device

    found = {"Python device": audit_exposure(spec, **options)}
    if spec.scheme.name == "survey" and browser_device.is_there:
        watch = partial(browser_device.watch_all, client=client)
        found["Browser client"] = audit_exposure(spec, watch=watch, **options)
    return found


def audit_exposure(
    spec: ExperimentSpec,
    *,
    runs: int = 2_000,
    seed: int = 0,
    workers: int | None = 1,
    confidence: float = CONFIDENCE,
    secrets: Sequence[Secret] | None = None,
    watch: Watch | None = None,
    progress: Progress | None = None,
) -> list[Exposure]:
    """Watch ``runs`` devices in each world, and put the adversaries to work.

    ``watch`` runs the device: the Python device that ships, unless another is given.
    """
    remedy = "A third of them teach, a third choose, a third measure."
    Checks(AuditError).whole("runs", runs, least=LEAST, remedy=remedy)
    if watch is None:
        from devote.audit.python_device import watch_all as watch
    secrets = secrets_of(spec) if secrets is None else secrets
    worlds = list(dict.fromkeys(world for secret in secrets for world in secret.worlds))
    seen: dict[World, list[Wire]] = {}
    count = worker_count(workers)
    size = max(1, min(200, runs // count))
    with local_executor(count) as executor:
        for done, world in enumerate(worlds):
            if progress is not None:
                progress(done, len(worlds), world.name)
            parts = in_chunks(executor, size, _watch_some, spec, range(runs), world, watch, seed)
            seen[world] = [wire for part in parts for wire in part]
    if not any(wire.copies for wires in seen.values() for wire in wires):
        raise AuditError(
            "No device has sent anything in any world, so nothing was audited.\n"
            "Check that the device runs here: a browser client needs Node 20 or newer."
        )
    # A success and an event of each secret.
    each = 1.0 - (1.0 - confidence) / (2 * len(secrets))
    return [_expose(spec, secret, seen, each, confidence) for secret in secrets]


def _watch_some(
    spec: ExperimentSpec, numbers: Sequence[int], world: World, watch: Watch, seed: int
) -> list[Wire]:
    return watch(spec, world, [plan(spec, f"{seed}/{world}/{number}") for number in numbers])


def _expose(
    spec: ExperimentSpec,
    secret: Secret,
    seen: dict[World, list[Wire]],
    each: float,
    confidence: float,
) -> Exposure:
    all_wires = [seen[world] for world in secret.worlds]
    third = len(all_wires[0]) // 3
    taught, chosen, tested = (
        [wires[start * third : (start + 1) * third] for wires in all_wires] for start in range(3)
    )
    ways = list(readings([wire for wires in taught for wire in wires]))
    guesses = [(name, learn(taught, read)) for name, read in ways]
    by, guess = max(guesses, key=lambda way: _right(way[1], chosen))
    worlds = len(secret.worlds)
    success = Rate(_right(guess, tested), worlds * third, each)
    least, event_by = epsilon_of_success(success.interval[0], worlds), by
    if worlds == 2:
        weighed = [(name, weights(taught[0], taught[1], read)) for name, read in ways]
        name, weigh, threshold = _best_event(weighed, chosen)
        hits, alarms = (sum(weigh(wire) >= threshold for wire in wires) for wires in tested)
        of_event = epsilon_lower_bound(hits, third, alarms, third, confidence=each)
        if of_event > least:
            least, event_by = of_event, name
    promised = promised_epsilon(spec)
    if promised is not None:
        promised *= secret.experiments
    return Exposure(
        secret=secret.name,
        worlds=tuple(world.name for world in secret.worlds),
        success=success,
        by=by,
        cap=None if promised is None else proved_cap(promised, worlds),
        epsilon_at_least=least,
        event_by=event_by,
        promised=promised,
        confidence=confidence,
    )


def _right(guess: Guess, wires: Sequence[Sequence[Wire]]) -> int:
    """How many worlds are named rightly."""
    return sum(guess(wire) == world for world, those in enumerate(wires) for wire in those)


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
