"""Uniform players: samples and messages of six algorithms.

Paper: the figure "Uniform distribution of players", panels (a) and (b).
"""

from devote.studies.experiment import Experiment
from devote.studies.problem_1.claims import claims
from devote.studies.problem_1.figure import draw
from devote.studies.problem_1.sweep import plan

EXPERIMENT = Experiment(
    name="problem-1",
    title="Problem 1: uniform players, samples and messages",
    source="paper, section 5, figure 'Uniform distribution of players'",
    plan=plan,
    draw=draw,
    claims=claims,
)
