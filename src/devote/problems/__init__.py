"""Who wakes, and what arms pay: the environment side of a run.

A ``Problem`` is a small frozen description that survives JSON. For a number of players it
gives two things made of plain buffers, which the slow path and the compiled simulator share:
``problem.waking(n)`` for ``pick``, which player wakes, and ``problem.environment(n)`` for
``pay``, what an arm pays. Each takes one uniform per call.

>>> problem = get_problem("2")
>>> threshold, alias = problem.waking(32)
>>> player = pick(threshold, alias, 0.25)
>>> pay(problem.environment(32), 0, player, 0, 0.69)
1.0
"""

from devote.problems.activity import (
    ACTIVITIES,
    Activity,
    Split,
    Uniform,
    Weights,
    Zipf,
    parse_activity,
)
from devote.problems.alias import alias_table, pick
from devote.problems.catalogue import PROBLEMS, get_problem
from devote.problems.errors import ProblemError
from devote.problems.optimality import is_suboptimal, optimal_arms
from devote.problems.problem import Problem
from devote.problems.rewards import (
    BERNOULLI,
    BETA,
    REPLAY,
    UNIFORM,
    Environment,
    mean_reward,
    pay,
    segment_at,
)

__all__ = [
    "ACTIVITIES",
    "BERNOULLI",
    "BETA",
    "PROBLEMS",
    "REPLAY",
    "UNIFORM",
    "Activity",
    "Environment",
    "Problem",
    "ProblemError",
    "Split",
    "Uniform",
    "Weights",
    "Zipf",
    "alias_table",
    "get_problem",
    "is_suboptimal",
    "mean_reward",
    "optimal_arms",
    "parse_activity",
    "pay",
    "pick",
    "segment_at",
]
