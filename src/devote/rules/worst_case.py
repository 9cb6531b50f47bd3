"""The worst subroutine that Property 1 allows: it fails with probability exactly eta.

It knows that arm 0 is the best, plays once, and then keeps arm 0 with probability 1 - eta and
the last arm otherwise. It serves to audit promises: whatever holds for it, holds for all.

Paper: Property 1 with equality, L = 1.
"""

from devote.rules.algorithm import Algorithm
from devote.rules.state import COUNT, Out, Rule, State, keep_only, next_alive

COIN = 0


def choose(rule: Rule, state: State, u: float) -> int:
    """The first remaining arm; the uniform is kept as the coin."""
    state.floats[COIN] = u
    return next_alive(state, 0)


def observe(rule: Rule, state: State, arm: int, reward: float, out: Out) -> int:
    """Keep the last remaining arm with probability eta, else the first."""
    if state.ints[COUNT] == 1:
        return 0
    kept = arm
    if state.floats[COIN] < rule.eta:
        for k in range(len(state.alive)):
            if state.alive[k]:
                kept = k
    return keep_only(state, kept, out)


ALGORITHM = Algorithm(
    name="worst_case",
    summary="fails with probability exactly eta (arm 0 is taken to be the best): for audits",
    source="Property 1 with equality; erratum 7",
    n_floats=1,
    choose=choose,
    observe=observe,
)
