"""The compiled loop, results, parallel and resumable runs.

``run_players`` needs nothing installed; everything else here needs the extra ``sim``.
"""

from typing import TYPE_CHECKING

from devote.lazy import lazy_names
from devote.simulator.players import run_players
from devote.simulator.scenario import Scenario
from devote.simulator.trial import Event, RunStatus, Trial

if TYPE_CHECKING:
    from devote.simulator.comparison import Comparison, compare
    from devote.simulator.errors import NeverEnds, ResultError, SweepError, SweepInterrupted
    from devote.simulator.grids import grid
    from devote.simulator.results import Result, Results
    from devote.simulator.results_file import load_results
    from devote.simulator.rule_check import AlgorithmFault, check_algorithm
    from devote.simulator.scheme_check import SchemeFault, check_scheme
    from devote.simulator.summary import Summary
    from devote.simulator.sweep import run_sweep, simulate
    from devote.simulator.trials import run_trial

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

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "devote.simulator.comparison": ["Comparison", "compare"],
        "devote.simulator.errors": ["NeverEnds", "ResultError", "SweepError", "SweepInterrupted"],
        "devote.simulator.grids": ["grid"],
        "devote.simulator.results": ["Result", "Results"],
        "devote.simulator.results_file": ["load_results"],
        "devote.simulator.rule_check": ["AlgorithmFault", "check_algorithm"],
        "devote.simulator.scheme_check": ["SchemeFault", "check_scheme"],
        "devote.simulator.summary": ["Summary"],
        "devote.simulator.sweep": ["run_sweep", "simulate"],
        "devote.simulator.trials": ["run_trial"],
    },
)
