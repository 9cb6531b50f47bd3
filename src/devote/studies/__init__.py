"""The paper's figures and claims, and this project's own: what to run, how to draw, what to show.

A study is one module with ``scenarios``, ``figure`` and ``claims``, gathered in its
``STUDIES``; the list of all is ``registry.MODULES``, where the contract tests find a new one. To
add a row to the table of claims, write its sentence in ``sentences.toml`` and return it with its
cases from a study's ``claims``.

``reproduce`` runs the studies. ``planning`` and ``eta_buys`` draw what ``devote plan`` and
``devote audit privacy`` ran.

Needs the extras ``sim`` and ``plots``.
"""

from devote.studies.registry import choose, studies
from devote.studies.reproduce import Reproduction, reproduce
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
