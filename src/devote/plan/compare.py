"""All schemes side by side for one fleet, which of them to use, and what each thing asked costs.

Where none can do what is asked, ``relax`` looks for what would help.
"""

from dataclasses import dataclass
from typing import Any

from devote.plan.forecast import Effort
from devote.plan.question import Question
from devote.plan.relax import Relaxation, relaxations
from devote.plan.weigh import (
    Progress,
    Row,
    best_of,
    check_question,
    deployable,
    two_digits,
    weigh,
)
from devote.problems import Problem

EVERYBODY = 2**62
"""A crowd that never ends: all devices are asked before the first answer comes."""

PRIVACY = (4.0, 2.0, 1.0, 0.5)
LIARS_OF_MANY = (0, 10, 100, 1_000)
"""Lying devices of a fleet that answers once each."""
LIARS_OF_FEW = (0, 1, 3, 10)
"""Lying devices where few devices decide."""
EPSILON = (0.5, 2.0, 3.0)
"""Multiples of what is asked, as long as not every option passes."""


@dataclass(frozen=True)
class Cost:
    """What the scheme to use takes with one thing changed: ``asked`` names it.

    ``is_asked``: ``value`` is what was asked for.
    """

    asked: str
    value: Any
    is_asked: bool
    row: Row

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        kept = ("simulated", "can", "cannot")
        row = self.row.to_dict()
        found = {"asked": self.asked, "value": self.value, "is_asked": self.is_asked}
        return found | {key: row[key] for key in kept}


@dataclass(frozen=True)
class Comparison:
    """The rows, which of them to use, why, what that costs, or what to relax if there is none."""

    question: Question
    problem: Problem
    rows: tuple[Row, ...]
    use: Row | None
    why: str
    costs: tuple[Cost, ...]
    relax: tuple[Relaxation, ...]
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        question, wish = self.question, self.question.wish
        names = ("n_players", "n_arms", "epsilon", "delta", "privacy", "liars", "algorithm")
        return {
            **{name: getattr(wish, name) for name in names},
            "plays_per_day": question.plays_per_day,
            "visitors_per_day": question.visitors_per_day,
            "most_days": question.days,
            "problem": self.problem.to_dict(),
            "schemes": [row.to_dict() for row in self.rows],
            "use": None if self.use is None else self.use.name,
            "why": self.why,
            "costs": [cost.to_dict() for cost in self.costs],
            "relax": [row.to_dict() for row in self.relax],
            "seed": self.seed,
        }


def compare(
    question: Question,
    problem: Problem,
    *,
    runs: int = 400,
    seed: int = 0,
    seconds: float = 10.0,
    with_costs: bool = True,
    progress: Progress = lambda *_: None,
) -> Comparison:
    """Every scheme that devices can run, weighed and simulated, and one named.

    ``with_costs``: what the one named would take with other values of what is asked, as well.

    >>> from devote.protocol import Wish
    >>> wish = Wish(n_players=500, n_arms=2, epsilon=0.25, delta=0.05, means=(0.8, 0.2))
    >>> found = compare(Question(wish, 10), Problem("toy", [0.8, 0.2]), runs=20, with_costs=False)
    >>> found.use.name, found.use.forecast.decided
    ('survey', 20)
    """
    check_question(question)
    effort, forms = Effort(runs, seconds, seed), deployable()
    rows = []
    for place, form in enumerate(forms):
        progress(place, len(forms), form.name)
        row = weigh(form, question)
        # What cannot be used anyway is shown for comparison: a few runs will do.
        rows.append(
            row.simulated(question, problem, effort.share(0.2, 40) if row.cannot else effort)
        )
    use = best_of(rows)
    costs: tuple[Cost, ...] = ()
    relax: tuple[Relaxation, ...] = ()
    if use is None:
        why = "No scheme can do this: " + "; ".join(
            f"{row.name}: {', '.join(row.cannot)}" for row in rows
        )
        if with_costs:
            relax = relaxations(question, problem, effort, progress)
    else:
        why = _why(use, rows, question)
        if with_costs:
            costs = costs_of(use, question, problem, effort, progress)
    return Comparison(question, problem, tuple(rows), use, why, costs, relax, seed)


def _why(use: Row, rows: list[Row], question: Question) -> str:
    wish = question.wish
    asked = f"wrong in at most {100 * wish.delta:g} of 100 experiments"
    asked += "" if wish.privacy is None else f", privacy {wish.privacy:g}"
    asked += f", up to {wish.liars:,} lying devices" if wish.liars else ""
    others = [row for row in rows if not row.cannot and row is not use]
    words = f"What you ask is proved of it ({asked})"
    words += ", and it is the quickest." if others else "; no other scheme does it here."
    if use.may_stall:
        assert use.forecast is not None
        words += (
            " It may end without one answer, and then says so: "
            f"{use.forecast.runs - use.forecast.decided} of {use.forecast.runs} simulated runs did."
        )
    return words


def costs_of(
    known: Row, question: Question, problem: Problem, effort: Effort, progress: Progress
) -> tuple[Cost, ...]:
    """What one scheme takes with other privacy, liars and epsilon, and in two scenarios.

    Each is simulated, everything else kept as asked; ``known`` is what it takes as asked.
    """
    assert known.spec is not None
    wish, some = question.wish, effort.share(0.2, 100)
    many = known.spec.scheme.planning(known.spec).answers_each is not None
    gap = max(problem.means) - min(problem.means)
    liars = {wish.liars, *(LIARS_OF_MANY if many else LIARS_OF_FEW)}
    epsilon = {wish.epsilon, *(two_digits(wish.epsilon * factor) for factor in EPSILON)}
    values: dict[str, list[Any]] = {
        "privacy": [None, *sorted({wish.privacy or PRIVACY[0], *PRIVACY}, reverse=True)],
        "liars": sorted(n for n in liars if n <= max(wish.liars, wish.n_players // 20)),
        "epsilon": sorted(e for e in epsilon if e < (gap or 1.0)),
    }
    tried = [
        (asked, value, question.ask(asked, value), problem, 0)
        for asked, some_values in values.items()
        for value in some_values
    ]
    if many:
        tried.append(("flash crowd", None, question, problem, EVERYBODY))
    if gap:
        alike = Problem("alike", (max(problem.means),) * problem.n_arms, activity=problem.activity)
        tried.append(
            ("all alike", max(problem.means), question.ask("means", alike.means), alike, 0)
        )
    found = []
    for place, (asked, value, changed, pays, crowd) in enumerate(tried):
        progress(place, len(tried), f"{asked} {'' if value is None else value}".strip())
        is_asked = changed == question and not crowd
        row = (
            known if is_asked else weigh(known.form, changed).simulated(changed, pays, some, crowd)
        )
        found.append(Cost(asked, value, is_asked, row))
    return tuple(found)
