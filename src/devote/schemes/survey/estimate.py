"""How many answers a survey takes, before it starts or while it runs; and how many liars turn it.

The estimate follows the course that the subroutine takes if every answer says exactly what its
arm pays on average, and adds what it costs that devices draw their arm instead of being told.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence

from devote.kernels import Rule, mixture_elimination
from devote.protocol.learner import Learner
from devote.protocol.spec import ExperimentSpec
from devote.schemes.lone import fewest_pulls, follow

LONGEST = 20_000
"""Answers after which a course that must be followed one by one is given up."""


def answers_expected(spec: ExperimentSpec, means: Sequence[float] | None = None) -> int | None:
    """About how many answers decide, if arms pay ``means``; without them, if all pay alike.

    No problem takes longer than one on which all pay alike, and there chance ends most runs
    sooner: three quarters of the estimate on average. None where the subroutine has no
    formula and takes more than ``LONGEST`` answers.
    """
    given = [0.5] * spec.n_arms if means is None else means
    slope = spec.scheme.subroutine_epsilon(spec) / spec.epsilon
    blurred = [(1.0 - slope) / 2.0 + slope * mean for mean in given]
    if spec.algorithm == mixture_elimination.ALGORITHM.name:
        pulls = _mixture(spec, blurred)
    elif sum(pulls := follow(spec, blurred, LONGEST)) > LONGEST:
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


def _mixture(spec: ExperimentSpec, rewards: Sequence[float]) -> list[int]:
    """The same for mixture elimination, by its formula."""
    rule = Learner(spec, spec.scheme.subroutine_eta(spec, None)).rule
    best = max(range(spec.n_arms), key=rewards.__getitem__)
    gaps = [rewards[best] - reward for reward in rewards]
    second = min(gap for k, gap in enumerate(gaps) if k != best)
    end = _first_round(rule, second + rule.epsilon)
    return [end if k == best else _first_round(rule, gap, end) for k, gap in enumerate(gaps)]


def _first_round(rule: Rule, lead: float, most: int | None = None) -> int:
    """The first round, up to ``most``, after which the bound is no more than ``lead``."""

    def is_enough(tau: int) -> bool:
        return mixture_elimination.bound(rule, tau) <= tau * lead

    if most is None:
        most = 1
        while not is_enough(most):
            most *= 2
    return 1 + bisect_left(range(1, most), True, key=is_enough)
