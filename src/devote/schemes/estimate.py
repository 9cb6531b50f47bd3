"""About how long a subroutine takes, without simulating it: estimates for the page and for sizes.

They follow the course that a subroutine takes if every reward is exactly what its arm pays on
average. With all arms alike it is the longest course there is for subroutines that stop once their
bound is below epsilon: then nothing, not even chance, ends it sooner.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial

from devote.protocol.spec import ExperimentSpec
from devote.rules import Rule, betting, mixture_elimination
from devote.schemes.lone import fewest_pulls, follow

LONGEST = 20_000
"""Pulls after which a course that must be followed one by one is given up."""


def expected_pulls(spec: ExperimentSpec, means: Sequence[float] | None = None) -> list[int] | None:
    """Pulls of each arm of one learner; without means, if all arms pay alike.

    None where the subroutine has no formula and takes more than ``LONGEST`` pulls.

    >>> spec = ExperimentSpec(arms=4, algorithm="mixture_elimination", scheme="jury")
    >>> sum(expected_pulls(spec))
    280
    """
    given = [0.5] * spec.n_arms if means is None else list(means)
    if spec.algorithm == mixture_elimination.ALGORITHM.name:
        return _mixture(spec, given)
    if spec.algorithm == betting.ALGORITHM.name:
        return _betting(spec, given)
    pulls = follow(spec, given, LONGEST)
    return None if sum(pulls) > LONGEST else pulls


def _mixture(spec: ExperimentSpec, rewards: Sequence[float]) -> list[int]:
    """The course of mixture elimination, by its formula."""
    rule = spec.scheme.learner(spec).rule
    best = max(range(spec.n_arms), key=rewards.__getitem__)
    gaps = [rewards[best] - reward for reward in rewards]
    second = min(gap for k, gap in enumerate(gaps) if k != best)
    end = _first_round(rule, second + rule.epsilon)
    return [end if k == best else _first_round(rule, gap, end) for k, gap in enumerate(gaps)]


def _first_round(rule: Rule, lead: float, most: int | None = None) -> int:
    """The first round, up to ``most``, after which the bound is no more than ``lead``."""
    return _first(lambda tau: mixture_elimination.bound(rule, tau) <= tau * lead, most)


def _betting(spec: ExperimentSpec, rewards: Sequence[float]) -> list[int]:
    """The course of betting: each arm is asked about until it is settled against the best."""
    rule = spec.scheme.learner(spec).rule
    best = max(range(spec.n_arms), key=rewards.__getitem__)
    top = rewards[best]

    def is_settled(tau: int, reward: float) -> bool:
        wins, losses = tau * top * (1.0 - reward), tau * reward * (1.0 - top)
        return betting.is_proved(rule, wins, losses, tau, rule.epsilon)

    rounds = [
        0 if k == best else _first(partial(is_settled, reward=reward))
        for k, reward in enumerate(rewards)
    ]
    rounds[best] = max(rounds)
    return rounds


def _first(is_enough: Callable[[int], bool], most: int | None = None) -> int:
    """The first whole number, up to ``most``, that is enough; all after it are enough too."""
    if most is None:
        most = 1
        while not is_enough(most):
            most *= 2
    return 1 + bisect_left(range(1, most), True, key=is_enough)


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
