"""Uniform players: samples and messages of six algorithms.

Paper: the figure "Uniform distribution of players", panels (a) and (b).
"""

from devote.studies.problem_1.claims import claims
from devote.studies.problem_1.figure import figure
from devote.studies.problem_1.sweep import scenarios
from devote.studies.study import Study

STUDIES = (
    Study(
        name="problem-1",
        title="Problem 1: uniform players, samples and messages",
        source="paper, section 5, figure 'Uniform distribution of players'",
        scenarios=scenarios,
        figure=figure,
        claims=claims,
    ),
)
