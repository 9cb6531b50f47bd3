"""A vote says which arm is not good enough, a reset that older votes no longer count."""

from dataclasses import dataclass

from devote.protocol.messages import ARM, Number, message

MAX_TERM = 2**32 - 1


@message("vote", term=Number(0, MAX_TERM), arm=ARM)
@dataclass(frozen=True, slots=True)
class Vote:
    """``voter`` estimates that ``arm`` is not epsilon-optimal.

    Paper: Definition 2, ``lambda^n_k = 1``; Algorithm 2, line 18.
    """

    experiment: str
    term: int
    arm: int
    voter: str


@message("reset", term=Number(1, MAX_TERM))
@dataclass(frozen=True, slots=True)
class Reset:
    """``voter`` opens ``term``: votes of lower terms no longer count.

    Paper: section 4, DSER4.
    Differs from print: the paper leaves open how others learn of a reset (erratum 14).
    """

    experiment: str
    term: int
    voter: str
