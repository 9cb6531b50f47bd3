"""About how many answers a survey takes: an estimate for the page, which does not simulate.

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

    Where one arm is best it is within a quarter of the mean, as measured with betting. Where all
    pay alike chance ends most runs sooner: with betting after half the estimate on average.
    ``devote plan`` simulates instead. None where the subroutine has no formula and takes more
    than ``LONGEST`` answers.
    """
    given = [0.5] * spec.n_arms if means is None else means
    slope = spec.scheme.learner(spec).epsilon / spec.epsilon
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
