"""Whether answers were good, told from the problem that nobody playing knows."""

from typing import Any, NamedTuple

from devote.problems.rewards import TOLERANCE
from devote.protocol import RunStatus
from devote.simulator.scenario import Scenario


class Goodness(NamedTuple):
    """Two judgements of how a run ended, which differ on a stall only.

    The answer of a stall is the set of arms left. ``first``: its first arm, the one with the
    fewest votes, is epsilon-optimal. ``holds``: one of its arms is. Where players do not vote
    each has an answer of its own, and both say whether all are right. Both are false for a run
    that has no answer.
    """

    first: bool
    holds: bool


def judge_answer(
    scenario: Scenario, status: RunStatus, winners: tuple[int, ...], t: int
) -> Goodness:
    """Whether the answer of a run that ended at time t was good then."""
    if status == "unfinished":
        return Goodness(False, False)
    optimal = scenario.optimal(t)
    if not scenario.scheme.about.by_message:
        right = optimal.issuperset(winners)
        return Goodness(right, right)
    return Goodness(winners[0] in optimal, not optimal.isdisjoint(winners))


def judge_answers(scenario: Scenario, unfinished: Any, left: Any, times: Any) -> tuple[Any, Any]:
    """The same of many runs: a column for ``first``, one for ``holds``.

    ``left`` has a row for each run: the arms left, the likeliest first, then -1.
    """
    good = good_arms_at(scenario, times)
    there = left >= 0
    right = good[0, left] if len(good) == 1 else good[range(len(left)), left.T].T
    if not scenario.scheme.about.by_message:
        first = holds = (right | ~there).all(axis=1) & ~unfinished
    else:
        first = right[:, 0] & ~unfinished
        holds = (right & there).any(axis=1) & ~unfinished
    return first, holds


def good_arms_at(scenario: Scenario, times: Any) -> Any:
    """Which arms are epsilon-optimal at each of these times, a row each, as ``Scenario.optimal``.

    One row stands for all where it never changes.
    """
    import numpy as np

    problem, n_arms = scenario.problem, scenario.spec.n_arms
    if problem.drift is None and not problem.switches:
        return np.array([[k in scenario.optimal(0) for k in range(n_arms)]])
    if problem.groups:
        sets = [scenario.optimal(t) for t in times.tolist()]
        return np.array([[k in one for k in range(n_arms)] for one in sets])
    env = problem.environment(1)
    segments = np.searchsorted(env.starts, times, side="right") - 1
    means = np.reshape(env.means, (-1, n_arms))[segments]
    # A mean that was not moved is not clipped.
    moved = np.clip(means + np.array(env.slopes) * times[:, None], 0.0, 1.0)
    means = np.where(times[:, None] == 0, means, moved)
    return ~(means.max(axis=1, keepdims=True) - means > scenario.spec.epsilon + TOLERANCE)
