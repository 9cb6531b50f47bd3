"""A sequence of rewards for which Assumption 4 holds.

Paper: section 4, the first figure "Mean gap versus time".
"""

from devote.experiments.experiment import Experiment
from devote.experiments.mean_gap.claims import claims
from devote.experiments.mean_gap.figure import draw
from devote.experiments.mean_gap.sweep import plan

EXPERIMENT = Experiment(
    name="mean-gap",
    title="Mean gap where Assumption 4 holds",
    source="paper, section 4, figure 'Mean gap versus time. Assumption 4 holds'",
    plan=plan,
    draw=draw,
    claims=claims,
)
