"""All schemes side by side for one fleet, and which of them to use.

Each scheme says by its contract which specification suits the wish and about what that takes
(``protocol.planning``). Those that can do it are simulated, as far as time allows.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from devote.guarantees.cost import CostEstimate, estimate_cost
from devote.guarantees.relax import Relaxation, relaxations
from devote.guarantees.weigh import Candidate, Question, weigh
from devote.problems import Problem
from devote.protocol.scheme import SCHEMES
from devote.simulate.parts import PARTS
from devote.simulate.scenario import Scenario

PULLS_PER_SECOND = 2_000_000
"""About what a busy machine simulates; a fleet that takes longer is forecast instead."""

MOST_DEVICES = 2_000_000
"""The largest fleet that is laid out in memory; a larger one is forecast."""

SLOW_PULLS = 100_000
"""The most pulls of a run of a scheme without a compiled loop."""

OFTEN = 0.9
"""A scheme that comes to an answer in fewer runs than this share is not called able."""

Progress: TypeAlias = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Row:
    """One scheme: what it takes until there is an answer, what it promises, why it cannot.

    ``samples`` and ``messages`` are of all devices together, ``plays`` of each device. ``runs``
    of them were simulated, ``answered`` of these came to one answer; 0 where it is a forecast.
    ``liars`` is the fewest lying devices that can turn the answer.
    """

    candidate: Candidate
    plays: float | None
    messages: float | None
    days: float | None
    samples: float | None
    liars: int | None
    runs: int
    answered: int
    cannot: tuple[str, ...]

    @property
    def name(self) -> str:
        """The scheme's name."""
        return self.candidate.form.name

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        found, spec = self.candidate, self.candidate.spec
        return {
            "scheme": self.name,
            "spec": None if spec is None else spec.to_dict(),
            "votes_needed": None if spec is None else spec.votes_needed,
            "samples": self.samples,
            "messages": self.messages,
            "plays_per_device": self.plays,
            "days": self.days,
            "proved_error": found.proved_error,
            "proved_privacy": found.proved_privacy,
            "asks": None if spec is None else spec.scheme.asks(spec),
            "liars_to_turn": self.liars,
            "may_stall": found.may_stall,
            "devices_needed": None if found.forecast is None else found.forecast.devices,
            "simulated_runs": self.runs,
            "answered": self.answered,
            "can": not self.cannot,
            "cannot": list(self.cannot),
        }


@dataclass(frozen=True)
class Comparison:
    """The rows, which of them to use, why, and what to relax where none can do it."""

    question: Question
    problem: Problem
    rows: tuple[Row, ...]
    use: Row | None
    why: str
    relax: tuple[Relaxation, ...]
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        wish = self.question.wish
        return {
            "n_players": wish.n_players,
            "n_arms": wish.n_arms,
            "epsilon": wish.epsilon,
            "delta": wish.delta,
            "privacy": wish.privacy,
            "algorithm": wish.algorithm,
            "plays_per_day": self.question.plays_per_day,
            "most_days": self.question.days,
            "problem": self.problem.to_dict(),
            "schemes": [row.to_dict() for row in self.rows],
            "use": None if self.use is None else self.use.name,
            "why": self.why,
            "relax": [asdict(row) for row in self.relax],
            "seed": self.seed,
        }


def compare(
    question: Question,
    problem: Problem,
    *,
    trials: int = 20,
    seed: int = 0,
    seconds: float = 5.0,
    progress: Progress | None = None,
) -> Comparison:
    """Every scheme that devices can run, weighed, simulated where it can be, and one named.

    >>> from devote.protocol.planning import Wish
    >>> wish = Wish(n_players=500, n_arms=2, epsilon=0.25, delta=0.05, means=(0.8, 0.2))
    >>> found = compare(Question(wish, 10, 365), Problem("toy", [0.8, 0.2]), trials=2)
    >>> found.use.name, found.use.answered
    ('survey', 2)
    """
    forms = [form for form in SCHEMES.values() if form.deployable]
    rows = []
    for place, form in enumerate(forms):
        found = weigh(form, question)

        def report(done: int, place: int = place, name: str = form.name) -> None:
            if progress is not None:
                progress(place * trials + done, len(forms) * trials, name)

        report(0)
        cost = None
        if _is_worth_a_run(found, question, seconds):
            assert found.spec is not None
            horizon = SLOW_PULLS if form.name not in PARTS else None
            scenario = Scenario(found.spec, problem, question.wish.n_players, horizon)
            cost = estimate_cost(
                scenario,
                trials=trials,
                seed=seed,
                seconds=seconds,
                to_the_end=False,
                progress=report,
            )
        rows.append(_row(found, cost, question))
    able = [row for row in rows if not row.cannot]
    use = min(able, key=_preference, default=None)
    if use is None:
        return Comparison(
            question,
            problem,
            tuple(rows),
            None,
            _why_none(rows),
            relaxations(question, forms),
            seed,
        )
    return Comparison(question, problem, tuple(rows), use, _why(use, rows, question), (), seed)


def _is_worth_a_run(found: Candidate, question: Question, seconds: float) -> bool:
    """Whether it can come to an answer at all, and that within the time there is."""
    n = question.wish.n_players
    if found.spec is None or n < found.spec.scheme.fewest_players(found.spec):
        return False
    if n > MOST_DEVICES:
        return False
    if found.forecast is None:
        return True
    return n >= found.forecast.devices and n * found.forecast.plays <= seconds * PULLS_PER_SECOND


def _row(found: Candidate, cost: CostEstimate | None, question: Question) -> Row:
    n, forecast, cannot = question.wish.n_players, found.forecast, list(found.cannot)
    plays = None if forecast is None or math.isinf(forecast.plays) else forecast.plays
    messages = None if forecast is None else forecast.messages
    runs = answered = 0
    if cost is not None and not cost.cut_off:
        runs, answered = len(cost.runs), len(cost.decided)
        if cost.samples_to_decision is not None:
            plays = cost.samples_to_decision / n
            messages = sum(run.broadcasts for run in cost.runs) / runs
        if answered < OFTEN * runs:
            cannot.append(f"{runs - answered} of {runs} simulated runs ended without one answer")
    days = None if plays is None else plays / question.plays_per_day
    if days is None and not cannot:
        cannot.append("how long it takes is not known: simulate it")
    elif days is not None and days > question.days and not found.cannot:
        cannot.append(f"it takes about {days:,.0f} days")
    liars = None
    if found.spec is not None and messages is not None:
        liars = found.spec.scheme.liars_to_turn(found.spec, messages)
    samples = None if plays is None else plays * n
    return Row(found, plays, messages, days, samples, liars, runs, answered, tuple(cannot))


def _preference(row: Row) -> tuple[bool, float, float]:
    """Those that always come to an answer first; then the quickest, then the fewest messages."""
    assert row.days is not None
    assert row.messages is not None
    return row.candidate.may_stall, row.days, row.messages


def _why(use: Row, rows: list[Row], question: Question) -> str:
    wish = question.wish
    asked = f"proved error of at most {wish.delta:g}"
    asked += "" if wish.privacy is None else f" and proved privacy {wish.privacy:g}"
    others = [row for row in rows if not row.cannot and row is not use]
    words = f"It keeps what you ask, a {asked}"
    words += ", and is the quickest that does." if others else "; no other scheme does."
    for row in others:
        if row.messages is not None and use.messages is not None and row.messages < use.messages:
            words += f" If messages count more than days: {row.name}."
    if use.candidate.may_stall:
        words += " Where options tie it may end without one answer, and says so."
    return words


def _why_none(rows: list[Row]) -> str:
    return "No scheme can do this: " + "; ".join(
        f"{row.name}: {', '.join(row.cannot)}" for row in rows
    )
