"""What one scheme takes with other values of what is asked: privacy, liars, epsilon; and scenarios.

Each is simulated, everything else kept as asked.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from devote.plan.forecast import Effort, Forecast, forecast
from devote.plan.question import Question
from devote.plan.weigh import two_digits, weigh
from devote.problems import Problem

PRIVACY = (4.0, 2.0, 1.0, 0.5)
LIARS_OF_MANY = (0, 10, 100, 1_000)
"""Lying devices of a fleet that answers once each."""
LIARS_OF_FEW = (0, 1, 3, 10)
"""Lying devices where few devices decide."""
EPSILON = (0.5, 2.0, 3.0)
"""Multiples of what is asked, as long as not every option passes."""

EVERYBODY = 2**62
"""A crowd that never ends: all devices are asked before the first answer comes."""

SHARE = 0.2
"""Of the time for a forecast, what one of these may take."""
RUNS = 100

Progress: TypeAlias = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Cost:
    """What it takes with one thing changed: ``asked`` names it, ``value`` is what it is.

    ``is_asked``: this is the value asked for. ``cannot``: why it would not do in this fleet.
    """

    asked: str
    value: Any
    is_asked: bool
    forecast: Forecast | None
    cannot: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "asked": self.asked,
            "value": self.value,
            "is_asked": self.is_asked,
            "simulated": None if self.forecast is None else self.forecast.to_dict(),
            "can": not self.cannot,
            "cannot": list(self.cannot),
        }


def costs_of(
    known: Forecast,
    question: Question,
    problem: Problem,
    effort: Effort,
    progress: Progress | None = None,
) -> tuple[Cost, ...]:
    """The costs of one scheme, by what is changed; ``known`` is what it takes as asked."""
    form = type(known.spec.scheme)
    some = effort.share(SHARE, RUNS)
    tried: list[tuple[str, Any, Question, Problem, int]] = []
    for asked, values in _values(known, question, problem).items():
        tried += [(asked, value, question.ask(asked, value), problem, 0) for value in values]
    if known.spec.scheme.planning(known.spec).answers_each is not None:
        tried.append(("flash crowd", None, question, problem, EVERYBODY))
    if len(set(problem.means)) > 1:
        alike = Problem("alike", (max(problem.means),) * problem.n_arms, activity=problem.activity)
        changed = question.ask("means", alike.means)
        tried.append(("all alike", max(problem.means), changed, alike, 0))
    found = []
    for place, (asked, value, changed, pays, crowd) in enumerate(tried):
        if progress is not None:
            progress(place, len(tried), f"{asked} {'' if value is None else value}".strip())
        if changed == question and not crowd:
            found.append(Cost(asked, value, True, known, tuple(known.why_not(question))))
            continue
        candidate, made = weigh(form, changed), None
        if candidate.spec is not None:
            made = forecast(candidate.spec, pays, changed, some, crowd=crowd)
        cannot = (*candidate.cannot, *(() if made is None else made.why_not(changed)))
        found.append(Cost(asked, value, False, made, cannot))
    return tuple(found)


def _values(known: Forecast, question: Question, problem: Problem) -> dict[str, tuple[Any, ...]]:
    """The values that are tried, what is asked among them."""
    wish = question.wish
    many = known.spec.scheme.planning(known.spec).answers_each is not None
    liars = {wish.liars, *(LIARS_OF_MANY if many else LIARS_OF_FEW)}
    privacy = {wish.privacy or PRIVACY[0], *PRIVACY}
    gap = max(problem.means) - min(problem.means)
    epsilon = {wish.epsilon, *(two_digits(wish.epsilon * factor) for factor in EPSILON)}
    return {
        "privacy": (None, *sorted(privacy, reverse=True)),
        "liars": tuple(sorted(n for n in liars if n <= max(wish.liars, wish.n_players // 20))),
        "epsilon": tuple(sorted(e for e in epsilon if e < (gap or 1.0))),
    }
