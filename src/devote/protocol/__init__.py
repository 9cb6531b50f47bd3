"""Specifications, messages, the learner and the contract of a scheme, with no I/O of any kind."""

from devote.protocol.errors import (
    LocalProtocolError,
    ProtocolError,
    RemoteProtocolError,
    SpecError,
)
from devote.protocol.learner import Learner, LearnerSettings
from devote.protocol.messages import Message, from_json, to_json
from devote.protocol.planning import Bound, Case, Guarantees, Planning, Promise, Wish
from devote.protocol.player import Player, restore_player
from devote.protocol.scheme import About, RunStatus, Scheme, Sending, Status, Tally
from devote.protocol.spec import ExperimentSpec

__all__ = [
    "About",
    "Bound",
    "Case",
    "ExperimentSpec",
    "Guarantees",
    "Learner",
    "LearnerSettings",
    "LocalProtocolError",
    "Message",
    "Planning",
    "Player",
    "Promise",
    "ProtocolError",
    "RemoteProtocolError",
    "RunStatus",
    "Scheme",
    "Sending",
    "SpecError",
    "Status",
    "Tally",
    "Wish",
    "from_json",
    "restore_player",
    "to_json",
]
