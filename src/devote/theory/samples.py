"""How many samples it takes: Theorems 2 and 3, their corollaries, and lower bounds.

Theorem 2 has no hidden constant. As printed it is for any problem; it holds where the first M
players who are done cannot keep different arms (:func:`theorem_2_holds`), and so do the
corollaries and Theorem 3, which rest on it (erratum 15). These and the remark are stated up to a
constant inside an O: here that constant is 1, a choice of this project, so compare how they grow
and never read them as numbers of samples. All count until the M most likely players have voted;
the wait for the last player's next activation, :func:`coupon_collector`, comes on top (erratum 11).

:func:`sample_lower_bound` is what given arms take at least, whatever the algorithm. References:
Kaufmann, Cappé and Garivier (2016), Lemma 1; Degenne and Koolen (2019), problems with several right
answers; Garivier and Kaufmann (2021), near-optimal arms.

The exact interval of a proportion is here too. What SciPy computes is imported where it is called:
no device needs it.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence

from devote.rules.bernoulli_kl import divergence
from devote.theory.errors import TheoryError, check

NEGLIGIBLE = 45.0
"""``exp(-45)`` is below the rounding of any sum of a thousand terms near one."""

STEPS = 80
"""Halvings: the resolution of a float."""


def p_star(weights: Sequence[float], quorum: int) -> float:
    """Smallest activation probability among the M most likely players.

    ``weights`` need not sum to one.

    Paper: Section 3, before Theorem 2.

    >>> p_star([4, 4, 1, 1], 2), p_star([4, 4, 1, 1], 3)
    (0.4, 0.1)
    """
    probabilities = _shares(weights)
    check.whole("quorum", quorum, least=1)
    if quorum > len(probabilities):
        raise TheoryError(
            f"quorum={quorum} votes eliminate an arm, but weights name {len(probabilities)} "
            f"players. Use at least {quorum} players or a smaller quorum."
        )
    return sorted(probabilities, reverse=True)[quorum - 1]


def coupon_collector(weights: Sequence[float]) -> float:
    """Expected number of activations until every player has been active at least once.

    ``N H_N`` for equal weights; else the integral of ``1 - prod(1 - exp(-p_n t))`` over time t,
    in which each player wakes at a Poisson rate of its own. A run ends only when the last player
    has woken.

    Paper: no place in it.
    Differs from print: Theorem 2 leaves this wait out (erratum 11).

    >>> coupon_collector([1, 1]), round(coupon_collector([3, 1]), 9)
    (3.0, 4.333333333)
    """
    groups = sorted(Counter(_shares(weights)).items())
    if len(groups) == 1:
        n_players = len(weights)
        return n_players * math.fsum(1.0 / k for k in range(1, n_players + 1))
    from scipy.integrate import quad

    def time_asleep(log_time: float) -> float:
        """Time, times the probability that somebody has not woken by then."""
        time = math.exp(log_time)
        log_woken = math.fsum(n * math.log(-math.expm1(-p * time)) for p, n in groups)
        return -time * math.expm1(log_woken)

    # Over the logarithm of time the integrand is smooth, and negligible at both ends.
    first = -math.log(groups[-1][0]) - NEGLIGIBLE
    last = math.log((NEGLIGIBLE + math.log(len(weights))) / groups[0][0])
    expected, _ = quad(time_asleep, first, last, epsabs=0.0, epsrel=1e-11, limit=200)
    return float(expected)


def _shares(weights: Sequence[float]) -> list[float]:
    """Activation weights as probabilities that sum to one.

    Paper: Assumption 3 (all players are active).
    """
    if len(weights) == 0:
        raise TheoryError("weights is empty: there is no player.\nPass one weight per player.")
    remedy = "A player that is never active keeps everyone waiting (Assumption 3): leave it out."
    numbers = [check.positive(f"weights[{n}]", w, remedy) for n, w in enumerate(weights)]
    total = math.fsum(numbers)
    return [weight / total for weight in numbers]


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
    check.whole("good_arms", good_arms, least=1)
    return good_arms == 1 or check.whole("quorum", quorum, least=1) == 1


def theorem_2_samples(single_player_samples: float, *, p_star: float, delta: float) -> float:
    """Activations after which the M most likely players have each had their samples.

    Then the vote is over if all of them keep the same arm, as they do where
    :func:`theorem_2_holds` and each is right; with the probability that
    :func:`theorem_2_probability` gives.

    Paper: Theorem 2.
    Differs from print: not with several epsilon-optimal arms (erratum 15).

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
    function (erratum 10).

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
    """``(K / (M epsilon^2) + 1/p*) (1/p*) log(1/delta)``.

    Paper: Corollary 1; Remark 1 for uniform players who all must vote, ``M = N = 1/p*``.

    >>> round(median_elimination_bound(10, epsilon=0.25, delta=0.05, quorum=28, p_star=1 / 32))
    3615
    """
    slowness = 1.0 / check.fraction("p_star", p_star)
    alone = lower_bound(n_arms, epsilon=epsilon, delta=delta)
    log = -math.log(delta)
    return (alone / check.whole("quorum", quorum, least=1) + slowness * log) * slowness


def successive_elimination_bound(
    n_arms: int, *, epsilon: float, delta: float, quorum: int, p_star: float
) -> float:
    """Corollary 1's expression plus ``K / (p* epsilon^2) log(K) sqrt(log(1/delta))``.

    Paper: Corollary 2; Theorem 3, of SER3, for ``delta <= 1/2`` and ``epsilon >= delta / K``.

    >>> round(successive_elimination_bound(10, epsilon=0.25, delta=0.05, quorum=28, p_star=1 / 32))
    24020
    """
    common = median_elimination_bound(
        n_arms, epsilon=epsilon, delta=delta, quorum=quorum, p_star=p_star
    )
    log = -math.log(delta)
    return common + n_arms / (p_star * epsilon**2) * math.log(n_arms) * math.sqrt(log)


def lower_bound(n_arms: int, *, epsilon: float, delta: float) -> float:
    """``(K / epsilon^2) log(1/delta)``, the order of what the worst K arms take.

    The constant in the Omega is not printed and taken as 1, so this bounds no run;
    ``sample_lower_bound`` bounds the mean samples on given arms.

    Paper: Section 2, after Algorithm 1.

    >>> round(lower_bound(10, epsilon=0.25, delta=0.05))
    479
    """
    arms = check.whole("n_arms", n_arms, least=2)
    log = -math.log(check.probability("delta", delta))
    return arms / check.fraction("epsilon", epsilon) ** 2 * log


def characteristic_time(means: Sequence[float], *, epsilon: float, arm: int) -> float:
    """Samples per nat of evidence that ``arm`` is epsilon-optimal, at the best proportions.

    ``1 / max_w min_j min_x [ w_arm d(mu_arm, x) + w_j d(mu_j, x + epsilon) ]`` over proportions w,
    other arms j, and means x and x + epsilon under which j is better by epsilon; d is the
    divergence of Bernoulli rewards. Infinite where ``arm`` is epsilon or more below the best.

    >>> round(characteristic_time([0.7, 0.5], epsilon=0.25, arm=0), 2)
    9.27
    """
    gap = check.fraction("epsilon", epsilon)
    mine = check.probability(f"means[{arm}]", means[arm])
    others = Counter(check.probability(f"means[{j}]", m) for j, m in enumerate(means) if j != arm)
    if max(others) - mine >= gap:
        return math.inf
    # At the optimum the evidence against each other arm is the same. The weights it takes are
    # convex in it, so the time per evidence has one minimum.
    ceiling = min((divergence(mine, mean - gap) for mean in others if mean > gap), default=1e3)

    def time(evidence: float) -> float:
        weights = (n * _weight(mine, mean, gap, evidence) for mean, n in others.items())
        return (1.0 + sum(weights)) / evidence

    from scipy.optimize import minimize_scalar

    how = {"bounds": (1e-9 * ceiling, ceiling), "method": "bounded", "options": {"xatol": 1e-12}}
    return float(minimize_scalar(time, **how).fun)


def sample_lower_bound(means: Sequence[float], *, epsilon: float, delta: float) -> float:
    """Mean samples that Bernoulli arms of these means take at least.

    It holds for every algorithm whose answer is epsilon-optimal with probability 1 - delta or
    more, whatever the means. Proof: let it answer arm i with probability p_i here; those of the
    epsilon-optimal arms sum to 1 - delta or more. Where i is not epsilon-optimal it answers i with
    probability delta or less, so by Lemma 1 the evidence between the two is kl(p_i, delta) or more
    if p_i > delta. The evidence is at most t / T_i, with t the mean samples and T_i the
    characteristic time of i. Hence p_i <= u_i, where u_i >= delta and kl(u_i, delta) = t / T_i.
    The bound is the least t at which the u_i sum to 1 - delta. With one epsilon-optimal arm it is
    T kl(1 - delta, delta).

    Differs from print: section 2 of the paper has ``lower_bound``, the order of the worst problem.

    >>> round(sample_lower_bound([0.7, 0.1], epsilon=0.25, delta=0.05), 2)
    6.62
    """
    allowed = check.probability("delta", delta)
    best = max(means)
    times = [
        characteristic_time(means, epsilon=epsilon, arm=arm)
        for arm, mean in enumerate(means)
        if best - mean <= epsilon
    ]

    def likeliest(evidence: float) -> float:
        return _last(allowed, 1.0, lambda p: divergence(p, allowed) <= evidence)

    def too_few(samples: float) -> bool:
        return sum(likeliest(samples / time) for time in times) < 1.0 - allowed

    return _last(0.0, min(times) * divergence(1.0 - allowed, allowed), too_few)


def _last(low: float, high: float, holds: Callable[[float], bool]) -> float:
    """The largest number at which a condition holds, by bisection between ``low`` and ``high``."""
    for _ in range(STEPS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _weight(mine: float, other: float, gap: float, evidence: float) -> float:
    """How often to sample the other arm, relative to this one, for so much evidence.

    The least evidence lies where its derivative in x is 0, which gives the weight from x; and
    the evidence falls as x rises.
    """
    low, high = max(other - gap, 0.0), min(mine, 1.0 - gap)
    weight = 0.0
    for _ in range(STEPS):
        x = (low + high) / 2.0
        y = x + gap
        if not (low < x < high and other < y < 1.0):
            break
        weight = (mine - x) / (x * (1.0 - x)) * (y * (1.0 - y)) / (y - other)
        here = divergence(mine, x) + weight * divergence(other, y)
        low, high = (x, high) if here > evidence else (low, x)
    return weight


def betainc(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function ``I_x(a, b)``.

    Paper: Theorem 2, where it is written ``I_a(b, c)``.
    Differs from print: the footnote's I_0.99(500, 500) = 1.47e-302 is the value of B(500, 500);
    the regularised function, which the theorem needs, is 1.0 there (erratum 10).

    >>> betainc(500, 500, 0.99), round(betainc(2, 3, 0.5), 12)
    (1.0, 0.6875)
    """
    from scipy.special import betainc as regularised

    return float(regularised(check.positive("a", a), check.positive("b", b), check.unit("x", x)))


def clopper_pearson(
    successes: int, trials: int, *, confidence: float = 0.95
) -> tuple[float, float]:
    """The interval that covers the true proportion with at least ``confidence``.

    Exact: no normal approximation, so it may be trusted with no failure in twenty trials.

    Paper: no place in it; its experiments average 20 trials and give no intervals.

    >>> low, high = clopper_pearson(0, 20)
    >>> low, round(high, 4)
    (0.0, 0.1684)
    """
    from scipy.special import betainccinv, betaincinv

    check.whole("trials", trials, least=1)
    check.whole("successes", successes, least=0)
    check.probability("confidence", confidence)
    if successes > trials:
        raise TheoryError(
            f"successes={successes} exceeds trials={trials}. Pass the successes first, then "
            "the trials they were counted in."
        )
    outside = 0.5 * (1.0 - confidence)
    failures = trials - successes
    low = float(betaincinv(successes, failures + 1, outside)) if successes else 0.0
    high = float(betainccinv(successes + 1, failures, outside)) if failures else 1.0
    return low, high
