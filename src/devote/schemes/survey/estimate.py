"""How many answers a survey takes, before it starts or while it runs; and how many liars turn it.

The estimate follows the course that the subroutine takes if every answer says exactly what its
arm pays on average, and adds what it costs that devices draw their arm instead of being told.
"""

import math
from collections.abc import Sequence

from devote.protocol.spec import ExperimentSpec
from devote.schemes.course import LONGEST, expected_pulls
from devote.schemes.lone import fewest_pulls


def answers_expected(spec: ExperimentSpec, means: Sequence[float] | None = None) -> int | None:
    """About how many answers decide, if arms pay ``means``; without them, if all pay alike.

    No problem takes longer than one on which all pay alike, and there chance ends most runs
    sooner: three quarters of the estimate on average. None where the subroutine has no
    formula and takes more than ``LONGEST`` answers.
    """
    given = [0.5] * spec.n_arms if means is None else means
    slope = spec.scheme.subroutine_epsilon(spec) / spec.epsilon
    blurred = [(1.0 - slope) / 2.0 + slope * mean for mean in given]
    pulls = expected_pulls(spec, blurred)
    if pulls is None:
        return None
    longest = max(pulls)
    last = sum(n == longest for n in pulls)
    # Of `last` arms that are asked about to the end, the one drawn least has to get there.
    wait = last * math.sqrt(2.0 * longest * math.log(last)) if last > 1 else 0.0
    return math.ceil(sum(pulls) + wait)


def fewest_answers(spec: ExperimentSpec) -> int:
    """No survey ends with fewer answers than this, or than ``LONGEST``, whichever is less."""
    return fewest_pulls(spec, LONGEST)


def liars_to_turn(spec: ExperimentSpec, answers: int, gap: float | None = None) -> int:
    """The fewest liars that lift an arm by ``gap`` above another, if each has ``answers``.

    A liar moves the estimate of one arm's mean by at most 1/(answers * slope). The gap is
    epsilon unless it is given: a worse turn takes more.
    """
    slope = spec.scheme.subroutine_epsilon(spec) / spec.epsilon
    return max(1, math.ceil(answers * slope * (spec.epsilon if gap is None else gap)))
