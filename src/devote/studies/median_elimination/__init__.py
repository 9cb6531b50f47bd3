"""Decentralized Median Elimination against successive elimination and UGapEc.

Paper: the figure "Decentralized Median Elimination", panels (a) and (b).
"""

from devote.studies.experiment import Experiment
from devote.studies.median_elimination.claims import claims
from devote.studies.median_elimination.figure import draw
from devote.studies.median_elimination.sweep import plan

EXPERIMENT = Experiment(
    name="median-elimination",
    title="Decentralized Median Elimination on problems 1 and 2",
    source="paper, section 5, figure 'Decentralized Median Elimination'",
    plan=plan,
    draw=draw,
    claims=claims,
)
