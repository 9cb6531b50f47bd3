"""The problems by name: the paper's three, and two that it discusses but does not run.

To add one, append a ``Problem`` to ``_CATALOGUE``.

Paper: section 5.1 (problems 1 to 3), section 4 (problem 4), section 6 (problem 5).
Differs from print: section 6's "finds with high probability the best arm of the most frequent
players" takes at least M of them, as in problem 5 with 56 players or more (erratum 21).
"""

from devote.errors import did_you_mean
from devote.problems.activity import ProblemError, Split
from devote.problems.problem import Means, Problem

PAPER_MEANS: Means = (0.7, 0.5, 0.3, *[0.1] * 7)
"""Paper: section 5.1, problem 1."""

PAPER_SLOPES: Means = (0.0, *[-1e-5] * 9)
"""Paper: section 5.1, problem 3."""


def _one_clear_best(arm: int) -> Means:
    # A gap of .4 at least: with epsilon = .25 only the best arm is right.
    from_best = [0.8, 0.4, 0.3, *[0.1] * 7]
    return tuple(from_best[(k - arm) % 10] for k in range(10))


_CATALOGUE = (
    Problem(
        "1",
        PAPER_MEANS,
        summary="ten arms of .7 .5 .3 and seven of .1; all players wake equally often",
        source="paper, section 5.1, problem 1",
    ),
    Problem(
        "2",
        PAPER_MEANS,
        activity=Split(fraction=0.5, share=0.8),
        summary="the arms of problem 1; half of the players generates 80 % of the events",
        source="paper, section 5.1, problem 2",
    ),
    Problem(
        "3",
        PAPER_MEANS,
        drift=PAPER_SLOPES,
        summary="the arms of problem 1; all but the best lose 1e-5 per time step, down to 0",
        source="paper, section 5.1, problem 3; means clipped at 0 (erratum 13)",
    ),
    Problem(
        "4",
        _one_clear_best(0),
        switches=((60_000, _one_clear_best(4)), (120_000, _one_clear_best(8))),
        summary="the best arm of .8 switches at 60,000 and 120,000; the second pays .4",
        source="paper, section 4, the setting of Theorem 4 (DSER4); the numbers are ours",
    ),
    Problem(
        "5",
        activity=Split(fraction=0.5, share=0.8),
        groups=((0.5, _one_clear_best(0)), (0.5, _one_clear_best(5))),
        summary="the frequent half of the players has one best arm, the rare half another",
        source="paper, section 6, best arms that depend on the user; the numbers are ours",
    ),
)

PROBLEMS: dict[str, Problem] = {problem.name: problem for problem in _CATALOGUE}
"""Every problem, by name."""


def get_problem(name: str) -> Problem:
    """The problem of that name.

    >>> get_problem("2").activity
    Split(fraction=0.5, share=0.8)
    """
    if name in PROBLEMS:
        return PROBLEMS[name]
    raise ProblemError(
        f"problem {name!r} is not in the catalogue.\n{did_you_mean(name, PROBLEMS)}"
        f"Known names: {', '.join(PROBLEMS)}."
    )
