"""Suboptimal arms that lose value over time: samples of six algorithms.

Paper: the figure "the mean rewards of suboptimal arms linearly decrease", panel (b).
"""

from devote.studies.experiment import Experiment
from devote.studies.problem_3.claims import claims
from devote.studies.problem_3.figure import draw
from devote.studies.problem_3.sweep import plan

EXPERIMENT = Experiment(
    name="problem-3",
    title="Problem 3: decreasing rewards, samples",
    source="paper, section 5, figure '50 % of players generates 80 % of events', panel (b)",
    plan=plan,
    draw=draw,
    claims=claims,
)
