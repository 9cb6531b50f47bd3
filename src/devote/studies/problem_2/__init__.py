"""Half of the players generates 80 % of the events: samples of six algorithms.

Paper: the figure "50 % of players generates 80 % of events", panel (a).
"""

from devote.studies.problem_2.claims import claims
from devote.studies.problem_2.figure import figure
from devote.studies.problem_2.sweep import scenarios
from devote.studies.study import Study

STUDIES = (Study("problem-2", scenarios, figure, claims),)
