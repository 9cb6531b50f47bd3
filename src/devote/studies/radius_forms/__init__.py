"""SER3 with each form of its radius, relative to UGapEc.

The paper prints no radius; two valid ones give different answers to some of its sentences.
"""

from devote.studies.experiment import Experiment
from devote.studies.radius_forms.claims import claims
from devote.studies.radius_forms.figure import draw
from devote.studies.radius_forms.sweep import plan

EXPERIMENT = Experiment(
    name="radius-forms",
    title="SER3's two radius forms side by side",
    source="not in the paper; it names SER3 without its radius",
    plan=plan,
    draw=draw,
    claims=claims,
)
