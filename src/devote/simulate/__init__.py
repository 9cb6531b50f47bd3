"""The compiled loop, results, parallel and resumable runs.

``run_players`` needs nothing installed; everything else here needs the extra ``sim``.
"""

from typing import TYPE_CHECKING, Any

from devote.simulate.by_players import run_players
from devote.simulate.setting import Setting
from devote.simulate.trial import Event, RunStatus, Trial

if TYPE_CHECKING:
    from devote.simulate.cell import Cell, SweepError
    from devote.simulate.engine import run_trial, simulate
    from devote.simulate.result import Result, ResultError
    from devote.simulate.results_file import load_results
    from devote.simulate.sweep import run_sweep

_COMPILED = {
    "Cell": "devote.simulate.cell",
    "Result": "devote.simulate.result",
    "ResultError": "devote.simulate.result",
    "SweepError": "devote.simulate.cell",
    "load_results": "devote.simulate.results_file",
    "run_sweep": "devote.simulate.sweep",
    "run_trial": "devote.simulate.engine",
    "simulate": "devote.simulate.engine",
}

__all__ = [
    "Cell",
    "Event",
    "Result",
    "ResultError",
    "RunStatus",
    "Setting",
    "SweepError",
    "Trial",
    "load_results",
    "run_players",
    "run_sweep",
    "run_trial",
    "simulate",
]


def __getattr__(name: str) -> Any:
    """Import what needs numpy and numba when it is first asked for."""
    if name not in _COMPILED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_COMPILED[name]), name)
