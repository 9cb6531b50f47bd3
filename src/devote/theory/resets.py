"""Resets for a best arm that changes: Theorem 4, on DSER4."""

import math

from devote.theory.arguments import open_unit, positive, unit, whole
from devote.theory.quorums import message_bound


def optimal_phi(n_switches: int, *, p_star: float, n_arms: int, quorum: int, delta: float) -> float:
    """Reset probability ``sqrt(S delta / ((K/p* log K + K/M) (1/p*) log(1/delta)))``.

    It balances too many resets against stale ones. No switch, no reset: 0.

    Paper: Theorem 4, end of its proof.
    Differs from print: at most 1, being a probability.

    >>> f"{optimal_phi(3, p_star=1 / 64, n_arms=10, quorum=28, delta=0.05):.2e}"
    '7.29e-04'
    """
    switches = whole("n_switches", n_switches, least=0)
    cost = _cost_of_a_term(p_star=p_star, n_arms=n_arms, quorum=quorum, delta=delta)
    return min(1.0, math.sqrt(switches * delta / cost))


def ser4_message_bound(phi: float, *, horizon: float, quorum: int, n_arms: int) -> float:
    """Most votes on average over ``horizon`` activations, ``phi T (M K - 1)``.

    As printed it counts the terms that resets open, not the one the run starts in: add
    :func:`devote.theory.message_bound` for a bound that holds at any ``phi``.

    Paper: Theorem 4.

    >>> round(ser4_message_bound(1e-4, horizon=100_000, quorum=28, n_arms=10))
    2790
    """
    return unit("phi", phi) * positive("horizon", horizon) * message_bound(quorum, n_arms)


def ser4_suboptimal_plays_bound(
    n_switches: int, *, p_star: float, n_arms: int, quorum: int, delta: float, epsilon: float
) -> float:
    """Average plays of a suboptimal arm, at :func:`optimal_phi`; the constant taken as 1.

    ``sqrt((K/p* log K + K/M) (S/p*) log(1/delta) / delta) / epsilon^2 + log(1/delta) / p*^2``.
    The constant in the O is a choice of this project: compare growth, not numbers. The last
    step of the proof also takes ``phi <= delta``.

    Paper: Theorem 4, for ``epsilon >= delta / K``.

    >>> bound = ser4_suboptimal_plays_bound(
    ...     3, p_star=1 / 64, n_arms=10, quorum=28, delta=0.05, epsilon=0.25
    ... )
    >>> round(bound)
    78156
    """
    switches = whole("n_switches", n_switches, least=0)
    accuracy = unit("epsilon", epsilon) ** 2
    cost = _cost_of_a_term(p_star=p_star, n_arms=n_arms, quorum=quorum, delta=delta)
    if epsilon < delta / n_arms:
        raise ValueError(
            f"epsilon={epsilon} is below delta / n_arms = {delta / n_arms}, where Theorem 4 "
            "ends. Use a larger epsilon or a smaller delta."
        )
    return math.sqrt(switches * cost / delta) / accuracy - math.log(delta) / p_star**2


def _cost_of_a_term(*, p_star: float, n_arms: int, quorum: int, delta: float) -> float:
    """``(K/p* log K + K/M) (1/p*) log(1/delta)``, which both expressions weigh."""
    p = unit("p_star", p_star)
    arms = whole("n_arms", n_arms, least=2)
    votes = whole("quorum", quorum, least=1)
    log = -math.log(open_unit("delta", delta))
    return (arms / p * math.log(arms) + arms / votes) / p * log
