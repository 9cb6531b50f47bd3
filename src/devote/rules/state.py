"""What one learner remembers, and the few moves that every subroutine shares.

A ``State`` is five buffers: lists on a device, rows of arrays in the compiled loop. Zeroed
buffers with every arm alive are the start of every subroutine, so ``start`` and ``drop`` are
written once, here, and a subroutine is just a ``choose`` and an ``observe``.

``drop`` is also what takes an arm out from outside, at any moment: subroutines read who is
alive each time they are called and keep no second copy that could go stale unnoticed.
"""

from collections.abc import MutableSequence
from typing import NamedTuple, TypeAlias

COUNT = 0
"""Word of ``State.ints`` that holds the number of remaining arms; a subroutine's own follow."""

NEXT = 1
"""Word of ``State.ints`` of whoever plays arms in turn: where to look for the next one."""

RESET = -1
"""What ``observe`` returns when the subroutine has reset itself (SER4)."""

Out: TypeAlias = MutableSequence[int]
"""Where ``observe`` writes the arms that it eliminates."""


class Rule(NamedTuple):
    """The constants of one run of a subroutine; up to ``liars`` of its rewards may be lies.

    Paper: Definition 4, ``ArmSelection(epsilon, eta, K)``.
    """

    n_arms: int
    epsilon: float
    eta: float
    options: tuple[float, ...]
    liars: int = 0


class State(NamedTuple):
    """The buffers of one learner.

    Paper: ``alive`` is K^n(l^n), the remaining arms of player n.
    """

    alive: MutableSequence[int]
    pulls: MutableSequence[int]
    sums: MutableSequence[float]
    ints: MutableSequence[int]
    floats: MutableSequence[float]


def start(state: State) -> None:
    """Forget everything: all arms remain, nothing was pulled.

    Paper: Algorithm 2, initialization.
    """
    for i in range(len(state.ints)):
        state.ints[i] = 0
    for i in range(len(state.floats)):
        state.floats[i] = 0.0
    for k in range(len(state.alive)):
        state.alive[k] = 1
        state.pulls[k] = 0
        state.sums[k] = 0.0
    state.ints[COUNT] = len(state.alive)


def drop(state: State, arm: int) -> None:
    """Take a remaining arm out.

    Paper: Algorithm 2, lines 8 and 17.
    """
    state.alive[arm] = 0
    state.ints[COUNT] -= 1


def is_alive(rule: Rule, state: State, arm: int) -> bool:
    """Whether an arm remains."""
    return bool(state.alive[arm])


def add(state: State, arm: int, reward: float) -> None:
    """Count one pull and its reward."""
    state.pulls[arm] += 1
    state.sums[arm] += reward


def mean(state: State, arm: int) -> float:
    """The empirical mean of an arm that has been pulled."""
    return state.sums[arm] / state.pulls[arm]


def least_pulled(state: State) -> int:
    """The remaining arm with the fewest pulls, the lowest index among equals: round robin."""
    arm = -1
    for k in range(len(state.alive)):
        if state.alive[k] and (arm < 0 or state.pulls[k] < state.pulls[arm]):
            arm = k
    return arm


def next_alive(state: State, begin: int) -> int:
    """The first remaining arm from ``begin`` on; the number of arms if there is none."""
    k = begin
    while k < len(state.alive) and not state.alive[k]:
        k += 1
    return k


def in_turn(state: State) -> int:
    """The first remaining arm from ``NEXT`` on, or the first of all: round robin.

    It is that of ``least_pulled``: remaining arms before ``NEXT`` have one pull more than others.
    """
    arm = next_alive(state, state.ints[NEXT])
    return arm if arm < len(state.alive) else next_alive(state, 0)


def ends_round(state: State, arm: int, reward: float) -> bool:
    """Count a pull of the arm whose turn it was; whether it ended a round of several arms."""
    add(state, arm, reward)
    state.ints[NEXT] = next_alive(state, arm + 1)
    return state.ints[COUNT] > 1 and state.ints[NEXT] == len(state.alive)


def best_mean(state: State) -> int:
    """The remaining arm with the highest empirical mean, the lowest index among equals."""
    best = -1
    highest = 0.0
    for k in range(len(state.alive)):
        if state.alive[k]:
            value = mean(state, k)
            if best < 0 or value > highest:
                best = k
                highest = value
    return best


def best_sum(state: State) -> int:
    """The remaining arm with the highest sum of rewards, the lowest index among equals."""
    best = -1
    highest = 0.0
    for k in range(len(state.alive)):
        value = state.sums[k]
        if state.alive[k] and (best < 0 or value > highest):
            best = k
            highest = value
    return best


def eliminate(state: State, arm: int, out: Out, n_out: int) -> int:
    """Drop an arm and write it to ``out`` as the next one; returns how many are there now."""
    drop(state, arm)
    out[n_out] = arm
    return n_out + 1


def drop_behind(state: State, best: int, gap: float, out: Out) -> int:
    """Drop arms whose sums are ``gap`` or more below the best's; returns how many went."""
    n_out = 0
    highest = state.sums[best]
    for k in range(len(state.alive)):
        if state.alive[k] and k != best and highest - state.sums[k] >= gap:
            n_out = eliminate(state, k, out, n_out)
    return n_out


def keep_only(state: State, arm: int, out: Out) -> int:
    """Drop every remaining arm but one; returns how many went."""
    n_out = 0
    for k in range(len(state.alive)):
        if state.alive[k] and k != arm:
            n_out = eliminate(state, k, out, n_out)
    return n_out
