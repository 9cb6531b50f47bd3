"""Mixture Elimination alone, compiled: thousands of runs in a second."""

from tests.rules.compiled import play_alone as play

from devote.problems import Problem
from devote.rules import get_algorithm
from devote.simulator.run import environment_arrays

ALGORITHM = get_algorithm("mixture_elimination")
RUNS = 20_000


def play_alone(means, *, epsilon, eta, seed=3, runs=RUNS):
    """The arm each run ends with, and its pulls."""
    rule = ALGORITHM.rule(n_arms=len(means), epsilon=epsilon, eta=eta)
    environment = environment_arrays(Problem("alone", means).environment(1))
    answers, pulls, _ = play(ALGORITHM, rule, environment, runs=runs, seed=seed)
    return answers, pulls
