"""DSER4 through switches of the best arm, against DSER3, which never looks back.

Paper: section 4, Theorem 4; the paper runs no experiment on it.
"""

from devote.studies.study import Study
from devote.studies.switches.claims import claims
from devote.studies.switches.figure import figure
from devote.studies.switches.sweep import scenarios

STUDIES = (Study("switches", scenarios, figure, claims),)
