"""The compiled loop, results, parallel and resumable runs.

``run_players`` needs nothing installed; everything else here needs the extra ``sim``.
"""

from typing import TYPE_CHECKING

from devote.lazy import lazy_names
from devote.simulator.players import run_players
from devote.simulator.scenario import Scenario
from devote.simulator.trial import Event, RunStatus, Trial

if TYPE_CHECKING:
    from devote.simulator.checking.algorithm import check_algorithm
    from devote.simulator.checking.faults import AlgorithmFault
    from devote.simulator.comparison import Comparison, compare
    from devote.simulator.errors import NeverEnds, ResultError, SweepError, SweepInterrupted
    from devote.simulator.grids import grid
    from devote.simulator.results import Result, Results
    from devote.simulator.results_file import load_results
    from devote.simulator.scheme_check import SchemeFault, check_scheme
    from devote.simulator.summary import Summary
    from devote.simulator.sweep import run_sweep, simulate
    from devote.simulator.trials import run_trial

_COMPILED = {
    "AlgorithmFault": "devote.simulator.checking.faults",
    "Comparison": "devote.simulator.comparison",
    "NeverEnds": "devote.simulator.errors",
    "Result": "devote.simulator.results",
    "ResultError": "devote.simulator.errors",
    "SchemeFault": "devote.simulator.scheme_check",
    "Results": "devote.simulator.results",
    "Summary": "devote.simulator.summary",
    "SweepError": "devote.simulator.errors",
    "SweepInterrupted": "devote.simulator.errors",
    "check_algorithm": "devote.simulator.checking.algorithm",
    "check_scheme": "devote.simulator.scheme_check",
    "compare": "devote.simulator.comparison",
    "grid": "devote.simulator.grids",
    "load_results": "devote.simulator.results_file",
    "run_sweep": "devote.simulator.sweep",
    "run_trial": "devote.simulator.trials",
    "simulate": "devote.simulator.sweep",
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
    "SchemeFault",
    "Summary",
    "SweepError",
    "SweepInterrupted",
    "Trial",
    "check_algorithm",
    "check_scheme",
    "compare",
    "grid",
    "load_results",
    "run_players",
    "run_sweep",
    "run_trial",
    "simulate",
]


__getattr__, __dir__ = lazy_names(__name__, _COMPILED)
