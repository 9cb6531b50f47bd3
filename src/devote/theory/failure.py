"""The probability that the vote throws out a good arm: as claimed, and as it is."""

from devote.theory.arguments import open_unit, whole
from devote.theory.beta import binomial_tail


def claimed_failure(eta: float, quorum: int) -> float:
    """The failure probability Theorem 1 claims, ``eta**M``.

    Paper: Theorem 1, part 2 of its proof.
    Differs from print: it holds for M fixed players, not for any M of N; show
    :func:`honest_failure` beside it (erratum 7). Under the ``paper`` rule it may exceed the
    ``delta`` asked for (erratum 6).

    >>> round(claimed_failure(0.9, 28), 4)
    0.0523
    """
    return open_unit("eta", eta) ** whole("quorum", quorum, least=1)


def honest_failure(n_players: int, *, eta: float, quorum: int) -> float:
    """The failure probability of any M of N players, ``P(Bin(N, eta) >= M)``.

    What independent subroutines would give if each really failed with probability ``eta``.
    Hoeffding subroutines fail far less often, which is why the vote works in practice.

    Paper: Theorem 1, part 2 of its proof.
    Differs from print: the paper counts one fixed group of M players (erratum 7).

    >>> [round(honest_failure(n, eta=0.9, quorum=28), 2) for n in (28, 32, 64)]
    [0.05, 0.79, 1.0]
    """
    whole("n_players", n_players, least=1)
    open_unit("eta", eta)
    return binomial_tail(whole("quorum", quorum, least=1), n_players, probability=eta)
