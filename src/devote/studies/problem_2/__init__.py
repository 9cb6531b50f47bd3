"""Half of the players generates 80 % of the events: samples of six algorithms.

Paper: the figure "50 % of players generates 80 % of events", panel (a).
"""

from devote.studies.experiment import Experiment
from devote.studies.problem_2.claims import claims
from devote.studies.problem_2.figure import draw
from devote.studies.problem_2.sweep import plan

EXPERIMENT = Experiment(
    name="problem-2",
    title="Problem 2: uneven players, samples",
    source="paper, section 5, figure '50 % of players generates 80 % of events', panel (a)",
    plan=plan,
    draw=draw,
    claims=claims,
)
