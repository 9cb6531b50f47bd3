"""The compiled loop, results, parallel and resumable runs.

``run_players`` needs nothing installed; everything else here needs the extra ``sim``.
"""

from typing import TYPE_CHECKING, Any

from devote.simulate.by_players import run_players
from devote.simulate.setting import Setting
from devote.simulate.trial import Event, RunStatus, Trial

if TYPE_CHECKING:
    from devote.simulate.engine import run_trial, simulate
    from devote.simulate.result import Result, ResultError

_COMPILED = {
    "Result": "devote.simulate.result",
    "ResultError": "devote.simulate.result",
    "run_trial": "devote.simulate.engine",
    "simulate": "devote.simulate.engine",
}

__all__ = [
    "Event",
    "Result",
    "ResultError",
    "RunStatus",
    "Setting",
    "Trial",
    "run_players",
    "run_trial",
    "simulate",
]


def __getattr__(name: str) -> Any:
    """Import what needs numpy and numba when it is first asked for."""
    if name not in _COMPILED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_COMPILED[name]), name)
