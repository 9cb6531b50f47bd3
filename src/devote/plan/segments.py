"""What an answer for each segment takes: by a survey that hides segments, and if they are public.

Segments that everybody may know, such as the platform, are a survey for each, with delta shared
out. Private ones are simulated as one stream of answers. How many runs are made depends on how much
work there is time for, as in ``forecast``.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from devote.plan.forecast import DECIDES, FEWEST, Effort, percentile
from devote.plan.question import Floats, Question
from devote.schemes import Survey
from devote.simulator.answers import simulate_answers
from devote.simulator.segments import simulate_segments

PRIVACY = (None, 4.0, 2.0, 1.0)
"""Compared beside what is asked."""

WORK = 2
"""An answer with segments counts as so many without, and for each segment as one more."""


@dataclass(frozen=True, eq=False)
class SegmentForecast:
    """Answers of all devices until a segment is decided, in each run; infinite where it is not.

    ``days`` says when that is. Runs were given up after ``most`` answers, or those of all devices;
    ``is_cut``: those were fewer.
    """

    name: str
    share: float
    answers: Floats
    days: Floats
    most: int
    is_cut: bool

    @property
    def is_decided(self) -> bool:
        """Whether 95 % of the runs decide it."""
        return math.isfinite(percentile(self.answers, DECIDES))

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: the median of runs, and what 95 % of them do not exceed."""
        ends = "decided" if self.is_decided else "unknown" if self.is_cut else "too small"
        found: dict[str, Any] = {"segment": self.name, "share": self.share, "ends": ends}
        for name, values in (("answers", self.answers), ("days", self.days)):
            ordered = {"median": percentile(values, 0.5), "p95": percentile(values, DECIDES)}
            found[name] = {k: v if math.isfinite(v) else None for k, v in ordered.items()}
        return {**found, "at_least": self.most, "runs": len(self.answers)}


def means_of_segments(means: tuple[float, ...], n_segments: int) -> list[tuple[float, ...]]:
    """What options pay if segments differ: the same values, the best one another in each.

    >>> means_of_segments((0.3, 0.2, 0.1), 2)
    [(0.3, 0.2, 0.1), (0.1, 0.3, 0.2)]
    """
    n = len(means)
    return [tuple(means[(k - z) % n] for k in range(n)) for z in range(n_segments)]


def private_segments(
    question: Question, shares: Mapping[str, float], effort: Effort
) -> list[SegmentForecast]:
    """One survey that hides the segment of a device with what it found."""
    wish, names = question.wish, tuple(shares)
    spec = wish.spec(Survey(privacy=wish.privacy, liars=wish.liars, segments=names))
    spec.check_players(wish.n_players)
    means = means_of_segments(question.problem.means, len(names))
    work = effort.work / (WORK + len(names))
    most = math.ceil(min(wish.n_players, work / FEWEST))
    sizes = list(shares.values())

    def decided(first: int, runs: int) -> Floats:
        how: dict[str, Any] = {"seed": effort.seed, "most": most, "first": first}
        found = simulate_segments(spec, means, sizes, runs=runs, **how)
        return np.where(found.winner < 0, math.inf, found.decided)

    answers = decided(0, FEWEST)
    each = np.where(np.isfinite(answers), answers, most).max(axis=1).mean()
    if (more := min(effort.runs, int(work / each)) - FEWEST) > 0:
        answers = np.concatenate((answers, decided(FEWEST, more)))
    return _forecasts(question, shares, answers, most, is_cut=most < wish.n_players)


def public_segments(
    question: Question, shares: Mapping[str, float], effort: Effort
) -> list[SegmentForecast]:
    """A survey for each segment, which everybody may know, at its share of delta."""
    wish = replace(question.wish, delta=question.wish.delta / len(shares))
    total = math.fsum(shares.values())
    spec = wish.spec(Survey(privacy=wish.privacy, liars=wish.liars))
    # The same options in another order take as many answers: one survey stands for all.
    most = math.ceil(effort.work / FEWEST)
    found = simulate_answers(spec, question.problem.means, runs=FEWEST, seed=effort.seed, most=most)
    runs = min(effort.runs, int(effort.work / found.answers.mean()))
    if runs > FEWEST:
        found = simulate_answers(
            spec, question.problem.means, runs=runs, seed=effort.seed, most=most
        )
    own = np.where(found.decided, found.answers, math.inf)
    answers = np.stack([own * total / share for share in shares.values()], axis=1)
    answers[answers > wish.n_players] = math.inf
    return _forecasts(question, shares, answers, most, is_cut=bool((~found.decided).any()))


def _forecasts(
    question: Question, shares: Mapping[str, float], answers: NDArray[Any], most: int, is_cut: bool
) -> list[SegmentForecast]:
    """Of each segment, and of all together; ``answers`` has a row for each run."""
    total = math.fsum(shares.values())
    columns = [(name, share / total) for name, share in shares.items()]
    values = [*answers.T, answers.max(axis=1)]
    made = []
    for (name, share), found in zip([*columns, ("all", 1.0)], values, strict=True):
        finite = np.where(np.isfinite(found), found, question.wish.n_players)
        days = np.where(np.isfinite(found), question.days_for_answers(finite, 1), math.inf)
        days[days > question.days] = math.inf
        within = np.where(np.isfinite(days), found, math.inf)
        made.append(SegmentForecast(name, share, within, days, most, is_cut))
    return made


def plan_segments(
    question: Question, shares: Mapping[str, float], effort: Effort
) -> dict[str, Any]:
    """What an answer for each segment takes, as JSON values.

    ``private`` has a row for each level of privacy, the one that is asked for with more time than
    the others; ``public`` is for segments that the server knows.

    >>> from devote.problems import Problem
    >>> from devote.protocol import Wish
    >>> wish = Wish(n_players=20_000, n_arms=2, epsilon=0.25, delta=0.05, privacy=4.0)
    >>> question = Question(wish, Problem("toy", (0.8, 0.2)), plays_per_day=1)
    >>> made = plan_segments(question, {"old": 0.9, "new": 0.1}, Effort(runs=10))
    >>> [row["ends"] for row in made["private"][1]["segments"]]
    ['decided', 'decided', 'decided']
    """
    wish, less = question.wish, replace(effort, seconds=effort.seconds / len(PRIVACY))
    private = []
    levels = {*PRIVACY, wish.privacy}
    for privacy in sorted(levels, key=lambda e: math.inf if e is None else e, reverse=True):
        asked, is_asked = question.ask("privacy", privacy), privacy == wish.privacy
        rows = private_segments(asked, shares, effort if is_asked else less)
        private.append({"privacy": privacy, "segments": [row.to_dict() for row in rows]})
    means = means_of_segments(question.problem.means, len(shares))
    names = ("n_players", "epsilon", "delta", "privacy", "liars")
    return {
        **{name: getattr(wish, name) for name in names},
        "visitors_per_day": question.visitors_per_day,
        "plays_per_day": question.plays_per_day,
        "most_days": question.days,
        "means": dict(zip(shares, means, strict=True)),
        "private": private,
        "public": [row.to_dict() for row in public_segments(question, shares, effort)],
        "seed": effort.seed,
    }
