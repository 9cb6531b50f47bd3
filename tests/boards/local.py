"""The board that tests sign for before there is one: experiments on it, and its scopes."""

from typing import Any

from tests.boards.memory import LOCAL

from devote.boards.board import Experiment
from devote.protocol import ExperimentSpec
from devote.protocol.messages import Scope


def here(spec: ExperimentSpec, *settings: Any, **others: Any) -> Experiment:
    """An experiment on it."""
    return Experiment(spec, *settings, board=LOCAL, **others)


def scope(spec: ExperimentSpec) -> Scope:
    """Where signatures of an experiment on it are good."""
    return Scope(LOCAL, spec.fingerprint)
