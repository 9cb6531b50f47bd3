"""devote: many devices find the best of K options together, and exchange only a few messages.

This page has what most programs need; what is imported from here needs nothing but Python until
it is used.

* Say what to find out: ``ExperimentSpec``, with a scheme, which is how the group decides
  (``Decentralized``, ``Jury``, ``Isolated``, ``Pooled``, or one's own: ``register_scheme``).
* Take part: ``Device`` and ``AsyncDevice`` (extra ``fleet``). ``spec.scheme.player`` makes a
  ``Player``, which is the device without any I/O.
* Try it: a ``Scenario`` is a specification, a ``Problem`` and a number of players.
  ``run_players`` plays one, ``simulate`` and ``run_sweep`` many at the speed of compiled code
  (extra ``sim``), which gives a ``Result``; ``compare`` compares two of them.
* Know what to expect: ``make_plan`` (extra ``sim``), ``claimed_failure``, ``vote_failure``.
* Every error is a ``DevoteError``.

Paper: Féraud, Alami and Laroche 2019, "Decentralized Exploration in Multi-Armed Bandits".

>>> spec = ExperimentSpec(arms=["blue", "green", "red"], epsilon=0.5, eta=0.5, delta=0.1)
>>> run = run_players(spec, Problem("toy", [0.1, 0.9, 0.1]), n_players=16)
>>> run.status, [spec.arms[k] for k in run.winners]
('agreed', ['green'])
"""

from importlib.util import find_spec
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

_DEVICE = ["AsyncDevice", "Client", "Device", "DeviceError", "LateReward", "RepeatedReward"]
_SIMULATOR = ["Result", "check_algorithm", "check_scheme", "compare", "grid"]
_SIMULATOR += ["load_results", "run_sweep", "simulate"]

__all__ = [
    "PROBLEMS",
    "SCHEMES",
    "Claim",
    "Decentralized",
    "DevoteError",
    "ExperimentSpec",
    "Isolated",
    "Jury",
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
    "Reset",
    "Scenario",
    "Scheme",
    "SpecError",
    "Survey",
    "Trial",
    "Vote",
    "__version__",
    "claimed_failure",
    "get_problem",
    "message_bound",
    "problem_of_laws",
    "quorum",
    "read_log",
    "register_scheme",
    "run_players",
    "vote_failure",
]

# What `from devote import *` gives: no name whose extra is not installed.
if find_spec("httpx") and find_spec("cryptography"):
    __all__ += ["AsyncDevice", "Client", "Device", "DeviceError", "LateReward", "RepeatedReward"]
if find_spec("numba"):
    __all__ += ["Result", "check_algorithm", "check_scheme", "compare", "grid"]
    __all__ += ["load_results", "make_plan", "run_sweep", "simulate"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {"devote.device": _DEVICE, "devote.simulator": _SIMULATOR, "devote.plan.plan": ["make_plan"]},
)
