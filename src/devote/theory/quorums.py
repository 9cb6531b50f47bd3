"""How many votes eliminate an arm, what that costs in messages, and when it can hang."""

from devote.rules.votes import quorum as quorum
from devote.theory.errors import check


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

    While some arm has fewer than M votes, whoever has heard a part of the votes has thrown out
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
