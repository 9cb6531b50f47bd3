"""The probability that the vote throws out a good arm: as claimed, and as it is."""

from devote.theory.binomial import binomial_tail
from devote.theory.errors import check


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
