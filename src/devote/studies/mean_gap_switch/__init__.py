"""A sequence of rewards with a switch: Assumption 4 does not hold.

Paper: section 4, the second figure "Mean gap versus time".
"""

from devote.studies.experiment import Experiment
from devote.studies.mean_gap_switch.claims import claims
from devote.studies.mean_gap_switch.figure import draw
from devote.studies.mean_gap_switch.sweep import plan

EXPERIMENT = Experiment(
    name="mean-gap-switch",
    title="Mean gap with a switch at time 7",
    source="paper, section 4, figure 'Mean gap versus time. Assumption 4 does not hold'",
    plan=plan,
    draw=draw,
    claims=claims,
)
