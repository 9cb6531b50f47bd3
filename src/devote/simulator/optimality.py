"""Whether answers were good, judged by the problem, which no player knows."""

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

from devote.problems.rewards import Environment, mean_in_row, optimal_arms, segment_at
from devote.protocol import RunStatus
from devote.simulator.scenario import Scenario


class Goodness(NamedTuple):
    """Two judgements of how a run ended, which differ on a stall only.

    The answer of a stall is the set of arms left. ``first``: its first arm, the one with the
    fewest votes, is epsilon-optimal. ``holds``: one of its arms is. Where players send nothing and
    each has an answer of its own, both say whether each answer is epsilon-optimal for its player.
    Both are false for a run that has no answer.
    """

    first: bool
    holds: bool


@lru_cache(maxsize=4)
def environment(scenario: Scenario) -> Environment:
    """What the arms of a scenario pay to whom; with many players it takes long to lay out."""
    return scenario.problem.environment(scenario.n_players)


def good_arms_by_group(scenario: Scenario, t: int) -> list[frozenset[int]]:
    """For each group of players the arms that are epsilon-optimal for them at time t."""
    env = environment(scenario)
    first = segment_at(env, t) * env.n_groups
    return [
        optimal_arms(
            [mean_in_row(env, first + group, t, k) for k in range(env.n_arms)],
            scenario.spec.epsilon,
        )
        for group in range(env.n_groups)
    ]


def judge_answer(
    scenario: Scenario,
    status: RunStatus,
    winners: Sequence[int],
    t: int,
    own_answers: Collection[tuple[int, int]] = (),
) -> Goodness:
    """Whether the answer of a run that ended at time t was good then.

    ``own_answers``, where players have their own: each pair of a group and an answer in it.
    """
    if status == "unfinished":
        return Goodness(False, False)
    if own_answers:
        good = good_arms_by_group(scenario, t)
        right = all(arm in good[group] for group, arm in own_answers)
        return Goodness(right, right)
    optimal = scenario.optimal(t)
    return Goodness(winners[0] in optimal, not optimal.isdisjoint(winners))
