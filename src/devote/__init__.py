"""devote: many devices find the best of K options together, and exchange only a few messages.

This page has what most programs need; what is imported from here needs nothing but Python until
it is used.

* Say what to find out: ``ExperimentSpec``, with a scheme, which is how the group decides
  (``Decentralized``, ``Jury``, ``Isolated``, ``Pooled``, or one's own: ``register_scheme``).
* Take part: ``Device`` and ``AsyncDevice`` (extra ``fleet``). ``spec.scheme.player`` makes a
  ``Player``, which is the device without any I/O.
* Try it: a ``Scenario`` is a specification, a ``Problem`` and a number of players.
  ``run_players`` plays one, ``simulate`` and ``run_sweep`` many at the speed of compiled code
  (extra ``sim``), which gives a ``Result``; ``compare`` tells two of them apart.
* Know what to expect: ``make_plan`` (extra ``sim``), ``claimed_failure``, ``vote_failure``.
* Every error is a ``DevoteError``.

Paper: Féraud, Alami and Laroche 2019, "Decentralized Exploration in Multi-Armed Bandits".

>>> spec = ExperimentSpec(arms=["blue", "green", "red"], epsilon=0.5, eta=0.5, delta=0.1)
>>> run = run_players(spec, Problem("toy", [0.1, 0.9, 0.1]), n_players=16)
>>> run.status, [spec.arms[k] for k in run.winners]
('agreed', ['green'])
"""

from typing import TYPE_CHECKING

from devote.errors import DevoteError
from devote.lazy import lazy_names
from devote.problems import (
    PROBLEMS,
    Log,
    Problem,
    ProblemError,
    get_problem,
    problem_of_laws,
    read_log,
)
from devote.protocol import (
    ExperimentSpec,
    LocalProtocolError,
    Message,
    Player,
    ProtocolError,
    RemoteProtocolError,
    Scheme,
    SpecError,
)

# Importing the schemes registers them, whichever module a program imports first.
from devote.schemes import (
    SCHEMES,
    Claim,
    Decentralized,
    Isolated,
    Jury,
    Pick,
    Pooled,
    Reset,
    Survey,
    Vote,
    register_scheme,
)
from devote.simulator import Scenario, Trial, run_players
from devote.theory import claimed_failure, message_bound, quorum, vote_failure

if TYPE_CHECKING:
    from devote.device import AsyncDevice, Client, Device, DeviceError, LateReward, RepeatedReward
    from devote.plan.plan import make_plan
    from devote.simulator import (
        Result,
        check_algorithm,
        check_scheme,
        compare,
        grid,
        load_results,
        run_sweep,
        simulate,
    )

__version__ = "0.2.0"

_LAZY = {
    "AsyncDevice": "devote.device",
    "Client": "devote.device",
    "Device": "devote.device",
    "DeviceError": "devote.device",
    "LateReward": "devote.device",
    "RepeatedReward": "devote.device",
    "Result": "devote.simulator",
    "check_algorithm": "devote.simulator",
    "check_scheme": "devote.simulator",
    "compare": "devote.simulator",
    "grid": "devote.simulator",
    "load_results": "devote.simulator",
    "make_plan": "devote.plan.plan",
    "run_sweep": "devote.simulator",
    "simulate": "devote.simulator",
}
"""What needs an extra, and where it is."""

__all__ = [
    "PROBLEMS",
    "SCHEMES",
    "AsyncDevice",
    "Claim",
    "Client",
    "Decentralized",
    "Device",
    "DeviceError",
    "DevoteError",
    "ExperimentSpec",
    "Isolated",
    "Jury",
    "LateReward",
    "LocalProtocolError",
    "Log",
    "Message",
    "Pick",
    "Player",
    "Pooled",
    "Problem",
    "ProblemError",
    "ProtocolError",
    "RemoteProtocolError",
    "RepeatedReward",
    "Reset",
    "Result",
    "Scenario",
    "Scheme",
    "SpecError",
    "Survey",
    "Trial",
    "Vote",
    "__version__",
    "check_algorithm",
    "check_scheme",
    "claimed_failure",
    "compare",
    "get_problem",
    "grid",
    "load_results",
    "make_plan",
    "message_bound",
    "problem_of_laws",
    "quorum",
    "read_log",
    "register_scheme",
    "run_players",
    "run_sweep",
    "simulate",
    "vote_failure",
]


__getattr__, __dir__ = lazy_names(__name__, _LAZY)
