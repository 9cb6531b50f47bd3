"""How many votes eliminate an arm, what that costs in messages, and when it can hang."""

from devote.kernels.votes import quorum
from devote.theory.arguments import open_unit, whole

__all__ = [
    "RULES",
    "jury_message_bound",
    "message_bound",
    "quorum",
    "resolve_quorum",
    "stall_possible",
]

RULES = ("paper", "ceil")
"""The rules by name: ``paper`` rounds ``log(delta) / log(eta)`` down, ``ceil`` up."""


def resolve_quorum(rule: str | int, *, delta: float, eta: float) -> int:
    """The quorum M that a rule, or a number given outright, stands for.

    Paper: Algorithm 2, line 6; its inputs ask for ``delta <= eta**2``, that is M >= 2.
    Differs from print: ``ceil`` is the M that really meets ``delta`` when N = M (erratum 6).

    >>> [resolve_quorum(rule, delta=0.05, eta=0.9) for rule in ("paper", "ceil", 5)]
    [28, 29, 5]
    """
    open_unit("delta", delta)
    open_unit("eta", eta)
    if not isinstance(rule, str):
        return whole("quorum", rule, least=1)
    if rule not in RULES:
        raise ValueError(
            f"quorum rule {rule!r} is unknown. Use 'paper', 'ceil' or a number of votes."
        )
    votes = quorum(delta, eta, rule)
    if votes < 1:
        raise ValueError(
            f"delta={delta} with eta={eta} needs {votes} votes to eliminate an arm, and it takes "
            f"at least 1. Use a delta of at most eta={eta}, or give the quorum as a number."
        )
    return votes


def message_bound(quorum: int, n_arms: int) -> int:
    """Most votes ever broadcast, ``M K - 1``.

    It counts broadcasts, and holds while every vote is read before the next player wakes:
    votes in flight may cross.

    Paper: Theorem 1, part 3 of its proof.
    Differs from print: it takes a shared set that every player derives anew (erratum 2).

    >>> message_bound(28, 10)
    279
    """
    return whole("quorum", quorum, least=1) * whole("n_arms", n_arms, least=2) - 1


def jury_message_bound(jury_size: int, n_arms: int) -> int:
    """Most messages of a jury, ``J K``: each juror claims a seat and keeps one arm.

    Like :func:`message_bound` it holds while every message is read before the next player wakes:
    claims in flight may cross.

    >>> jury_message_bound(29, 10)
    290
    """
    return whole("jury_size", jury_size, least=1) * whole("n_arms", n_arms, least=2)


def stall_possible(n_players: int, quorum: int) -> bool:
    """Whether players may split over several arms so that no quorum forms, ``N <= 2 M - 2``.

    Players who are done have each voted against all arms left but one, and no arm left has more
    than M - 1 votes: with a arms left ``(a - 1) N <= a (M - 1)``, which is weakest at a = 2. For
    a jury only jurors count: N is its size, M those of them who must agree.

    Paper: Theorem 1, part 2 of its proof.
    Differs from print: "it exists a time such that for K-1 arms there are M voting players" is
    false when two arms are near-equal and this holds (errata 5 and 20).

    >>> [stall_possible(n, 28) for n in (32, 54, 55, 64)]
    [True, True, False, False]
    """
    return whole("n_players", n_players, least=1) <= 2 * whole("quorum", quorum, least=1) - 2
