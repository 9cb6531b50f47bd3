"""SER4: SER3 that forgets everything after each pull with probability phi.

It goes on after one arm is left, so that it follows a best arm that switches, and runs to a
horizon. ``devote plan`` recommends a phi.

Paper: section 4, Theorem 4.
Differs from print: the phi that the proof sets is worse than no resets (erratum 17).
"""

from devote.rules import ser3
from devote.rules.algorithm import Algorithm
from devote.rules.ser3 import draw
from devote.rules.ser3 import observe as observe_round
from devote.rules.state import RESET, Out, Rule, State, start

REST = 0
"""Word of ``State.floats``: what the choice of the arm has left of the uniform number."""

PHI = len(ser3.ALGORITHM.options)


def choose(rule: Rule, state: State, u: float) -> int:
    """As SER3."""
    arm, state.floats[REST] = draw(state, u)
    return arm


def observe(rule: Rule, state: State, arm: int, reward: float, out: Out) -> int:
    """Reset with probability phi, else as SER3.

    Paper: Theorem 4; section 4, "when a reset occurs in SER4, Decentralized Elimination is
    reset".
    Differs from print: the active player draws the reset after its pull (erratum 14).
    """
    if state.floats[REST] < rule.options[PHI]:
        start(state)
        return RESET
    return observe_round(rule, state, arm, reward, out)


ALGORITHM = Algorithm(
    name="ser4",
    summary="SER3 with random resets, for best arms that switch; needs phi and a horizon",
    source="Allesiardo, Feraud and Maillard 2017; paper, section 4, Theorem 4",
    options={**ser3.ALGORITHM.options, "phi": 0.0},
    n_ints=ser3.ALGORITHM.n_ints,
    n_floats=1,
    choose=choose,
    observe=observe,
    endless=True,
)
