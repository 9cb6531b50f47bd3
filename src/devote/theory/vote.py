"""What a vote needs, costs and fails at: quorums, messages, stalls, and who is wrong how often.

All of it is plain Python, because a device or a board may ask it.

How often one player is wrong has two bounds. What the jury needs: a player that runs its subroutine
*alone* ever loses the last epsilon-optimal arm with probability at most ``eta``. Property 1 asks
for more, epoch by epoch and whatever the history, which no subroutine keeps: after unlucky rewards
the next elimination is wrong with any probability. Its sum over epochs is the sentence above.

What ``decentralized`` needs, where *one* arm alone is epsilon-optimal: a player ever votes against
that arm with probability at most ``wrong_vote``, whatever arms the others take out and whenever.
Then at least M of N players vote against it with probability at most P(Bin(N, wrong_vote) >= M).

Rewards are independent, in [0, 1], with means that do not change. ``docs/proofs.md`` has the
proofs; every bound here is what they come to.

Paper: Theorem 1; Property 1.
"""

import math
import sys
from dataclasses import dataclass
from typing import Literal, TypeAlias

from devote.rules import Rule, get_algorithm, kl_racing, lucb, ser3, successive_elimination
from devote.rules.votes import quorum as quorum
from devote.theory.errors import check

SMALLEST = sys.float_info.min
"""Below it a number loses digits."""

Standing: TypeAlias = Literal["proved", "partly", "not proved"]
"""``partly``: on some problems only."""

ZETA_2 = math.pi * math.pi / 6.0
ZETA_3 = 1.2020569031595943
ZETA_4 = 1.0823232337111382
ZETA_1_1 = 10.584448464950809

EXACT_ROUNDS = 2_000


def message_bound(quorum: int, n_arms: int) -> int:
    """Most votes ever broadcast, ``M K - 1``.

    It counts broadcasts, and holds while every vote is read before the next player wakes:
    votes in flight may cross.

    Paper: Theorem 1, part 3 of its proof.
    Differs from print: it takes a shared set that every player derives anew (erratum 2).

    >>> message_bound(28, 10)
    279
    """
    return check.whole("quorum", quorum, least=1) * check.whole("n_arms", n_arms, least=2) - 1


def stall_possible(n_players: int, quorum: int) -> bool:
    """Whether players may split over several arms so that no quorum forms, ``N <= 2 M - 2``.

    Players who are done have each voted against all arms left but one, and no arm left has more
    than M - 1 votes: with a arms left ``(a - 1) N <= a (M - 1)``, which is weakest at a = 2.

    Paper: Theorem 1, part 2 of its proof.
    Differs from print: "it exists a time such that for K-1 arms there are M voting players" is
    false when two arms are near-equal and this holds (errata 5 and 20).

    >>> [stall_possible(n, 28) for n in (32, 54, 55, 64)]
    [True, True, False, False]
    """
    return (
        check.whole("n_players", n_players, least=1)
        <= 2 * check.whole("quorum", quorum, least=1) - 2
    )


def split_possible(n_players: int, quorum: int, n_arms: int, liars: int = 0) -> bool:
    """Whether votes that cross can take back a decision, ``K M <= N (K - 1) + liars``.

    While some arm has fewer than M votes, whoever has read a part of the votes has thrown out
    only arms that all votes throw out. So a decision falls only if every arm gets M votes, K M in
    all. An honest player never votes against the last arm that its own view leaves it, so it casts
    at most K - 1 until then; each of the ``liars`` among the N casts K.

    >>> [split_possible(32, quorum, 8) for quorum in (28, 29)]
    [True, False]
    """
    n = check.whole("n_players", n_players, least=1)
    arms = check.whole("n_arms", n_arms, least=2)
    votes = arms * check.whole("quorum", quorum, least=1)
    return votes <= n * (arms - 1) + check.whole("liars", liars, least=0)


def binomial_tail(successes: int, trials: int, *, probability: float) -> float:
    """``P(Bin(trials, probability) >= successes)``, to about 1e-12 relative down to 1e-300.

    Plain Python: a jury is sized by a tail, and every device that reads its specification has to
    come to the same number. Each term is its neighbour times a ratio, which loses no digits. Work
    grows as the root of ``trials``: about .2 seconds for ten million.

    Paper: the law of a player's activations, proof of Theorem 2.

    >>> round(binomial_tail(2, 2, probability=0.5), 12), binomial_tail(3, 2, probability=0.5)
    (0.25, 0.0)
    """
    check.whole("successes", successes, least=0)
    check.whole("trials", trials, least=0)
    check.unit("probability", probability)
    if successes == 0 or (probability == 1.0 and successes <= trials):
        return 1.0
    if successes > trials or probability == 0.0:
        return 0.0
    odds = probability / (1.0 - probability)
    mode = min(trials, int((trials + 1) * probability))
    terms = {mode: 1.0}  # relative to the largest
    for count in range(mode, trials):
        terms[count + 1] = terms[count] * ((trials - count) / (count + 1) * odds)
        if terms[count + 1] < SMALLEST:
            break
    for count in range(mode, 0, -1):
        terms[count - 1] = terms[count] * (count / ((trials - count + 1) * odds))
        if terms[count - 1] < SMALLEST:
            break
    tail = math.fsum(term for count, term in terms.items() if count >= successes)
    return tail / math.fsum(terms.values())


def claimed_failure(eta: float, quorum: int) -> float:
    """The failure probability Theorem 1 claims, ``eta**M``.

    Paper: Theorem 1, part 2 of its proof.
    Differs from print: it holds for M fixed players, not for any M of N (erratum 7); what holds
    is :func:`vote_failure`. Under the ``paper`` rule it may exceed the ``delta`` asked for
    (erratum 6).

    >>> round(claimed_failure(0.9, 28), 4)
    0.0523
    """
    return check.probability("eta", eta) ** check.whole("quorum", quorum, least=1)


def vote_failure(n_players: int, *, lone: float, quorum: int) -> float:
    """At most how often any M of N players throw out the only good arm, ``P(Bin(N, p) >= M)``.

    ``lone`` is p, the proved bound on one player's error, ``wrong_vote`` of
    :func:`devote.theory.lone_failure`; eta is only what that player was allowed. It holds where
    exactly one arm is epsilon-optimal: a vote against it takes a deviation event on the voter's
    own rewards, whichever arms others take out (``docs/proofs.md``). Where N = M it holds for any
    number of good arms. With several good arms and N > M it is no bound.

    Paper: Theorem 1, part 2 of its proof.
    Differs from print: the paper counts one fixed group of M players (errata 7, 19 and 22).

    At N = 64, eta .9, K = 10, for Naive and LUCB:

    >>> [f"{vote_failure(64, lone=p, quorum=28):.1e}" for p in (0.0405, 0.1455)]
    ['2.7e-22', '1.8e-08']
    """
    check.whole("n_players", n_players, least=1)
    check.unit("lone", lone)
    return binomial_tail(check.whole("quorum", quorum, least=1), n_players, probability=lone)


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
