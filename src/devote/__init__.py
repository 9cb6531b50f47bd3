"""devote: many devices find the best of K options together, and exchange only votes.

Each device learns on its own data and says nothing but "this option is not good enough"; an
option goes once enough devices have said so. This page has what most programs need, and needs
nothing but Python:

* say what to find out: ``ExperimentSpec``;
* be one device: ``Player``, which is driven by ``activate``, ``reward`` and ``receive``, and
  ``Vote`` and ``Reset``, which are all it ever sends; ``Ballot`` counts them;
* try it on a simulated fleet: ``Problem`` or one of ``PROBLEMS``, and ``run_players``;
* know what to expect: ``quorum``, ``message_bound``, ``claimed_failure``, ``vote_failure``.

Paper: Féraud, Alami and Laroche 2019, "Decentralized Exploration in Multi-Armed Bandits".

>>> spec = ExperimentSpec(arms=["blue", "green", "red"], epsilon=0.5, eta=0.5, delta=0.1)
>>> run = run_players(spec, Problem("toy", [0.1, 0.9, 0.1]), n_players=16)
>>> run.status, [spec.arms[k] for k in run.winners]
('agreed', ['green'])
"""

from devote.problems import PROBLEMS, Problem, ProblemError, get_problem
from devote.protocol import (
    PROTOCOLS,
    Ballot,
    ExperimentSpec,
    LocalProtocolError,
    Message,
    Player,
    ProtocolError,
    RemoteProtocolError,
    Reset,
    SpecError,
    Vote,
)
from devote.simulate.by_players import run_players
from devote.simulate.trial import Trial
from devote.theory import claimed_failure, message_bound, quorum, vote_failure

__version__ = "0.1.0"

__all__ = [
    "PROBLEMS",
    "PROTOCOLS",
    "Ballot",
    "ExperimentSpec",
    "LocalProtocolError",
    "Message",
    "Player",
    "Problem",
    "ProblemError",
    "ProtocolError",
    "RemoteProtocolError",
    "Reset",
    "SpecError",
    "Trial",
    "Vote",
    "__version__",
    "claimed_failure",
    "get_problem",
    "message_bound",
    "quorum",
    "run_players",
    "vote_failure",
]
