"""Which subroutines are proved to keep an epsilon-optimal arm, and how surely.

Two bounds for each. What the jury needs: a player that runs the subroutine *alone* ever loses the
last epsilon-optimal arm with probability at most ``eta``. Property 1 asks for more, epoch by epoch
and whatever the history, which no subroutine keeps: after unlucky rewards the next elimination is
wrong with any probability. Its sum over epochs is the sentence above.

What ``decentralized`` needs, where *one* arm alone is epsilon-optimal: a player ever votes against
that arm with probability at most ``wrong_vote``, whatever arms the others take out and whenever.
Then at least M of N players vote against it with probability at most P(Bin(N, wrong_vote) >= M).

Rewards are independent, in [0, 1], with means that do not change. ``docs/proofs.md`` has the
proofs; every bound here is what they come to.

Paper: Property 1.
"""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from devote.rules import Rule, get_algorithm, kl_racing, lucb, ser3, successive_elimination
from devote.theory.errors import check

Standing: TypeAlias = Literal["proved", "partly", "not proved"]
"""``partly``: on some problems only."""

ZETA_2 = math.pi * math.pi / 6.0
ZETA_3 = 1.2020569031595943
ZETA_4 = 1.0823232337111382
ZETA_1_1 = 10.584448464950809

EXACT_ROUNDS = 2_000


@dataclass(frozen=True)
class LoneFailure:
    """How often one player is wrong, at most; why, and when.

    ``bound``: a lone player ever loses all epsilon-optimal arms. At most ``eta`` where
    ``standing`` is proved. ``partly``: proved only on some problems, as ``why`` says; there and
    where nothing is proved it is None.

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
    """What is proved of one player's subroutine, at these parameters.

    Paper: Property 1, which the paper assumes of all.

    >>> lone_failure("naive", n_arms=10, epsilon=0.25, eta=0.9).bound < 0.041
    True
    >>> racing = lone_failure("kl_racing", n_arms=10, epsilon=0.25, eta=0.9)
    >>> racing.standing, racing.bound, round(racing.wrong_vote, 3)
    ('partly', None, 0.858)
    """
    arms = check.whole("n_arms", n_arms, least=2)
    check.fraction("epsilon", epsilon)
    check.probability("eta", eta)
    # naive: each of K means is off by eps/2, after its budget of pulls or one more (if the last
    # arm that lacks a pull is taken out): (eta/2K)^2 each. lucb, kl_lucb and ugapec: one commit
    # after every arm has been pulled, so t is 2 or more, and the sums begin there.
    proved = {
        "naive": (
            2.0 * arms * (eta / (2.0 * arms)) ** 2,
            "Hoeffding with the budget 4/eps^2 ln(2K/eta), which is twice what it takes",
        ),
        "median_elimination": (
            eta * eta / 9.0,
            "epoch l loses eps_l with probability 3 (eta_l/3)^2 at the printed budget",
        ),
        "successive_elimination": (
            2.0 * ZETA_4 / successive_elimination.C**2 * eta**2 / arms,
            "on the event that all radii hold the best arm stays to the end",
        ),
        "lucb": ((ZETA_3 - 1.0) / lucb.K1 * eta, "on the event that all radii hold, one commit"),
        "kl_lucb": (eta, "Kaufmann and Kalyanakrishnan's constant, 405.5 for t^1.1; one commit"),
        "ugapec": ((ZETA_2 - 1.0) / 4.0 * eta, "on the event that all radii hold, one commit"),
        "mixture_elimination": (
            eta,
            "Ville's inequality for the difference of each arm to the best",
        ),
        "betting": (eta, "Ville's inequality for the capital bet on each arm against the best"),
        "worst_case": (eta, "by construction, with equality, if arm 0 is best and the last is bad"),
    }
    if algorithm == "kl_racing":
        bound = ZETA_1_1 / kl_racing.K1 * eta
        if arms > 2:
            return LoneFailure("partly", None, _CHAINS, bound)
        proved[algorithm] = bound, "on the event that both one-sided bounds hold; no chain of two"
    if algorithm in proved:
        bound, why = proved[algorithm]
        return LoneFailure("proved", bound, why, bound)
    if algorithm == "ser3":
        wrong, chains = _ser3_sums(arms, epsilon=epsilon, eta=eta, radius=radius)
        if wrong + chains <= eta:
            why = "Lemma 2 of docs/proofs.md, which covers chains of drops"
            return LoneFailure("proved", wrong + chains, why, wrong)
        return LoneFailure("partly", None, _CHAINS, wrong)
    why = "nothing is known of this subroutine"
    if algorithm == "ser4":
        why = "between two resets it is ser3; over all of them nothing is proved"
    return LoneFailure("not proved", None, why)


_CHAINS = (
    "an arm may go for one that goes later, and such a chain may lose more than epsilon; proved "
    "if K = 2, if one arm alone is epsilon-optimal, or if no mean lies between 1 and 2 epsilon "
    "below the best"
)


def _ser3_sums(n_arms: int, *, epsilon: float, eta: float, radius: str) -> tuple[float, float]:
    """Lemma 2: the best arm goes for a bad one; it goes for a good one, which goes for a bad one.

    The first is a sum over the rounds tau in which the best arm may go. The second is one over
    those and the later rounds in which the arm that beat it may: each pair of rounds, for each
    pair of arms, costs ``exp(-4 tau r^2)``.
    """
    rule = get_algorithm("ser3").rule(
        n_arms=n_arms, epsilon=epsilon, eta=eta, options={"radius": radius}
    )
    # The smallest radius misleads most often. `active` shrinks as arms go: down to two arms in a
    # wrong drop, to three in a chain. The run is over when the largest is half of epsilon.
    fewest, fewest_in_chain = min(2, n_arms), min(3, n_arms)
    first = max(1, math.ceil(math.log(n_arms / eta)))
    last = first
    while 2.0 * ser3.radius(rule, last, n_arms) > epsilon:
        last *= 2
    begin = next(
        tau
        for tau in range(first, last + 1)
        if 2.0 * ser3.radius(rule, tau, fewest) <= 1.0 + epsilon
    )
    pairs = (n_arms - 1) ** 2 // 4
    end = min(last, begin + EXACT_ROUNDS)
    wrong, chains = 0.0, 0.0
    for tau in range(begin, end + 1):
        wrong += (n_arms - 1) * _miss(rule, tau, fewest)
        chains += pairs * (last - tau) * _miss(rule, tau, fewest_in_chain)
    # Beyond: each falls as tau^-4, so the rest is at most a third of the last term times tau.
    wrong += (n_arms - 1) * _miss(rule, end, fewest) * end / 3.0
    chains += pairs * last * _miss(rule, end, fewest_in_chain) * end / 3.0
    return wrong, chains


def _miss(rule: Rule, tau: int, n_alive: int) -> float:
    return math.exp(-4.0 * tau * ser3.radius(rule, tau, n_alive) ** 2)
