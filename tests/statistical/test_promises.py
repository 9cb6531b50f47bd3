"""Each subroutine, alone, is wrong no more often than it promises, and it stops.

The promise is eta = .3. A cell fails when as many wrong answers as it saw would come with
probability below 1e-8 from a subroutine that is wrong with probability .3, the worst that the
promise allows. With 39 cells the false-alarm probability is below 39e-8, under 1e-6. Of 500
runs 210 and more wrong ones are refused; one and a half times the promise is found with
probability .91, twice the promise always.

The kernels run compiled, which they do bit for bit as on lists, so that five hundred runs of
each take little more time than compiling them.
"""

import pytest
from tests.rules.compiled import play_alone

from devote.problems import Problem
from devote.rules.algorithm import ALGORITHMS
from devote.simulator.run import environment_arrays
from devote.theory import binomial_tail

ETA = 0.3
PHI = 1e-4
RUNS = 500
PULLS = 10**6
FALSE_ALARM = 1e-8

INSTANCES = [
    (Problem("ties", [0.3, 0.7, 0.1, 0.7, 0.1, 0.3]), 0.3),
    (Problem("a small gap", [0.4, 0.4, 0.65, 0.1]), 0.2),
    (Problem("continuous rewards", [0.2, 0.3, 0.3, 0.6, 0.1], rewards="beta"), 0.25),
]
VARIANTS = [
    (name, options)
    for name, algorithm in ALGORITHMS.items()
    if name != "worst_case"
    for options in [
        {option: word}
        for option, words in algorithm.options.items()
        if isinstance(words, tuple)
        for word in words
    ]
    or [{}]
]


def answers_of(name, options, problem, epsilon):
    """What RUNS runs answer, -1 where one did not stop, and how often each reset itself."""
    algorithm = ALGORITHMS[name]
    rule = algorithm.rule(
        n_arms=problem.n_arms,
        epsilon=epsilon,
        eta=ETA,
        options={**options, **({"phi": PHI} if algorithm.endless else {})},
    )
    environment = environment_arrays(problem.environment(1))
    answers, _, resets = play_alone(algorithm, rule, environment, runs=RUNS, seed=1, most=PULLS)
    return answers, resets


def test_all_eleven_subroutines_and_both_radii_are_held_to_their_promise():
    assert len({name for name, _ in VARIANTS}) == 11
    assert len(VARIANTS) == 13


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"), VARIANTS, ids=[" ".join([n, *o.values()]) for n, o in VARIANTS]
)
def test_a_subroutine_is_wrong_no_more_often_than_eta_and_it_stops(name, options):
    """Paper: "a confidence level 1 - eta" (Definition 4); Properties 1 and 2.

    SER4 is asked for the answer of the first term that comes to one; some of its runs reset
    themselves before.
    """
    for problem, epsilon in INSTANCES:
        answers, resets = answers_of(name, options, problem, epsilon)
        assert answers.min() >= 0, f"{problem.name}: {(answers < 0).sum()} runs did not stop"
        right = problem.optimal(1, 0, epsilon)
        wrong = sum(int(arm) not in right for arm in answers)
        chance = binomial_tail(wrong, RUNS, probability=ETA)
        assert chance >= FALSE_ALARM, f"{problem.name}: {wrong} of {RUNS} answers are wrong"
        assert bool(resets.any()) == ALGORITHMS[name].endless


@pytest.mark.slow
def test_tied_best_arms_are_answered_both():
    """An arm is favoured neither by its index nor by its twin: false alarm below 1e-8."""
    problem, epsilon = INSTANCES[0]
    answers, _ = answers_of("ser3", {"radius": "union"}, problem, epsilon)
    for arm in (1, 3):
        count = int((answers == arm).sum())
        assert binomial_tail(count, RUNS, probability=0.5) >= FALSE_ALARM / 2
