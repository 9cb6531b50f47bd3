"""What would have to be asked for instead, where no scheme can do what is asked.

Each thing asked is given up a little at a time until simulated runs of some scheme do it, with
everything else kept. The two ways that give up least are named. Where fewer than two things are
enough by themselves, they are tried together with no privacy, or with a larger epsilon.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from devote.plan.costs import Progress
from devote.plan.forecast import Effort, Forecast, forecast
from devote.plan.question import RATES, Question
from devote.plan.weigh import deployable, weigh
from devote.problems import Problem

NAMED = 2
"""How many ways are named."""

THINGS = 6
"""How many things can be given up: days, devices, epsilon, delta, privacy, liars."""

MOST_DEVICES = 10**8
LONGEST = 730.0
"""The most days that anybody would wait."""
DELTA = (0.01, 0.02, 0.05, 0.1, 0.2)
PRIVACY = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
WITHOUT_PRIVACY = 100.0
"""To give up privacy altogether counts as much as to ask for so much less of something else."""
MARGINS = (1.0, 1.1, 1.25)
"""Multiples of what runs needed that are tried in turn."""

STEP = 1.2
"""Each epsilon that is tried is so many times the one before."""

LARGEST = 0.9
"""The largest epsilon that is tried, as a share of the gap between the best and the worst."""


@dataclass(frozen=True)
class Change:
    """One thing asked otherwise: ``value`` in place of ``before``; None is no privacy at all."""

    asked: str
    before: float
    value: float | None

    @property
    def factor(self) -> float:
        """How many times less is asked."""
        if self.value is None:
            return WITHOUT_PRIVACY
        if self.value > self.before:
            return self.value / self.before
        return self.before / max(self.value, 1.0)

    @property
    def words(self) -> str:
        """The change as a person would say it."""
        value, before = self.value, self.before
        if self.asked == "n_players":
            return f"{value:,.0f} devices instead of {before:,.0f}"
        if self.asked == "visitors_per_day":
            return f"{value:,.10g} visitors a day instead of {before:,.10g}"
        if self.asked == "days":
            return f"up to {value:g} days instead of {before:g}"
        if self.asked == "privacy":
            now = "no privacy" if value is None else f"privacy e = {value:g}"
            return f"{now} instead of e = {before:g}"
        if self.asked == "liars":
            return f"at most {value:,.0f} lying devices instead of {before:,.0f}"
        return f"{self.asked} {value:g} instead of {before:g}"


@dataclass(frozen=True)
class Relaxation:
    """Changes, everything else kept, with which a scheme does it; ``forecast`` has the runs."""

    changes: tuple[Change, ...]
    forecast: Forecast

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "changes": [
                {"asked": one.asked, "before": one.before, "value": one.value}
                for one in self.changes
            ],
            "words": " and ".join(one.words for one in self.changes),
            "scheme": self.forecast.spec.scheme.name,
            "simulated": self.forecast.to_dict(),
        }


def relaxations(
    question: Question,
    problem: Problem,
    effort: Effort,
    known: dict[str, Forecast],
    progress: Progress | None = None,
) -> tuple[Relaxation, ...]:
    """The ways that give up least, each simulated.

    ``known`` has what is known already of some schemes in this fleet, by name.
    """
    found = list(_single(question, problem, effort, known, NAMED, progress=progress))
    for asked, value in _first_of_two(question, problem):
        if len(found) == NAMED:
            break
        first = Change(asked, _asked_now(question, asked), value)
        less = question.ask(asked, value)
        done = {change.asked for row in found for change in row.changes}
        for row in _single(less, problem, effort, {}, 1, without={asked, *done}):
            found.append(Relaxation((first, *row.changes), row.forecast))
    return tuple(found)


def _first_of_two(question: Question, problem: Problem) -> Iterator[tuple[str, float | None]]:
    """What is given up first where one thing is not enough."""
    gap = max(problem.means) - min(problem.means)
    if question.wish.privacy is not None:
        yield "privacy", None
    if question.wish.epsilon < _round_up(gap / 2.0) < LARGEST * gap:
        yield "epsilon", _round_up(gap / 2.0)


def _single(
    question: Question,
    problem: Problem,
    effort: Effort,
    known: dict[str, Forecast],
    most: int,
    without: set[str] | None = None,
    progress: Progress | None = None,
) -> Iterator[Relaxation]:
    """Up to so many changes of one thing that are enough, the least first."""
    few, many = effort.share(0.05, 40), effort.share(0.2, 200)
    ways: list[list[Change]] = []
    for place, (asked, values) in enumerate(_ways(question, problem, known, many)):
        if asked in (without or ()):
            continue
        if progress is not None:
            progress(place, THINGS, f"with other {asked}")
        changes = [Change(asked, _asked_now(question, asked), value) for value in values]

        def is_enough(change: Change) -> bool:
            return _best(question.ask(change.asked, change.value), problem, few) is not None

        # Later values give up more, so what is enough is found by bisection.
        enough = bisect_left(changes, True, key=is_enough)
        if enough < len(changes):
            ways.append(changes[enough:])
    named = 0
    for changes in sorted(ways, key=lambda way: way[0].factor):
        for change in changes[: len(MARGINS)]:
            made = _best(question.ask(change.asked, change.value), problem, many)
            if made is not None:
                yield Relaxation((change,), made)
                named += 1
                break
        if named == most:
            return


def _best(question: Question, problem: Problem, effort: Effort) -> Forecast | None:
    """The quickest scheme that does what is asked, None if none does."""
    best = None
    for form in deployable():
        candidate = weigh(form, question)
        if candidate.cannot or candidate.spec is None:
            continue
        made = forecast(candidate.spec, problem, question, effort, is_capped=True)
        if made is not None and not made.why_not(question):
            best = made if best is None or made.days_needed < best.days_needed else best
    return best


def _asked_now(question: Question, asked: str) -> float:
    found: float = getattr(question if asked in RATES else question.wish, asked)
    return found


def _ways(
    question: Question, problem: Problem, known: dict[str, Forecast], effort: Effort
) -> Iterator[tuple[str, list[Any]]]:
    """What can be given up, and values that give up more and more."""
    wish = question.wish
    yield from _more_devices_or_days(question, problem, known, effort)
    gap = max(problem.means) - min(problem.means)
    highest = LARGEST * gap if gap else min(1.0, 4.0 * wish.epsilon)
    n_steps = int(math.log(max(1.0, highest / wish.epsilon)) / math.log(STEP))
    higher = [_round_up(wish.epsilon * STEP**i) for i in range(1, n_steps + 1)]
    yield "epsilon", [epsilon for epsilon in higher if epsilon <= highest]
    yield "delta", [delta for delta in DELTA if delta > wish.delta]
    if wish.privacy is not None:
        yield "privacy", [*(e for e in PRIVACY if e > wish.privacy), None]
    if wish.liars:
        fewer = (wish.liars // 2**i for i in range(1, wish.liars.bit_length() + 1))
        yield "liars", list(dict.fromkeys(fewer))


def _more_devices_or_days(
    question: Question, problem: Problem, known: dict[str, Forecast], effort: Effort
) -> Iterator[tuple[str, list[Any]]]:
    """How many devices or days each scheme takes, by simulated runs in a fleet that is enough."""
    visitors = question.visitors_per_day
    needed: list[float] = []
    days: list[float] = []
    for form in deployable():
        ample = question.ask("n_players", max(question.wish.n_players, MOST_DEVICES))
        found = weigh(form, ample)
        if found.cannot or found.spec is None:
            continue
        made = known.get(form.name) or forecast(found.spec, problem, ample, effort)
        if made is None or made.is_cut or made.devices is None:
            continue
        needed.append(made.devices)
        if visitors is not None:
            days.append(made.devices / visitors)
        elif question.wish.n_players >= made.devices:
            days.append(made.days_needed)
    yield "days", _from(question.days, days, LONGEST)
    if visitors is None:
        yield "n_players", [int(n) for n in _from(question.wish.n_players, needed, MOST_DEVICES)]
    else:
        rates = [n / question.days for n in needed]
        yield "visitors_per_day", _from(visitors, rates, MOST_DEVICES)


def _from(before: float, needed: list[float], most: float) -> list[float]:
    """What one scheme or the other needs, rounded up, and a little more; nothing if it is there."""
    values = {_round_up(value * factor) for value in needed if value <= most for factor in MARGINS}
    return sorted(value for value in values if value > before)


def _round_up(value: float) -> float:
    """To two digits.

    >>> _round_up(0.0123), _round_up(12345)
    (0.013, 13000.0)
    """
    power = math.floor(math.log10(value)) - 1
    return float(f"{math.ceil(value / 10.0**power - 1e-9)}e{power}")
