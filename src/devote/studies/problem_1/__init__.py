"""Uniform players: samples and messages of six algorithms.

Paper: the figure "Uniform distribution of players", panels (a) and (b).
"""

from devote.studies.problem_1.claims import claims
from devote.studies.problem_1.figure import figure
from devote.studies.problem_1.sweep import scenarios
from devote.studies.study import Study

STUDIES = (Study("problem-1", scenarios, figure, claims),)
