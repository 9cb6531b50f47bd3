"""Problems on which a vote goes wrong most easily, for a given epsilon.

Each puts arms where a mistake is likeliest: at a tie, a hair past epsilon, or in the chain of
two drops that loses more than epsilon; with few arms, because a bound over K arms is loosest there.
"""

from devote.audit.errors import AuditError
from devote.problems import Problem, Split

HAIR = 0.02
"""How far past epsilon an arm lies, in units of epsilon, to be just not good enough."""


def hard_problems(epsilon: float) -> tuple[Problem, ...]:
    """The hard problems at this epsilon, easiest to read first.

    >>> [problem.name for problem in hard_problems(0.25)]
    ['two-arms', 'just-past', 'near-tie', 'chain', 'skewed']
    """
    if not 0.0 < epsilon <= 0.9:
        raise AuditError(
            f"epsilon={epsilon!r}: with more than 0.9 no mean lies far enough below the best.\n"
            "Use an epsilon in (0, 0.9]."
        )
    past = (1.0 + HAIR) * epsilon
    top = 0.5 + past / 2.0
    low = top - past
    return (
        Problem("two-arms", (top, low), summary="K = 2, one arm just past epsilon"),
        Problem("just-past", (top, low, low, low), summary="three arms just past epsilon"),
        Problem("near-tie", (top, top, low, low), summary="two best arms, two just past epsilon"),
        Problem(
            "chain",
            (top, top - (1.0 - HAIR) * epsilon, low),
            summary="an arm just within epsilon and one just past it",
        ),
        Problem(
            "skewed",
            (top, low, low),
            activity=Split(fraction=0.5, share=0.9),
            summary="half of the players make 90 % of the events; arms just past epsilon",
        ),
    )
