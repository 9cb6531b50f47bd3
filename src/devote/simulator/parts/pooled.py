"""One learner for all, in the compiled simulator.

Paper: section 5.1, 0-privacy.
"""

from typing import Any

from devote.rules import State
from devote.simulator.part import Part
from devote.simulator.parts.isolated import winners
from devote.simulator.workspace import EventView, Setup


def send_play(
    setup: Setup, view: EventView, state: State, player: Any, active: int, noise: float, t: float
) -> None:
    """Each play is sent to all."""
    view.trial.broadcasts += 1


PART = Part(winners, wake=send_play, alone=True, one_learner=True)
