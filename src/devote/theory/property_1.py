"""Which subroutines are proved to keep an epsilon-optimal arm, and how surely.

What the vote needs of a subroutine is this: a player that runs it alone ever loses the last
epsilon-optimal arm with probability at most ``eta``. Property 1 asks for more, epoch by epoch and
whatever the history, which no subroutine keeps: after unlucky rewards the next elimination is
wrong with any probability. Its sum over epochs is the sentence above, and the proofs need no more.

Rewards are independent, in [0, 1], with means that do not change. ``docs/proofs.md`` has the
proofs; every bound here is what they come to.

Paper: Property 1.
"""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from devote.theory.arguments import open_unit, unit, whole

Standing: TypeAlias = Literal["proved", "partly", "not proved"]
"""``partly``: on some problems only."""
ZETA_3 = 1.2020569031595943
ZETA_4 = 1.0823232337111382

EXACT_ROUNDS = 2_000


@dataclass(frozen=True)
class LoneFailure:
    """How often a lone player loses all epsilon-optimal arms, at most; why, and when.

    ``bound`` is at most ``eta`` where ``standing`` is proved. ``partly``: proved only on some
    problems, as ``why`` says; there and where nothing is proved ``bound`` is None.

    ``wrong_vote``: where one arm alone is epsilon-optimal, a player ever votes against it,
    whatever arms the others take out. None where that is not proved.
    """

    standing: Standing
    bound: float | None
    why: str
    wrong_vote: float | None = None


def lone_failure(
    algorithm: str, *, n_arms: int, epsilon: float, eta: float, radius: str = "union"
) -> LoneFailure:
    """What is proved of a subroutine alone, at these parameters.

    Paper: Property 1, which the paper assumes of all.

    >>> lone_failure("naive", n_arms=10, epsilon=0.25, eta=0.9).bound < 0.041
    True
    >>> lone_failure("kl_racing", n_arms=10, epsilon=0.25, eta=0.9).standing
    'partly'
    """
    arms = whole("n_arms", n_arms, least=2)
    unit("epsilon", epsilon)
    open_unit("eta", eta)
    if algorithm == "naive":
        return _proved(
            (arms - 1) * 2.0 * (eta / (2.0 * arms)) ** 2,
            "Hoeffding with the budget 4/eps^2 ln(2K/eta), which is twice what it takes",
        )
    if algorithm == "median_elimination":
        return _proved(eta, "the authors' proof: epoch l loses eps_l with probability eta/2^l")
    if algorithm == "successive_elimination":
        bound = 2.0 * ZETA_4 / 4.01**2 * eta**2 / arms
        return _proved(bound, "on the event that all radii hold the best arm stays to the end")
    if algorithm == "lucb":
        # Every arm is pulled before the first test, so t is 2 or more.
        return _proved((ZETA_3 - 1.0) / 1.25 * eta, "on the event that all radii hold, one commit")
    if algorithm == "kl_lucb":
        return _proved(eta, "Kaufmann and Kalyanakrishnan's constant, 405.5 for t^1.1; one commit")
    if algorithm == "ugapec":
        return _proved(math.pi**2 / 12.0 * eta, "on the event that all radii hold, one commit")
    if algorithm == "worst_case":
        return _proved(eta, "by construction, with equality, if arm 0 is best and the last is bad")
    if algorithm == "ser3":
        bound = ser3_lone_failure(arms, epsilon=epsilon, eta=eta, radius=radius)
        if bound <= eta:
            return _proved(bound, "Lemma 2 of docs/proofs.md, which covers chains of drops")
        return LoneFailure("partly", None, _CHAINS)
    if algorithm == "kl_racing":
        return LoneFailure("partly", None, _CHAINS)
    if algorithm == "ser4":
        return LoneFailure(
            "not proved", None, "between two resets it is ser3; over all of them nothing is proved"
        )
    return LoneFailure("not proved", None, "nothing is known of this subroutine")


_CHAINS = (
    "an arm may go within epsilon of one that goes later: proved for 2 epsilon; for epsilon "
    "if K = 2, if one arm alone is epsilon-optimal, or if no mean lies between 1 and 2 epsilon "
    "below the best"
)


def _proved(bound: float, why: str) -> LoneFailure:
    return LoneFailure("proved", bound, why, bound)


def ser3_lone_failure(n_arms: int, *, epsilon: float, eta: float, radius: str = "union") -> float:
    """At most how often SER3 alone loses all epsilon-optimal arms; it may exceed 1.

    A sum over the rounds tau in which the best arm may go and the later ones in which the arm
    that beat it may: each pair of rounds, for each pair of arms, costs ``exp(-4 tau r^2)``.

    Paper: Property 1, for section 4's SER3.

    >>> round(ser3_lone_failure(10, epsilon=0.25, eta=0.9), 4)
    0.0022
    """
    active = radius == "active"
    # The smallest radius misleads most often. `active` shrinks as arms go: down to two arms in a
    # wrong drop, to three in a chain. The run is over when the largest is half of epsilon.
    fewest, fewest_in_chain = (2, 3) if active else (n_arms, n_arms)
    first = max(1, math.ceil(math.log(n_arms / eta)))
    last = first
    while 2.0 * _radius(last, n_arms, eta, active) > epsilon:
        last *= 2
    begin = next(
        tau
        for tau in range(first, last + 1)
        if 2.0 * _radius(tau, fewest, eta, active) <= 1.0 + epsilon
    )
    pairs = (n_arms - 1) ** 2 // 4
    end = min(last, begin + EXACT_ROUNDS)
    total = 0.0
    for tau in range(begin, end + 1):
        alone, chain = (_miss(tau, n, eta, active) for n in (fewest, fewest_in_chain))
        total += (n_arms - 1) * alone + pairs * (last - tau) * chain
    # Beyond: each falls as tau^-4, so the rest is at most a third of the last term times tau.
    alone, chain = (_miss(end, n, eta, active) for n in (fewest, fewest_in_chain))
    return total + ((n_arms - 1) * alone + pairs * last * chain) * end / 3.0


def _miss(tau: int, n_arms: int, eta: float, active: bool) -> float:
    return math.exp(-4.0 * tau * _radius(tau, n_arms, eta, active) ** 2)


def _radius(tau: int, n_arms: int, eta: float, active: bool) -> float:
    if active:
        return math.sqrt(math.log(2.0 * n_arms * tau / eta) / tau)
    return math.sqrt(math.log(4.0 * n_arms * tau * tau / eta) / (2.0 * tau))
