"""A sequence of rewards for which Assumption 4 holds.

Paper: section 4, the first figure "Mean gap versus time".
"""

from devote.studies.experiment import Experiment
from devote.studies.mean_gap.claims import claims
from devote.studies.mean_gap.figure import draw
from devote.studies.mean_gap.sweep import plan

EXPERIMENT = Experiment(
    name="mean-gap",
    title="Mean gap where Assumption 4 holds",
    source="paper, section 4, figure 'Mean gap versus time. Assumption 4 holds'",
    plan=plan,
    draw=draw,
    claims=claims,
)
