"""Users with different best arms: whose arm wins, by how many the frequent players are.

Paper: section 6, the closing remark on Assumption 2.
"""

from devote.studies.experiment import Experiment
from devote.studies.frequent_players.claims import claims
from devote.studies.frequent_players.figure import draw
from devote.studies.frequent_players.sweep import plan

EXPERIMENT = Experiment(
    name="frequent-players",
    title="Whose best arm wins where users differ",
    source="paper, section 6; erratum 21",
    plan=plan,
    draw=draw,
    claims=claims,
)
