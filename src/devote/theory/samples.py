"""How many samples it takes: Theorems 2 and 3, their corollaries, and the lower bound.

Theorem 2 has no hidden constant. As printed it is for any problem; it holds where the first M
players who are done cannot keep different arms (:func:`theorem_2_holds`), and so do the
corollaries and Theorem 3, which rest on it (erratum 15). These and the remark are stated up to a
constant inside an O: here that constant is 1, a choice of this project, so compare how they grow
and never read them as numbers of samples. All count until the M most likely players have voted;
the wait for the last player's next activation, a coupon collector, comes on top (erratum 11,
:func:`devote.theory.coupon_collector`).
"""

import math

from devote.theory.errors import TheoryError, check
from devote.theory.intervals import betainc


def theorem_2_holds(good_arms: int, *, quorum: int) -> bool:
    """Whether M players who are done settle the vote: one good arm, or a quorum of one.

    A player who is done keeps one arm and has voted against the others. Of D players done, c_k
    keep arm k, which is out when D - c_k >= M. So D = M settle it only if all keep the same arm:
    with one epsilon-optimal arm they do, unless one of them is wrong. Players who keep different
    arms settle it for certain when no two arms can both have c_k >= D - M + 1, that is when
    D >= 2M - 1.

    Paper: Theorem 2, "using any ArmSelection subroutine", on any problem.
    Differs from print: false for several epsilon-optimal arms (erratum 15).

    >>> theorem_2_holds(1, quorum=28), theorem_2_holds(2, quorum=28), theorem_2_holds(2, quorum=1)
    (True, False, True)
    """
    return (
        check.whole("good_arms", good_arms, least=1) == 1
        or check.whole("quorum", quorum, least=1) == 1
    )


def theorem_2_samples(single_player_samples: float, *, p_star: float, delta: float) -> float:
    """Activations after which the M most likely players have each had their samples.

    Then the vote is over if all of them keep the same arm, as they do where
    :func:`theorem_2_holds` and each is right; with the probability that
    :func:`theorem_2_probability` gives.

    Paper: Theorem 2.
    Differs from print: not with several epsilon-optimal arms, where 2M - 1 players must be done
    (erratum 15); the last player's next activation is not counted (erratum 11); add
    :func:`devote.theory.coupon_collector` for it.

    >>> round(theorem_2_samples(670, p_star=1 / 32, delta=0.05))
    28708
    """
    single = check.positive("single_player_samples", single_player_samples)
    p = check.fraction("p_star", p_star)
    log = -math.log(check.probability("delta", delta))
    return single / p + math.sqrt(p * single / 2.0 * log) / p**2 + log / (2.0 * p**2)


def theorem_2_probability(
    total: float, *, single: float, p_star: float, delta: float, quorum: int
) -> float:
    """Probability of stopping within ``total``: ``(1-delta) (1 - I_{1-p*}(T-t, 1+t))^M``.

    ``t`` is ``single``, the samples one player needs. As printed, I is the probability that a
    player has had at most t samples, where fewer than t would do: a touch pessimistic.

    Paper: Theorem 2.
    Differs from print: only where :func:`theorem_2_holds` (erratum 15); I is the regularised
    function (erratum 10), and the last player's next activation is not counted (erratum 11).

    >>> total = theorem_2_samples(670, p_star=1 / 32, delta=0.05)
    >>> round(theorem_2_probability(total, single=670, p_star=1 / 32, delta=0.05, quorum=28), 4)
    0.95
    """
    t = check.positive("single", single)
    check.positive("total", total)
    check.fraction("p_star", p_star)
    check.probability("delta", delta)
    check.whole("quorum", quorum, least=1)
    if total <= t:
        raise TheoryError(
            f"total={total} samples are no more than the single={single} one player needs. "
            "Pass the samples of all players together, as theorem_2_samples gives them."
        )
    # 1 - I_{1-p}(T - t, 1 + t) = I_p(1 + t, T - t): no digit of a small p is lost.
    return (1.0 - delta) * betainc(1.0 + t, total - t, p_star) ** quorum


def median_elimination_bound(
    n_arms: int, *, epsilon: float, delta: float, quorum: int, p_star: float
) -> float:
    """``(K / (M epsilon^2) + 1/p*) (1/p*) log(1/delta)``, the constant in the O taken as 1.

    Paper: Corollary 1.
    Differs from print: the last player's next activation is not counted (erratum 11).

    >>> round(median_elimination_bound(10, epsilon=0.25, delta=0.05, quorum=28, p_star=1 / 32))
    3615
    """
    arms = check.whole("n_arms", n_arms, least=2)
    accuracy = check.fraction("epsilon", epsilon) ** 2
    log = -math.log(check.probability("delta", delta))
    slowness = 1.0 / check.fraction("p_star", p_star)
    return (arms / (check.whole("quorum", quorum, least=1) * accuracy) + slowness) * slowness * log


def successive_elimination_bound(
    n_arms: int, *, epsilon: float, delta: float, quorum: int, p_star: float
) -> float:
    """Corollary 1's expression plus ``K / (p* epsilon^2) log(K) sqrt(log(1/delta))``.

    The constant in the O is taken as 1.

    Paper: Corollary 2.
    Differs from print: the last player's next activation is not counted (erratum 11).

    >>> round(successive_elimination_bound(10, epsilon=0.25, delta=0.05, quorum=28, p_star=1 / 32))
    24020
    """
    common = median_elimination_bound(
        n_arms, epsilon=epsilon, delta=delta, quorum=quorum, p_star=p_star
    )
    log = -math.log(delta)
    return common + n_arms / (p_star * epsilon**2) * math.log(n_arms) * math.sqrt(log)


def ser3_bound(n_arms: int, *, epsilon: float, delta: float, quorum: int, p_star: float) -> float:
    """Samples of Decentralized SER3: Corollary 2's expression, the constant taken as 1.

    Paper: Theorem 3, for ``delta <= 1/2`` and ``epsilon >= delta / K``.
    Differs from print: the last player's next activation is not counted (erratum 11).

    >>> round(ser3_bound(10, epsilon=0.25, delta=0.05, quorum=28, p_star=1 / 32))
    24020
    """
    bound = successive_elimination_bound(
        n_arms, epsilon=epsilon, delta=delta, quorum=quorum, p_star=p_star
    )
    if delta > 0.5:
        raise TheoryError(f"delta={delta} exceeds 0.5, where Theorem 3 ends. Use a smaller delta.")
    if epsilon < delta / n_arms:
        raise TheoryError(
            f"epsilon={epsilon} is below delta / n_arms = {delta / n_arms}, where Theorem 3 "
            "ends. Use a larger epsilon or a smaller delta."
        )
    return bound


def uniform_players_bound(n_arms: int, *, n_players: int, epsilon: float, delta: float) -> float:
    """``(K / epsilon^2 + N^2) log(1/delta)``: uniform players, all of them needed (M = N).

    Corollary 1 at ``p* = 1/N``; the constant in the O is taken as 1.

    Paper: Remark 1, where ``delta = eta**N``.
    Differs from print: the last player's next activation is not counted (erratum 11).

    >>> round(uniform_players_bound(10, n_players=28, epsilon=0.25, delta=0.05))
    2828
    """
    players = check.whole("n_players", n_players, least=1)
    return median_elimination_bound(
        n_arms, epsilon=epsilon, delta=delta, quorum=players, p_star=1.0 / players
    )


def lower_bound(n_arms: int, *, epsilon: float, delta: float) -> float:
    """``(K / epsilon^2) log(1/delta)``, the order of what the worst K arms take.

    The constant in the Omega is not printed and taken as 1, so this bounds no run;
    ``sample_lower_bound`` bounds the mean samples on given arms.

    Paper: Section 2, after Algorithm 1.

    >>> round(lower_bound(10, epsilon=0.25, delta=0.05))
    479
    """
    arms = check.whole("n_arms", n_arms, least=2)
    return (
        -arms
        / check.fraction("epsilon", epsilon) ** 2
        * math.log(check.probability("delta", delta))
    )
