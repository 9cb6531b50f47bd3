"""All schemes side by side for one fleet, which of them to use, and what each thing asked costs.

Each scheme says by its contract which specification suits the wish (``protocol.planning``); what
that takes is simulated. Where none can do what is asked, ``relax`` looks for what would help.
"""

from dataclasses import dataclass
from typing import Any

from devote.plan.costs import Cost, Progress, costs_of
from devote.plan.forecast import Effort, Forecast, forecast, why_not_simulated
from devote.plan.question import Question
from devote.plan.relax import Relaxation, relaxations
from devote.plan.weigh import Candidate, check_question, deployable, weigh
from devote.problems import Problem


@dataclass(frozen=True)
class Row:
    """One scheme: what simulated runs took, what it promises, why it cannot."""

    candidate: Candidate
    forecast: Forecast | None
    cannot: tuple[str, ...]

    @property
    def name(self) -> str:
        """The scheme's name."""
        return self.candidate.form.name

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        found, spec = self.candidate, self.candidate.spec
        planning = None if spec is None else spec.scheme.planning(spec)
        simulated = None if self.forecast is None else self.forecast.to_dict()
        return {
            "scheme": self.name,
            "spec": None if spec is None else spec.to_dict(),
            "votes_needed": None if spec is None else spec.votes_needed,
            "proved_error": found.proved_error,
            "proved_privacy": found.proved_privacy,
            "liars_tolerated": 0 if planning is None else planning.liars_tolerated,
            "asks": None if planning is None else planning.asks,
            "may_stall": found.may_stall,
            "can": not self.cannot,
            "cannot": list(self.cannot),
            "simulated": simulated,
        }


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
        return {
            "n_players": wish.n_players,
            "n_arms": wish.n_arms,
            "epsilon": wish.epsilon,
            "delta": wish.delta,
            "privacy": wish.privacy,
            "liars": wish.liars,
            "algorithm": wish.algorithm,
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
    progress: Progress | None = None,
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
    effort = Effort(runs, seconds, seed)
    forms = deployable()
    rows = []
    for place, form in enumerate(forms):
        if progress is not None:
            progress(place, len(forms), form.name)
        found = weigh(form, question)
        # What cannot be used anyway is shown for comparison: a few runs will do.
        share = effort.share(0.2, 40) if found.cannot else effort
        rows.append(_row(found, _simulate(found, question, problem, share), question, problem))
    use = min((row for row in rows if not row.cannot), key=_preference, default=None)
    if use is None:
        known = {row.name: row.forecast for row in rows if row.forecast is not None}
        relax = relaxations(question, problem, effort, known, progress) if with_costs else ()
        why = "No scheme can do this: " + "; ".join(
            f"{row.name}: {', '.join(row.cannot)}" for row in rows
        )
        return Comparison(question, problem, tuple(rows), None, why, (), relax, seed)
    why = _why(use, rows, question)
    costs: tuple[Cost, ...] = ()
    if with_costs:
        assert use.forecast is not None
        costs = costs_of(use.forecast, question, problem, effort, progress)
    return Comparison(question, problem, tuple(rows), use, why, costs, (), seed)


def _simulate(
    found: Candidate, question: Question, problem: Problem, effort: Effort
) -> Forecast | None:
    if found.spec is None:
        return None
    return forecast(found.spec, problem, question, effort)


def _row(found: Candidate, made: Forecast | None, question: Question, problem: Problem) -> Row:
    cannot = list(found.cannot)
    if made is not None:
        cannot += made.why_not(question)
    elif found.spec is not None and not found.is_refused:
        cannot.append(f"it is not simulated: {why_not_simulated(found.spec, problem, question)}")
    return Row(found, made, tuple(cannot))


def _preference(row: Row) -> tuple[bool, float, float]:
    """Those that always come to an answer first; then the quickest, then the fewest messages."""
    made = row.forecast
    assert made is not None
    return row.candidate.may_stall, made.days_needed, made.messages or 0.0


def _why(use: Row, rows: list[Row], question: Question) -> str:
    wish = question.wish
    asked = f"wrong in at most {100 * wish.delta:g} of 100 experiments"
    asked += "" if wish.privacy is None else f", privacy {wish.privacy:g}"
    asked += f", up to {wish.liars:,} lying devices" if wish.liars else ""
    others = [row for row in rows if not row.cannot and row is not use]
    words = f"What you ask is proved of it ({asked})"
    words += ", and it is the quickest." if others else "; no other scheme does it here."
    if use.candidate.may_stall:
        assert use.forecast is not None
        words += (
            " It may end without one answer, and then says so: "
            f"{use.forecast.runs - use.forecast.decided} of {use.forecast.runs} simulated runs did."
        )
    return words
