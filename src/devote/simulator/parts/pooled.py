"""One learner for all, in the compiled simulator.

Paper: section 5.1, 0-privacy.
"""

from devote.rules import COUNT, RESET, State
from devote.simulator.parts.isolated import winners
from devote.simulator.parts.part import Part
from devote.simulator.workspace import AGREED, Workspace


def wake(work: Workspace, state: State, player: int, noise: float) -> None:
    """Each play is sent to all."""
    work.group.broadcasts += 1


def learn(work: Workspace, state: State, player: int, n_out: int) -> None:
    """Note whether the learner is done."""
    work.group.done = 1 if state.ints[COUNT] == 1 else 0
    if n_out == RESET:
        work.group.resets += 1


def ended(work: Workspace) -> int:
    """Over once the learner is done."""
    return AGREED if work.group.done else 0


PART = Part(ended, winners, wake, learn, group=("done",), one_learner=True)
