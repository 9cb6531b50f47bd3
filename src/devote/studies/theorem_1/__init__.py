"""Theorem 1 with subroutines as bad as Property 1 allows, and what holds instead."""

from devote.studies.experiment import Experiment
from devote.studies.theorem_1.claims import claims
from devote.studies.theorem_1.figure import draw
from devote.studies.theorem_1.sweep import plan

EXPERIMENT = Experiment(
    name="theorem-1",
    title="Theorem 1: failure, stalls and privacy",
    source="paper, Theorem 1 and Definition 3; errata 5, 7 and 8",
    plan=plan,
    draw=draw,
    claims=claims,
)
