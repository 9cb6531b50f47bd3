"""One folder per figure or study: sweep (what to run), figure (how to draw), claims.

``reproduce`` runs them. To add one, write a folder whose ``__init__`` names an ``EXPERIMENT``
and add its line to ``registry.FOLDERS``; the contract tests find it there. To add a row to the
table of claims, return one more ``Claim`` from an experiment's ``claims``.

Needs the extras ``sim`` and ``plots``.
"""

from devote.studies.claim import Claim
from devote.studies.errors import ExperimentError
from devote.studies.experiment import Experiment
from devote.studies.registry import choose, experiments
from devote.studies.reproduce import Reproduction, reproduce
from devote.studies.settings import Settings, parse_players

__all__ = [
    "Claim",
    "Experiment",
    "ExperimentError",
    "Reproduction",
    "Settings",
    "choose",
    "experiments",
    "parse_players",
    "reproduce",
]
