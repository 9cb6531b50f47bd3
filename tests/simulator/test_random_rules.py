"""Rules that draw which arm to play, with several numbers from one: in every scheme and engine."""

import math

import pytest

from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.rules import COUNT, Algorithm
from devote.rules.algorithm import ALGORITHMS
from devote.rules.state import add, best_mean, keep_only, least_pulled, mean
from devote.rules.uniforms import below, split
from devote.schemes.lone import LONGEST, fewest_pulls
from devote.simulator import Scenario, check_algorithm, run_players, run_trial


def sample(state, k, u):
    """A draw from about the posterior of an arm's mean, and what is left of u."""
    total = -1.5
    for _ in range(3):
        drawn, u = split(u)
        total += drawn
    return mean(state, k) + total / math.sqrt(state.pulls[k]), u


def two_highest(state, u):
    """The arms with the highest samples, the second -1 if there is one arm."""
    first, second = -1, -1
    highest, next_highest = 0.0, 0.0
    for k in range(len(state.alive)):
        if state.alive[k]:
            drawn, u = sample(state, k, u)
            if first < 0 or drawn > highest:
                second, next_highest = first, highest
                first, highest = k, drawn
            elif second < 0 or drawn > next_highest:
                second, next_highest = k, drawn
    return first, second


def thompson(rule, state, u):
    arm = least_pulled(state)
    return arm if state.pulls[arm] == 0 else two_highest(state, u)[0]


def top_two(rule, state, u):
    arm = least_pulled(state)
    if state.pulls[arm] == 0:
        return arm
    coin, rest = below(2, u)
    first, second = two_highest(state, rest)
    return second if coin == 1 and second >= 0 else first


def observe(rule, state, arm, reward, out):
    """Keep the leader once it leads every other arm by both widths, less epsilon."""
    add(state, arm, reward)
    if state.ints[COUNT] == 1 or state.pulls[least_pulled(state)] == 0:
        return 0
    best = best_mean(state)
    for k in range(len(state.alive)):
        if state.alive[k] and k != best:
            width = 0.0
            for j in (best, k):
                pulls = float(state.pulls[j])
                level = math.log(4.0 * rule.n_arms * pulls * pulls / rule.eta)
                width += math.sqrt(level / (2.0 * pulls))
            if mean(state, best) - mean(state, k) + rule.epsilon < width:
                return 0
    return keep_only(state, best, out)


RULES = {"thompson": thompson, "top_two": top_two}
SCHEMES = {
    "decentralized": {"quorum": 3},
    "isolated": {},
    "jury": {"seats": 7, "seat_after": 5},
    "private jury": {"seats": 7, "seat_after": 5, "privacy": 6.0, "vote_after": 400},
    "survey": {"privacy": 8.0},
}
CASES = [("thompson", "survey"), *(("top_two", scheme) for scheme in SCHEMES)]


@pytest.fixture(autouse=True)
def known(monkeypatch):
    """The rules, as if from outside."""
    for name, choose in RULES.items():
        monkeypatch.setitem(ALGORITHMS, name, Algorithm(name, "", "", choose, observe))


@pytest.mark.parametrize("rule", RULES)
def test_such_a_rule_is_a_rule(rule):
    check_algorithm(rule, compiled=False)


@pytest.mark.parametrize(("rule", "scheme"), CASES)
def test_such_a_rule_ends_in_every_scheme_and_engines_agree(rule, scheme):
    """Preparation replays it alone, with random numbers: on constants it would never end."""
    given = {"name": scheme.split()[-1], **SCHEMES[scheme]}
    spec = ExperimentSpec(arms=3, algorithm=rule, epsilon=0.6, eta=0.2, scheme=given)
    assert 3 <= fewest_pulls(spec) < LONGEST
    n_players = max(8, 10 * spec.scheme.fewest_players(spec))
    assert n_players < 1_000
    problem = Problem("easy", (0.9, 0.2, 0.1))
    scenario = Scenario(spec, problem, n_players, engine="event")
    fast = run_trial(scenario, seed=1, trial=0, trace=True)
    slow = run_players(spec, problem, n_players, seed=1, trial=0, trace=True)
    assert fast == slow
    assert fast.status in ("agreed", "stalled")
    if scheme == "jury":
        passes = run_trial(Scenario(spec, problem, n_players, engine="passes"), seed=1, trial=0)
        assert passes.status == "agreed"
