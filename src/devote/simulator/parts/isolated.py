"""Players who learn alone, in the compiled simulator.

Paper: section 5.1, 1-privacy.
"""

from devote.rules import COUNT, RESET, State
from devote.simulator.parts.part import Ending, Part, Passes
from devote.simulator.workspace import AGREED, Workspace


def learn(work: Workspace, state: State, player: int, n_out: int) -> None:
    """Count the learners that are done."""
    done = 1 if state.ints[COUNT] == 1 else 0
    p = work.players[player]
    work.group.done += done - p.done
    p.done = done
    if n_out == RESET:
        work.group.resets += 1


def ended(work: Workspace) -> int:
    """Over once every learner is done; whether they agree is seen by the arms they hold."""
    return AGREED if work.group.done >= work.n_players else 0


def winners(end: Ending) -> list[int]:
    """The arms that somebody holds, in order."""
    return [k for k in range(len(end.held)) if end.held[k]]


PART = Part(
    ended, winners, learn=learn, group=("done",), player=("done",), passes=Passes(alone=True)
)
