"""The paper's figures and claims, and this project's own: what to run, how to draw, what to show.

A study is a ``Study``: its scenarios, its figure and its claims. To add one, write a file with a
list ``STUDIES`` and add that to ``reproduce.STUDIES``. To add a row to the table of claims, write
its sentence in ``sentences.toml`` and return it with its cases from ``claims``.

``reproduce`` runs the studies. ``sweeps`` draws what ``devote plan --sweep`` and ``devote audit
privacy --figure`` ran.

Needs the extras ``sim`` and ``plots``.
"""

from devote.studies.reproduce import Reproduction, choose, reproduce, studies
from devote.studies.study import Settings, StudyError, parse_players

__all__ = [
    "Reproduction",
    "Settings",
    "StudyError",
    "choose",
    "parse_players",
    "reproduce",
    "studies",
]
