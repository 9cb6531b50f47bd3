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
    from devote.simulate.checking.algorithm import check_algorithm
    from devote.simulate.checking.faults import AlgorithmFault
    from devote.simulate.comparison import Comparison, compare
    from devote.simulate.errors import NeverEnds, ResultError, SweepError, SweepInterrupted
    from devote.simulate.result import Result
    from devote.simulate.results import Results
    from devote.simulate.simulation import simulate
    from devote.simulate.summary import Summary
    from devote.simulate.sweep.grid import grid
    from devote.simulate.sweep.results_file import load_results
    from devote.simulate.sweep.sweep import run_sweep
    from devote.simulate.trials import run_trial

_COMPILED = {
    "AlgorithmFault": "devote.simulate.checking.faults",
    "Comparison": "devote.simulate.comparison",
    "NeverEnds": "devote.simulate.errors",
    "Result": "devote.simulate.result",
    "ResultError": "devote.simulate.errors",
    "Results": "devote.simulate.results",
    "Summary": "devote.simulate.summary",
    "SweepError": "devote.simulate.errors",
    "SweepInterrupted": "devote.simulate.errors",
    "check_algorithm": "devote.simulate.checking.algorithm",
    "compare": "devote.simulate.comparison",
    "grid": "devote.simulate.sweep.grid",
    "load_results": "devote.simulate.sweep.results_file",
    "run_sweep": "devote.simulate.sweep.sweep",
    "run_trial": "devote.simulate.trials",
    "simulate": "devote.simulate.simulation",
}

__all__ = [
    "AlgorithmFault",
    "Comparison",
    "Event",
    "NeverEnds",
    "Result",
    "ResultError",
    "Results",
    "RunStatus",
    "Scenario",
    "Summary",
    "SweepError",
    "SweepInterrupted",
    "Trial",
    "check_algorithm",
    "compare",
    "grid",
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
