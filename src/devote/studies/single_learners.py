"""Learners by themselves, many times over: the two baselines without a crowd."""

from devote.problems import get_problem
from devote.simulate import Scenario
from devote.studies.settings import Settings
from devote.studies.study import Planned
from devote.studies.variants import DELTA, SUBROUTINES, Variant

ALONE_FACTOR = 50
"""A single learner is cheap and its spread is the question: this many times the trials."""


def shared_learners(settings: Settings, problem: str) -> list[Planned]:
    """The 0-privacy baseline on one problem, with every subroutine."""
    trials = ALONE_FACTOR * settings.trials
    return [Planned(zero_privacy(variant, problem), trials) for variant in SUBROUTINES.values()]


def zero_privacy(variant: Variant, problem: str = "1") -> Scenario:
    """The one learner that all players of the 0-privacy baseline share: N does not matter.

    Nor does who wakes: problem 2 has the arms of problem 1, and so the same learner.
    """
    return variant.scenario("1" if problem == "2" else problem, "pooled", 1)


def alone(variant: Variant, n_players: int) -> Scenario:
    """One of N players of the 1-privacy baseline, by itself.

    Paper: section 5.1, a subroutine run with (epsilon, delta/N).
    """
    spec = variant.spec("isolated", delta=DELTA / n_players)
    return Scenario(spec, get_problem("1"), 1)
