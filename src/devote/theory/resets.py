"""Resets for a best arm that changes: Theorem 4, on DSER4.

A reset costs a new *term*: the suboptimal plays until the vote has answered again. A switch costs
the plays of the old answer until the next reset. :func:`recommended_phi` weighs the two; the phi
that the paper prints, :func:`printed_phi`, does worse than no resets wherever it was measured
(``docs/proofs.md``, "How often to reset").
"""

import math
from typing import Any

from devote.theory.errors import check
from devote.theory.samples import theorem_2_probability
from devote.theory.vote import message_bound


def recommended_phi(n_switches: int, *, horizon: float, plays_per_term: float) -> float:
    """The reset probability to use, ``sqrt(S / (T C))``; 0 if nothing switches.

    ``plays_per_term`` is C, the mean number of suboptimal plays of one term: those of
    Decentralized SER3 until it has answered, as ``devote plan`` measures them. It is where
    :func:`reset_plays` is smallest.

    Paper: Theorem 4, end of its proof.
    Differs from print: the paper's is :func:`printed_phi` (erratum 17).

    >>> f"{recommended_phi(2, horizon=180_000, plays_per_term=7_854):.2e}"
    '3.76e-05'
    """
    switches = check.whole("n_switches", n_switches, least=0)
    cost = check.positive("horizon", horizon) * check.positive("plays_per_term", plays_per_term)
    return min(1.0, math.sqrt(switches / cost))


def reset_plays(phi: float, *, n_switches: int, horizon: float, plays_per_term: float) -> float:
    """Suboptimal plays to expect with resets, at most ``C (1 + phi T) + S / phi``.

    1 + phi T terms cost C each, and each switch the plays until the next reset, 1 / phi on
    average. It holds if C is the same after each switch and every term answers right.

    Paper: Theorem 4, the lines of its proof that end in S / phi.
    Differs from print: there a term is weighed by phi / delta, as if the horizon were 1 / delta.

    >>> round(reset_plays(3.76e-5, n_switches=2, horizon=180_000, plays_per_term=7_854))
    114201
    """
    resets = check.fraction("phi", phi) * check.positive("horizon", horizon)
    terms = check.positive("plays_per_term", plays_per_term) * (1.0 + resets)
    return terms + check.whole("n_switches", n_switches, least=0) / phi


def printed_phi(n_switches: int, *, p_star: float, n_arms: int, quorum: int, delta: float) -> float:
    """The paper's ``sqrt(S delta / ((K/p* log K + K/M) (1/p*) log(1/delta)))``: do not use it.

    The line before it in the proof is ``phi/delta A/epsilon^2 + S/phi`` with A the denominator,
    so that its minimiser is epsilon times this. Neither knows the horizon: there are phi T terms,
    not phi / delta. Resets then come so often that few terms end.

    Paper: Theorem 4, end of its proof; its bound on suboptimal plays is at this phi.
    Differs from print: at most 1, being a probability. Use :func:`recommended_phi` (erratum 17).

    >>> f"{printed_phi(3, p_star=1 / 64, n_arms=10, quorum=28, delta=0.05):.2e}"
    '7.29e-04'
    """
    switches = check.whole("n_switches", n_switches, least=0)
    slowness = 1.0 / check.fraction("p_star", p_star)
    arms = check.whole("n_arms", n_arms, least=2)
    log = -math.log(check.probability("delta", delta))
    votes = check.whole("quorum", quorum, least=1)
    cost = (arms * slowness * math.log(arms) + arms / votes) * slowness * log
    return min(1.0, math.sqrt(switches * delta / cost))


def ser4_message_bound(
    phi: float, *, horizon: float, quorum: int, n_arms: int, first_term: bool = False
) -> float:
    """Most votes on average over ``horizon`` activations, ``phi T (M K - 1)``.

    That counts the terms that resets open. ``first_term`` adds the one that a run starts in,
    ``(1 + phi T) (M K - 1)``, which holds at any phi; resets are messages too, phi T of them.

    Paper: Theorem 4.
    Differs from print: as printed the votes of the first term are left out, and a small phi
    breaks the bound (erratum 17).

    >>> bound = {"horizon": 100_000, "quorum": 28, "n_arms": 10}
    >>> round(ser4_message_bound(1e-4, **bound)), round(
    ...     ser4_message_bound(1e-4, first_term=True, **bound)
    ... )
    (2790, 3069)
    """
    resets = check.fraction("phi", phi) * check.positive("horizon", horizon)
    return (resets + float(first_term)) * message_bound(quorum, n_arms)


def ser4_failure(
    phi: float,
    *,
    horizon: float,
    total: float,
    single: float,
    p_star: float,
    delta: float,
    quorum: int,
) -> float:
    """Theorem 4's failure probability, ``delta + phi T I_{1-p*}(T' - t, 1 + t)^M``, at most 1.

    T', t, p*, delta and M are those of one term, as :func:`theorem_2_probability` takes them.

    Paper: Theorem 4, for ``epsilon >= eta / K``.
    Differs from print: I is the regularised function (erratum 10). The print takes delta once for
    all terms, and the power of M where one late player of M is enough:
    :func:`ser4_failure_over_terms` counts both.

    >>> term = {"total": 28_708, "single": 670, "p_star": 1 / 32, "delta": 0.05, "quorum": 28}
    >>> round(ser4_failure(4e-5, horizon=180_000, **term), 4)
    0.05
    """
    resets = check.fraction("phi", phi) * check.positive("horizon", horizon)
    # Theorem 2's probability is (1 - delta) (1 - I)^M.
    on_time = theorem_2_probability(total, single=single, p_star=p_star, delta=delta, quorum=1)
    late = max(0.0, 1.0 - on_time / (1.0 - delta))
    return min(1.0, delta + resets * late ** check.whole("quorum", quorum, least=1))


def ser4_failure_over_terms(phi: float, *, horizon: float, **term: Any) -> float:
    """At most how likely some term fails: ``(1 + phi T)`` times Theorem 2's failure, at most 1.

    It rests on Theorem 2 for each term, and so on what that rests on (errata 7 and 15).

    Paper: Theorem 4, "the expected failure probability" at the end of its proof.
    Differs from print: each term may fail with probability delta, and each of M players may be
    late (erratum 17).

    >>> term = {"total": 28_708, "single": 670, "p_star": 1 / 32, "delta": 0.05, "quorum": 28}
    >>> round(ser4_failure_over_terms(4e-5, horizon=180_000, **term), 4)
    0.41
    """
    terms = 1.0 + check.fraction("phi", phi) * check.positive("horizon", horizon)
    return min(1.0, terms * (1.0 - theorem_2_probability(**term)))


def why_not_theorem_4(*, n_arms: int, epsilon: float, eta: float, delta: float, phi: float) -> str:
    """Which condition of Theorem 4 does not hold; empty where all do.

    Paper: Theorem 4, ``epsilon >= eta / K`` and ``epsilon >= delta / K``.
    Differs from print: the last step of its proof also takes ``phi <= delta`` (erratum 17).

    >>> why_not_theorem_4(n_arms=10, epsilon=0.05, eta=0.9, delta=0.05, phi=1e-4)
    'epsilon=0.05 is below eta / n_arms = 0.09'
    """
    arms = check.whole("n_arms", n_arms, least=2)
    check.fraction("epsilon", epsilon)
    checked = {"eta": check.probability("eta", eta), "delta": check.probability("delta", delta)}
    for name, value in checked.items():
        if epsilon < value / arms:
            return f"epsilon={epsilon:g} is below {name} / n_arms = {value / arms:g}"
    if check.unit("phi", phi) > delta:
        return f"phi={phi:g} exceeds delta={delta:g}"
    return ""
