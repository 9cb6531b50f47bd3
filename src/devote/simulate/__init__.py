"""The compiled loop, results, parallel and resumable runs.

``run_players`` needs nothing installed; everything else here needs the extra ``sim``. The package
can be called, as the function ``simulate``: ``devote.simulate`` is the name of both.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from devote.lazy import lazy_names
from devote.simulate.players import run_players
from devote.simulate.scenario import Scenario
from devote.simulate.trial import Event, RunStatus, Trial

if TYPE_CHECKING:
    from devote.simulate.errors import ResultError, SweepError
    from devote.simulate.result import Result
    from devote.simulate.sweep.results_file import load_results
    from devote.simulate.sweep.sweep import run_sweep
    from devote.simulate.trials import run_trial, simulate

_COMPILED = {
    "Result": "devote.simulate.result",
    "ResultError": "devote.simulate.errors",
    "SweepError": "devote.simulate.errors",
    "load_results": "devote.simulate.sweep.results_file",
    "run_sweep": "devote.simulate.sweep.sweep",
    "run_trial": "devote.simulate.trials",
    "simulate": "devote.simulate.trials",
}

__all__ = [
    "Event",
    "Result",
    "ResultError",
    "RunStatus",
    "Scenario",
    "SweepError",
    "Trial",
    "load_results",
    "run_players",
    "run_sweep",
    "run_trial",
    "simulate",
]


__getattr__ = lazy_names(__name__, _COMPILED)


class _Callable(ModuleType):
    """A package that is also the function of its name."""

    def __call__(self, *args: Any, **options: Any) -> "Result":
        """Run trials of one scenario; see ``devote.simulate.simulate``."""
        result: Result = __getattr__("simulate")(*args, **options)
        return result


sys.modules[__name__].__class__ = _Callable
