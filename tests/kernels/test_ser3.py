"""SER3 looks closely at the end of a round only where an arm may be dropped."""

from hypothesis import given
from hypothesis import strategies as st

from devote.kernels import Rule
from devote.kernels.algorithm import Algorithm
from devote.kernels.ser3 import ALGORITHM, TAU, radius, too_close


@given(
    tau=st.integers(1, 10**6),
    share=st.floats(0.0, 1.0),
    near=st.sampled_from([0.0, 1e-12, -1e-12, 1e-6, -1e-6, 0.01, -0.01]),
    n_arms=st.integers(2, 300),
    eta=st.floats(1e-6, 0.99),
    epsilon=st.floats(0.0, 0.9),
    active=st.booleans(),
)
def test_no_arm_that_is_dropped_was_thought_too_close(
    tau, share, near, n_arms, eta, epsilon, active
):
    rule = Rule(n_arms, epsilon, eta, (float(active),))
    n_alive = max(2, round(share * n_arms))
    threshold = tau * (2.0 * radius(rule, tau, n_alive) - epsilon)
    # Rounds in which an arm is dropped by a hair, or not.
    state = state_with_gap(ALGORITHM, n_arms, n_alive, max(0.0, threshold * (1.0 + near)))
    state.ints[TAU] = tau
    dropped = state.sums[0] - state.sums[1] >= threshold
    assert not (dropped and too_close(rule, state, tau))


def test_without_a_logarithm_gaps_are_told_apart_from_those_a_twentieth_wider():
    rule = Rule(10, 0.25, 0.9, (0.0,))
    for tau in [*range(4, 200), 1_000]:
        needed = 2.0 * tau * radius(rule, tau, 10)
        gap = 0.95 * needed - tau * rule.epsilon
        if gap >= 0.0:
            assert too_close(rule, state_with_gap(ALGORITHM, 10, 10, gap), tau)


def state_with_gap(algorithm: Algorithm, n_arms: int, n_alive: int, gap: float):
    """All arms but the first are that far behind."""
    state = algorithm.new_state(n_arms)
    for k in range(n_alive, n_arms):
        state.alive[k] = 0
    state.sums[0] = gap
    return state
