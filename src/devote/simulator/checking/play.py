"""A subroutine at play, on lists that watch every access."""

from random import Random
from typing import Any

from devote.rules import COUNT, RESET, Algorithm, State, drop
from devote.simulator.checking.faults import AlgorithmFault, call, fault
from devote.simulator.checking.watched import Watched, watched_state
from devote.simulator.scenario import PATIENCE

PULLS = 400
EPSILON, ETA = 0.3, 0.5


def check_play(algorithm: Algorithm, n_arms: int, rng: Random) -> None:
    """On watched lists: only arms that remain are played, and what is dropped is told."""
    rule = algorithm.rule(n_arms=n_arms, epsilon=EPSILON, eta=ETA)
    state, out = watched_state(algorithm, n_arms), Watched("out", [0] * n_arms)
    means = [rng.random() for _ in range(n_arms)]
    for _ in range(PULLS):
        lose_an_arm(state, rng)
        alive = alive_arms(state)
        before = [list(state.alive), list(state.pulls), list(state.sums)]
        arm = call(algorithm.choose, rule, state, rng.random())
        if arm not in alive:
            raise fault(
                algorithm.choose,
                f"choose returned {arm!r}, but the remaining arms are {sorted(alive)}.",
                "Look at state.alive each time: others may have voted an arm out.",
            )
        if [list(state.alive), list(state.pulls), list(state.sums)] != before:
            raise fault(
                algorithm.choose,
                "choose changed alive, pulls or sums.",
                "Change ints and floats only: a play may be abandoned before its reward.",
            )
        reward = float(rng.random() < means[arm])
        n_out = call(algorithm.observe, rule, state, arm, reward, out)
        if n_out == RESET and algorithm.endless:
            alive = set(range(n_arms))
        else:
            _check_told(algorithm, n_out, list(out), alive, alive_arms(state))
        if state.ints[COUNT] != len(alive_arms(state)):
            raise AlgorithmFault(
                *_who_wrote(algorithm, state),
                f"word 0 of ints is {state.ints[COUNT]}, but {len(alive_arms(state))} arms remain.",
                "Use words from 1 on for your own, and take arms out with drop(state, arm).",
            )


def _who_wrote(algorithm: Algorithm, state: Any) -> tuple[str, int]:
    """The line of the rule's file that last wrote word 0 of ``ints``."""
    codes = algorithm.observe.__code__, algorithm.choose.__code__
    for file, line in state.ints.trail:
        if file in {code.co_filename for code in codes}:
            return file, line
    return codes[0].co_filename, codes[0].co_firstlineno


def _check_told(algorithm: Algorithm, n_out: Any, out: list[int], alive: Any, left: Any) -> None:
    gone = alive - left
    told = out[:n_out] if isinstance(n_out, int) and 0 <= n_out <= len(out) else None
    if told is None or len(told) != len(set(told)) or set(told) != gone:
        shown = f"returned {n_out!r}" if told is None else f"told of {told}"
        raise fault(
            algorithm.observe,
            f"observe {shown}, but the arms it took out are {sorted(gone)}.",
            "Write each arm that you drop to out[0], out[1], ... and return how many.",
        )


def check_last_arm(algorithm: Algorithm) -> None:
    """One arm left is played for ever."""
    rule = algorithm.rule(n_arms=3, epsilon=EPSILON, eta=ETA)
    state = watched_state(algorithm, 3)
    drop(state, 0)
    drop(state, 2)
    for i in range(PULLS):
        arm = call(algorithm.choose, rule, state, i / PULLS)
        n_out = call(algorithm.observe, rule, state, 1, 0.5, Watched("out", [0] * 3))
        if arm != 1 or n_out != 0:
            raise fault(
                algorithm.choose if arm != 1 else algorithm.observe,
                f"with arm 1 alone left, choose returned {arm!r} and observe {n_out!r}.",
                "Play the last arm for ever, and eliminate nothing more.",
            )


def check_votes(algorithm: Algorithm) -> None:
    """Where arm 0 always pays and the others never do, it is soon the only one left."""
    epsilon = 0.8
    rule = algorithm.rule(n_arms=3, epsilon=epsilon, eta=0.05)
    state, out, rng = algorithm.new_state(3), [0] * 3, Random(3)
    limit = int(PATIENCE * 3 / epsilon**2)
    for _ in range(limit):
        arm = call(algorithm.choose, rule, state, rng.random())
        call(algorithm.observe, rule, state, arm, float(arm == 0), out)
        if state.ints[COUNT] == 1:
            break
    left = [k for k, alive in enumerate(state.alive) if alive]
    if len(left) > 1:
        raise fault(
            algorithm.observe,
            f"observe still keeps arms {left} after {limit:,} pulls in which arm 0 always paid "
            "and the others never did: it never votes.",
            "Drop arms with drop(state, arm), write them to out, and return how many.",
        )
    if left != [0]:
        raise fault(
            algorithm.observe,
            f"observe kept arm {left[0]}, which never paid, and dropped arm 0, which always did.",
            "Drop arms with low rewards, not high ones.",
        )


def lose_an_arm(state: State, rng: Random) -> None:
    """Now and then others vote an arm out, but never the last."""
    if rng.random() < 0.01 and state.ints[COUNT] > 1:
        drop(state, rng.choice(sorted(alive_arms(state))))


def alive_arms(state: State) -> set[int]:
    """The remaining arms."""
    return {k for k in range(len(state.alive)) if state.alive[k]}
