"""What would have to be asked for instead, where no scheme can do what is asked."""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from devote.guarantees.weigh import Question, weigh
from devote.protocol.scheme import Scheme

MOST_DEVICES = 10**9
WEAKEST_PRIVACY = 8.0
STEP = 1.05
FOR_EVER = 1e12


@dataclass(frozen=True)
class Relaxation:
    """One change, everything else kept, with which a scheme can do it.

    ``asked`` names what changes, ``value`` is the least change that is enough, None for no
    privacy at all.
    """

    asked: str
    value: float | None
    scheme: str
    words: str


def relaxations(question: Question, schemes: Iterable[type[Scheme]]) -> tuple[Relaxation, ...]:
    """For each thing asked the smallest change that is enough, with whichever scheme."""
    found = [row for form in schemes for row in _of_one(question, form)]
    best: dict[str, Relaxation] = {}
    for row in found:
        before = best.get(row.asked)
        if before is None or _size(row) < _size(before):
            best[row.asked] = row
    return tuple(best.values())


def _size(row: Relaxation) -> float:
    return math.inf if row.value is None else row.value


def _of_one(question: Question, form: type[Scheme]) -> Iterator[Relaxation]:
    """The changes that help one scheme."""
    wish = question.wish

    def first(values: list[Any], changed: Callable[[Any], Question]) -> Any:
        """The first value that is enough; they are in order of what they give up."""
        place = bisect_left(values, True, key=lambda v: not weigh(form, changed(v)).cannot)
        return values[place] if place < len(values) else False

    def wanted(**change: Any) -> Question:
        return replace(question, wish=replace(wish, **change))

    devices = first(
        [math.ceil(n) for n in _rising(wish.n_players, MOST_DEVICES)],
        lambda n: wanted(n_players=n),
    )
    if devices:
        words = f"{form.name} with {devices:,} devices in place of {wish.n_players:,}"
        yield Relaxation("n_players", devices, form.name, words)
    epsilon = first(_rising(wish.epsilon, 1.0), lambda e: wanted(epsilon=e))
    if epsilon:
        words = f"{form.name} with epsilon {epsilon:g} in place of {wish.epsilon:g}"
        yield Relaxation("epsilon", epsilon, form.name, words)
    if wish.privacy is not None:
        values = [*_rising(wish.privacy, WEAKEST_PRIVACY), None]
        privacy = first(values, lambda e: wanted(privacy=e))
        if privacy is not False:
            said = "no privacy" if privacy is None else f"privacy {privacy:g}"
            words = f"{form.name} with {said} in place of {wish.privacy:g}"
            yield Relaxation("privacy", privacy, form.name, words)
    forecast = weigh(form, question).forecast
    patient = replace(question, days=FOR_EVER)
    if forecast is not None and not weigh(form, patient).cannot:
        days = _two_digits(forecast.plays / question.plays_per_day)
        plays = _two_digits(forecast.plays / question.days)
        words = f"{form.name} with {days:,g} days in place of {question.days:g}"
        yield Relaxation("days", days, form.name, words)
        words = (
            f"{form.name} with {plays:,g} plays of each device and day in place of "
            f"{question.plays_per_day:g}"
        )
        yield Relaxation("plays_per_day", plays, form.name, words)


def _rising(start: float, end: float) -> list[float]:
    """Values of two digits above ``start``, each a little more than the one before."""
    steps = range(1, 2 + int(math.log(max(1.0, end / start)) / math.log(STEP)))
    values = sorted({_two_digits(start * STEP**i) for i in steps})
    return [value for value in values if start < value <= end]


def _two_digits(value: float) -> float:
    """Rounded up.

    >>> _two_digits(0.0123), _two_digits(12345)
    (0.013, 13000.0)
    """
    power = math.floor(math.log10(value)) - 1
    return float(f"{math.ceil(value / 10.0**power - 1e-9)}e{power}")
