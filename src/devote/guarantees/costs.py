"""What one scheme takes with other values of what is asked: privacy, liars, epsilon; and scenarios.

Each is simulated, everything else kept as asked.
"""

from dataclasses import dataclass
from typing import Any

from devote.guarantees.forecast import Effort, Forecast, forecast
from devote.guarantees.question import Question
from devote.guarantees.weigh import two_digits, weigh
from devote.problems import Problem
from devote.protocol.scheme import Scheme

PRIVACY = (4.0, 2.0, 1.0, 0.5)
LIARS_OF_MANY = (0, 10, 100, 1_000)
"""Lying devices of a fleet that answers once each."""
LIARS_OF_FEW = (0, 1, 3, 10)
"""Lying devices where few devices decide."""
EPSILON = (0.5, 1.5, 2.0, 3.0)
"""Multiples of what is asked, as long as not every option passes."""

EVERYBODY = 2**62
"""A crowd that never ends: all devices are asked before the first answer comes."""

SHARE = 0.08
"""Of the time for a forecast, what one of these may take."""
RUNS = 100


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
    form: type[Scheme], question: Question, problem: Problem, effort: Effort
) -> tuple[Cost, ...]:
    """The costs of one scheme, by what is changed."""
    wish = question.wish
    some = effort.share(SHARE, RUNS)
    found = []
    for asked, values in _values(form, question, problem).items():
        for value in values:
            changed = question.ask(asked, value)
            is_asked = value == getattr(wish, asked)
            found.append(_cost(asked, value, is_asked, form, changed, problem, some))
    if form.suited(wish).scheme.answers_each is not None:
        crowd = _cost("flash crowd", None, False, form, question, problem, some, EVERYBODY)
        found.append(crowd)
    if len(set(problem.means)) > 1:
        alike = Problem("alike", (max(problem.means),) * problem.n_arms, activity=problem.activity)
        asked_of = question.ask("means", alike.means)
        found.append(_cost("all alike", max(problem.means), False, form, asked_of, alike, some))
    return tuple(found)


def _cost(
    asked: str,
    value: Any,
    is_asked: bool,
    form: type[Scheme],
    question: Question,
    problem: Problem,
    effort: Effort,
    crowd: int = 0,
) -> Cost:
    found = weigh(form, question)
    made = None
    if found.spec is not None:
        made = forecast(found.spec, problem, question, effort, crowd=crowd)
    cannot = (*found.cannot, *(() if made is None else made.why_not(question)))
    return Cost(asked, value, is_asked, made, cannot)


def _values(form: type[Scheme], question: Question, problem: Problem) -> dict[str, tuple[Any, ...]]:
    """The values that are tried, what is asked among them."""
    wish = question.wish
    many = form.suited(wish).scheme.answers_each is not None
    liars = {wish.liars, *(LIARS_OF_MANY if many else LIARS_OF_FEW)}
    privacy = {wish.privacy or PRIVACY[0], *PRIVACY}
    gap = max(problem.means) - min(problem.means)
    epsilon = {wish.epsilon, *(two_digits(wish.epsilon * factor) for factor in EPSILON)}
    return {
        "privacy": (None, *sorted(privacy, reverse=True)),
        "liars": tuple(sorted(n for n in liars if n <= max(wish.liars, wish.n_players // 20))),
        "epsilon": tuple(sorted(e for e in epsilon if e < (gap or 1.0))),
    }
