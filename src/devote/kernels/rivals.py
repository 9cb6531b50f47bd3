"""The bookkeeping of explore-then-commit rules: a leader, its rival, and when to look again.

Each rule brings its own comparison, which writes the leader and the rival and returns the gap
that decides whether to stop. Between a pull and the next choice nothing but arms dropped from
outside can change, so the pair stays right as long as no arm has gone. (UGapEc's may change
with the drop of a third arm: one that was the threat to the rival.)

Paper: section 3.1, the explore-then-commit algorithms.
"""

from devote.kernels.jitable import jitable
from devote.kernels.state import COUNT, State, add, least_pulled

TOTAL = 1
LEADER = 2
RIVAL = 3
COMPARED = 4
"""How many arms remained when leader and rival were found; 0 before."""
SECOND = 5
N_INTS = 6


@jitable
def note(state: State, leader: int, rival: int) -> None:
    """Write the outcome of a comparison."""
    state.ints[LEADER] = leader
    state.ints[RIVAL] = rival
    state.ints[COMPARED] = state.ints[COUNT]


@jitable
def count(state: State, arm: int, reward: float) -> int:
    """Count a pull; returns 1 if the arms can be compared: two or more, each pulled."""
    add(state, arm, reward)
    state.ints[TOTAL] += 1
    if state.ints[COUNT] > 1 and state.pulls[least_pulled(state)] > 0:
        return 1
    return 0


@jitable
def forced(state: State) -> int:
    """The arm that leaves no choice: the only one, or one never pulled; else -1."""
    arm = least_pulled(state)
    if state.ints[COUNT] == 1 or state.pulls[arm] == 0:
        return arm
    return -1


@jitable
def outdated(state: State) -> int:
    """Whether leader and rival must be found again because an arm has gone since."""
    return 1 if state.ints[COMPARED] != state.ints[COUNT] else 0


@jitable
def second(state: State) -> int:
    """The other half of a pair under way, if it is still there; else -1."""
    arm = state.ints[SECOND] - 1
    state.ints[SECOND] = 0
    if arm >= 0 and state.alive[arm]:
        return arm
    return -1


@jitable
def due(state: State) -> int:
    """The arm to play without comparing: a forced one, or the second of a pair; else -1."""
    arm = forced(state)
    if arm >= 0:
        return arm
    return second(state)


@jitable
def open_pair(state: State) -> int:
    """Play the leader now and the rival next."""
    state.ints[SECOND] = state.ints[RIVAL] + 1
    return state.ints[LEADER]
