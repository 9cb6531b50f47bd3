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

from devote.problems.activity import Activity as Activity
from devote.problems.activity import ProblemError as ProblemError
from devote.problems.activity import Split as Split
from devote.problems.activity import Uniform as Uniform
from devote.problems.activity import Weights as Weights
from devote.problems.activity import Zipf as Zipf
from devote.problems.activity import parse_activity as parse_activity
from devote.problems.activity import pick as pick
from devote.problems.catalogue import PROBLEMS as PROBLEMS
from devote.problems.catalogue import get_problem as get_problem
from devote.problems.log import Log as Log
from devote.problems.log import made_log as made_log
from devote.problems.log import problem_of_laws as problem_of_laws
from devote.problems.log import read_log as read_log
from devote.problems.problem import Problem as Problem
from devote.problems.rewards import is_suboptimal as is_suboptimal
from devote.problems.rewards import mean_reward as mean_reward
from devote.problems.rewards import optimal_arms as optimal_arms
from devote.problems.rewards import pay as pay
