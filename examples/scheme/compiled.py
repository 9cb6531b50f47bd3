"""The compiled half of ``first_to_finish.py``, for the simulator: the same rules over arrays.

It is optional, and devices do not need it. Importing this file registers it; ``check_scheme`` then
compares it with the players, pull by pull.
"""

from collections.abc import Sequence
from typing import Any

from examples.scheme.first_to_finish import FirstToFinish

from devote.rules import COUNT, State, merge
from devote.simulator.part import Ending
from devote.simulator.parts import Part, register_part
from devote.simulator.passes import View, record
from devote.simulator.workspace import Setup


def read_answer(
    setup: Setup, view: View, state: State, player: Any, active: int, noise: float, t: float
) -> None:
    """As ``Runner._read``, once the group has its answer."""
    if view.trial.n_shared == 1 and not player.seen:
        player.seen = 1
        player.conflicts += merge(state, view.shared)


def send_when_done(
    setup: Setup,
    view: View,
    state: State,
    player: Any,
    voted: Any,
    active: int,
    n: int,
    t: float,
) -> None:
    """As ``Runner._learn``, after n arms were eliminated at the player's activation ``active``."""
    if state.ints[COUNT] > 1 or view.trial.n_shared == 1:
        return
    player.first_vote = active
    for arm in range(setup.n_arms):
        if state.alive[arm]:
            record(view, t, arm)


def messages_lacking(setup: Setup, trial: Any, tally: Any, shared: Any, slot: int) -> int:
    """One message about an arm decides."""
    return int(1 - tally[slot]) if slot < setup.n_arms else 0


def apply_first(setup: Setup, trial: Any, tally: Any, shared: Any) -> None:
    """The arm of the first message is the answer; nothing follows while there is none."""
    for first in range(setup.n_arms):
        if tally[first] > 0:
            for arm in range(setup.n_arms):
                shared[arm] = 1 if arm == first else 0
            trial.n_shared = 1


def winners(end: Ending) -> Sequence[int]:
    """The arms still shared."""
    return [arm for arm in range(len(end.shared)) if end.shared[arm]]


PART = Part(
    winners,
    wake=read_answer,
    learn=send_when_done,
    needed=messages_lacking,
    apply=apply_first,
    messages=lambda constants, n_arms: n_arms,
    events=("elimination", "finished"),
    sentences={"finished": "player {player} finishes with arm {arm}"},
    in_passes=True,
)
register_part(FirstToFinish.name, PART)
