"""Specifications, messages, the learner and the contract of a scheme, with no I/O of any kind."""

from devote.protocol.errors import (
    LocalProtocolError,
    ProtocolError,
    RemoteProtocolError,
    SpecError,
)
from devote.protocol.learner import Learner
from devote.protocol.messages import Message, from_json, to_json
from devote.protocol.player import Player, restore_player
from devote.protocol.promises import Bound, Case, Promise
from devote.protocol.scheme import RunStatus, Scheme, Status, Tally
from devote.protocol.spec import ExperimentSpec

__all__ = [
    "Bound",
    "Case",
    "ExperimentSpec",
    "Learner",
    "LocalProtocolError",
    "Message",
    "Player",
    "Promise",
    "ProtocolError",
    "RemoteProtocolError",
    "RunStatus",
    "Scheme",
    "SpecError",
    "Status",
    "Tally",
    "from_json",
    "restore_player",
    "to_json",
]
