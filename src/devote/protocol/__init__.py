"""Messages, ballots, players and experiment specifications, with no I/O of any kind."""

from devote.protocol.ballot import Ballot, Status
from devote.protocol.errors import (
    LocalProtocolError,
    ProtocolError,
    RemoteProtocolError,
    SpecError,
)
from devote.protocol.learner import Learner
from devote.protocol.messages import (
    Message,
    Reset,
    Seat,
    Vote,
    from_bytes,
    from_json,
    to_bytes,
    to_json,
)
from devote.protocol.player import Player
from devote.protocol.protocols import PROTOCOLS, Protocol, get_protocol
from devote.protocol.spec import ExperimentSpec

__all__ = [
    "PROTOCOLS",
    "Ballot",
    "ExperimentSpec",
    "Learner",
    "LocalProtocolError",
    "Message",
    "Player",
    "Protocol",
    "ProtocolError",
    "RemoteProtocolError",
    "Reset",
    "Seat",
    "SpecError",
    "Status",
    "Vote",
    "from_bytes",
    "from_json",
    "get_protocol",
    "to_bytes",
    "to_json",
]
