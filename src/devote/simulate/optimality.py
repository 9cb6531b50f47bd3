"""Whether answers were good, told from the problem that nobody playing knows."""

from typing import NamedTuple

from devote.protocol import RunStatus
from devote.simulate.scenario import Scenario


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
    if not scenario.scheme.by_message:
        right = optimal.issuperset(winners)
        return Goodness(right, right)
    return Goodness(winners[0] in optimal, not optimal.isdisjoint(winners))
