"""What would have to be asked for instead, where no scheme can do what is asked.

Each thing asked is given up a little at a time until simulated runs of some scheme do it, with
everything else kept. The two ways that give up least are named. Where fewer than two things are
enough by themselves, they are tried together with no privacy, or with a larger epsilon.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from devote.plan.forecast import Effort
from devote.plan.question import Question
from devote.plan.weigh import Progress, Row, best_of, deployable, two_digits, weigh
from devote.problems import Problem, Weights

NAMED = 2
"""How many ways are named."""

STEP = 1.1
"""Each value that is tried is about so many times the one before."""

TRIES = 4
"""How many values, from the first that few runs find enough, are tried with many runs."""

MOST_DEVICES = 1e8
LONGEST = 730.0
"""The most days that anybody would wait."""
LARGEST = 0.9
"""The largest epsilon that is tried, as a share of the gap between the best and the worst."""
DELTA = (0.01, 0.02, 0.05, 0.1, 0.2)
PRIVACY = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
WITHOUT_PRIVACY = 100.0
"""To give up privacy altogether counts as much as to ask for so much less of something else."""


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
        low, high = sorted((self.value, self.before))
        return high / max(low, 1.0) if self.asked == "liars" else high / low

    @property
    def words(self) -> str:
        """The change as a person would say it."""
        value, before = self.value, self.before
        if value is None:
            return f"no privacy instead of e = {before:g}"
        words = {
            "n_players": f"{value:,.0f} devices instead of {before:,.0f}",
            "visitors_per_day": f"{value:,.10g} visitors a day instead of {before:,.10g}",
            "days": f"up to {value:g} days instead of {before:g}",
            "privacy": f"privacy e = {value:g} instead of e = {before:g}",
            "liars": f"at most {value:,.0f} lying devices instead of {before:,.0f}",
        }
        return words.get(self.asked, f"{self.asked} {value:g} instead of {before:g}")


@dataclass(frozen=True)
class Relaxation:
    """Changes, everything else kept, with which a scheme does it, and what its runs took."""

    changes: tuple[Change, ...]
    row: Row

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "changes": [asdict(one) for one in self.changes],
            "words": " and ".join(one.words for one in self.changes),
            "scheme": self.row.name,
            "simulated": self.row.to_dict()["simulated"],
        }


def relaxations(
    question: Question, problem: Problem, effort: Effort, progress: Progress
) -> tuple[Relaxation, ...]:
    """The ways that give up least, each simulated."""
    found = list(_single(question, problem, effort, NAMED, progress=progress))
    half = two_digits((max(problem.means) - min(problem.means)) / 2.0)
    first = [Change("epsilon", question.wish.epsilon, half)] if half > question.wish.epsilon else []
    if question.wish.privacy is not None:
        first.insert(0, Change("privacy", question.wish.privacy, None))
    for change in first:
        if len(found) == NAMED:
            break
        less = question.ask(change.asked, change.value)
        done = {one.asked for row in found for one in row.changes} | {change.asked}
        for row in _single(less, problem, effort, 1, without=done, progress=progress):
            found.append(Relaxation((change, *row.changes), row.row))
    return tuple(found)


def _single(
    question: Question,
    problem: Problem,
    effort: Effort,
    most: int,
    *,
    progress: Progress,
    without: Collection[str] = (),
) -> Iterator[Relaxation]:
    """Up to so many changes of one thing that are enough, the least first."""
    few, many = effort.share(0.2, 30), effort.share(0.2, 200)

    def best(change: Change, runs: Effort) -> Row | None:
        """The quickest scheme that does what is asked then, None if none does."""
        asked = question.ask(change.asked, change.value)
        rows = [row for form in deployable() if not (row := weigh(form, asked)).cannot]
        return best_of([row.simulated(asked, problem, runs) for row in rows])

    enough: list[list[Change]] = []
    ways = {asked: some for asked, some in _ways(question, problem).items() if asked not in without}
    for place, (asked, values) in enumerate(ways.items()):
        progress(place, len(ways), f"with other {asked}")
        changes = [Change(asked, question.asks(asked), value) for value in values]
        # Later values give up more, so what is enough is found by bisection.
        first = bisect_left(changes, True, key=lambda change: best(change, few) is not None)
        enough.append(changes[first : first + TRIES])
    for changes in sorted(filter(None, enough), key=lambda some: some[0].factor):
        made = ((change, best(change, many)) for change in changes)
        found = next(((change, row) for change, row in made if row is not None), None)
        if found is not None:
            yield Relaxation((found[0],), found[1])
            most -= 1
        if not most:
            return


def _ways(question: Question, problem: Problem) -> dict[str, list[Any]]:
    """What can be given up, and values that give up more and more."""
    wish = question.wish
    gap = max(problem.means) - min(problem.means)
    ways: dict[str, list[Any]] = {"days": _steps(question.days, LONGEST)}
    if question.visitors_per_day is not None:
        ways["visitors_per_day"] = _steps(question.visitors_per_day, MOST_DEVICES)
    elif not isinstance(problem.activity, Weights):  # which says how many devices there are
        ways["n_players"] = [round(n) for n in _steps(wish.n_players, MOST_DEVICES)]
    ways["epsilon"] = _steps(wish.epsilon, LARGEST * gap if gap else min(1.0, 4.0 * wish.epsilon))
    ways["delta"] = [delta for delta in DELTA if delta > wish.delta]
    if wish.privacy is not None:
        ways["privacy"] = [*(e for e in PRIVACY if e > wish.privacy), None]
    if wish.liars:
        ways["liars"] = [wish.liars // 2**i for i in range(1, wish.liars.bit_length() + 1)]
    return ways


def _steps(before: float, most: float) -> list[float]:
    """Larger and larger values of two digits, up to the most.

    >>> _steps(60, 80)
    [66.0, 73.0, 80.0]
    """
    values, value = [], before
    while (value := value * STEP) <= most:
        values.append(two_digits(value))
    return [value for value in dict.fromkeys(values) if before < value <= most]
