"""Pulls that every rule takes alone: the paper's problem 1, click rates, and ties of both.

Run ``python -m benchmarks.rules_on_clicks`` in the root of the repository; it takes a few minutes
and prints a table in Markdown. One learner has all rewards, which are bits, without noise.
``ser4`` is left out, because it never stops; ``worst_case``, because it errs on purpose. A rule
that takes very many pulls has fewer runs than others; each row tells its smallest number of runs.

The project's rules are set beside two that it does not ship. Both follow the idea of CTB-TT
(Azize, Jourdan, Al Marjani and Basu 2024, asymptotically optimal under local differential
privacy), without noise and with an epsilon: *top-two sampling*, of the empirical best arm or its
strongest challenger, until a likelihood ratio says that the best is no more than epsilon below any
other. The sampling is that of EB-TC-epsilon (Jourdan, Degenne and Kaufmann 2023), with the
likelihood ratio of Bernoulli rewards in place of Gaussian ones. They differ in when the ratio is
enough. The error is proved (``observe``), the number of pulls is measured.
"""

import argparse
import math
from collections.abc import MutableSequence
from dataclasses import dataclass

from devote import ExperimentSpec, Problem, Result, simulate
from devote.rules import COUNT, SUBROUTINES, Algorithm, Rule, State, register
from devote.rules.bernoulli_kl import divergence
from devote.rules.state import add, best_mean, keep_only, least_pulled, mean
from devote.theory import sample_lower_bound

DELTA = 0.05
SEED = 1
FEWEST_RUNS = 2
PULLS = 20_000_000
"""For each rule and problem: as many runs as make about so many pulls, and ``FEWEST_RUNS``."""

LEFT_OUT = ("ser4", "worst_case")


@dataclass(frozen=True)
class Setting:
    """What arms pay, and how close to the best will do."""

    name: str
    means: tuple[float, ...]
    epsilon: float


SETTINGS = (
    Setting("problem 1", (0.7, 0.5, 0.3, *[0.1] * 7), 0.25),
    Setting("ten tie at .5", (0.5,) * 10, 0.25),
    Setting("click rates", (0.05, 0.04, 0.03, 0.03), 0.005),
    Setting("four tie at .04", (0.04,) * 4, 0.005),
)

# Words of ``State.ints``: the empirical best arm and its challenger.
LEADER, CHALLENGER, N_INTS = 1, 2, 3

BASE = 0
"""Word of ``State.floats``: the part of a threshold that does not change; 0 before it is known."""

MIXTURE, KAUFMANN_KOOLEN = 0, 1
HALVINGS = 24
"""They leave less than 1e-7 of the cost."""

LN_PI = math.log(math.pi)
TWO_ZETA_2 = math.pi**2 / 3.0
LN_1_5 = math.log(1.5)


def cost(state: State, j: int, a: int, epsilon: float) -> float:
    """How unlikely the rewards of j and a are, if a is better by epsilon or more.

    The logarithm of a likelihood ratio: the least ``N_j d(m_j, x) + N_a d(m_a, x + epsilon)``,
    which is convex in x.
    """
    p, q = mean(state, j), mean(state, a)
    if q - p >= epsilon:
        return 0.0
    low, high = max(0.0, q - epsilon), min(p, 1.0 - epsilon)
    n, m = state.pulls[j], state.pulls[a]
    for _ in range(HALVINGS):
        x = (low + high) / 2.0
        y = x + epsilon
        if not (low < x < high and x > 0.0 and y < 1.0):
            break
        if n * (x - p) / (x * (1.0 - x)) + m * (y - q) / (y * (1.0 - y)) > 0.0:
            high = x
        else:
            low = x
    x = (low + high) / 2.0
    return n * divergence(p, x) + m * divergence(q, x + epsilon)


def regret(state: State, arm: int) -> float:
    """Logarithm of an arm's likelihood at its mean, over that of a mixture of all means.

    Source: the mixture of Krichevsky and Trofimov (1981), a Beta(1/2, 1/2) prior.
    """
    n = float(state.pulls[arm])
    ones = state.sums[arm]
    zeros = n - ones
    best = 0.0
    if ones > 0.0:
        best += ones * math.log(ones / n)
    if zeros > 0.0:
        best += zeros * math.log(zeros / n)
    mixed = math.lgamma(ones + 0.5) + math.lgamma(zeros + 0.5) - math.lgamma(n + 1.0) - LN_PI
    return best - mixed


def inverse(y: float) -> float:
    """The u of 1 or more with ``u - ln u = y``, by Newton's method."""
    u = y + math.log(y) + 1.0
    for _ in range(20):
        u -= (u - math.log(u) - y) * u / (u - 1.0)
    return u


def deviation(x: float) -> float:
    """T(x) of Kaufmann and Koolen (2021), Theorem 7."""
    y = (inverse(1.0 + x) + math.log(TWO_ZETA_2)) / 2.0
    if y >= 1.0 / LN_1_5 + math.log(LN_1_5):
        u = inverse(y)
        return 2.0 * math.exp(1.0 / u) * u
    return 3.0 * (y - math.log(LN_1_5))


def allowance(rule: Rule, state: State, arm: int) -> float:
    """What an arm adds to the threshold of a pair, for all the moments at which it may be met."""
    if rule.options[0] == MIXTURE:
        return regret(state, arm)
    return 3.0 * math.log(1.0 + math.log(float(state.pulls[arm])))


def base(rule: Rule) -> float:
    """The rest of the threshold."""
    evidence = math.log((rule.n_arms - 1) / rule.eta)
    return evidence if rule.options[0] == MIXTURE else 2.0 * deviation(evidence / 2.0)


def choose(rule: Rule, state: State, u: float) -> int:
    """Each arm once; then the leader or its challenger, with equal chances."""
    arm = least_pulled(state)
    if state.ints[COUNT] == 1 or state.pulls[arm] == 0:
        return arm
    arm = state.ints[LEADER] if u < 0.5 else state.ints[CHALLENGER]
    return arm if state.alive[arm] else least_pulled(state)


def observe(rule: Rule, state: State, arm: int, reward: float, out: MutableSequence[int]) -> int:
    """Find leader and challenger; stop if the leader is within epsilon of every other arm.

    Proof of the error, for bits and however arms are chosen. Let a be the best arm, j a leader that
    is not epsilon-optimal. The cost of j against a is at most ``N_j d(m_j, mu_j) + N_a d(m_a,
    mu_a)``. For the mixture that sum, less the two regrets, is the logarithm of a martingale that
    starts at 1, so it ever reaches ln((K-1)/eta) with probability at most eta/(K-1) (Ville). For
    the other threshold this is Theorem 7 of Kaufmann and Koolen (2021). There are K - 1 such j.
    """
    add(state, arm, reward)
    if state.ints[COUNT] == 1 or state.pulls[least_pulled(state)] == 0:
        return 0
    if state.floats[BASE] == 0.0:
        state.floats[BASE] = base(rule)
    leader = best_mean(state)
    challenger = -1
    lowest = math.inf
    for k in range(len(state.alive)):
        if state.alive[k] and k != leader:
            value = cost(state, leader, k, rule.epsilon)
            if value < lowest:
                lowest = value
                challenger = k
    state.ints[LEADER] = leader
    state.ints[CHALLENGER] = challenger
    if lowest < state.floats[BASE]:
        return 0
    needed = state.floats[BASE] + allowance(rule, state, leader)
    if lowest < needed + allowance(rule, state, challenger):
        return 0
    for k in range(len(state.alive)):
        is_other = state.alive[k] and k != leader
        if is_other and cost(state, leader, k, rule.epsilon) < needed + allowance(rule, state, k):
            return 0
    return keep_only(state, leader, out)


TOP_TWO = Algorithm(
    name="top_two",
    summary="the leader or its challenger, until a likelihood ratio of Bernoulli rewards is enough",
    source="Jourdan, Degenne and Kaufmann 2023; Kaufmann and Koolen 2021",
    options={"threshold": ("mixture", "kaufmann_koolen")},
    choose=choose,
    observe=observe,
    n_ints=lambda n_arms: N_INTS,
    n_floats=1,
)

CONTENDERS = (
    *((name, name, {}) for name in SUBROUTINES if name not in LEFT_OUT),
    ("top two, Kaufmann-Koolen", "top_two", {"threshold": "kaufmann_koolen"}),
    ("top two, mixture", "top_two", {}),
)
"""How a row is called, the rule, and its options."""


def measure(setting: Setting, rule: str, options: dict[str, str], pulls: int) -> Result:
    """As many runs as make about so many pulls, but at most 1,000."""
    spec = ExperimentSpec(
        arms=len(setting.means),
        algorithm=rule,
        options=options,
        epsilon=setting.epsilon,
        delta=DELTA,
        scheme="pooled",
    )
    problem = Problem(setting.name, list(setting.means))
    first = simulate(spec, problem, 1, trials=FEWEST_RUNS, seed=SEED)
    runs = min(1_000, int(pulls / first.samples.mean()))
    if runs <= FEWEST_RUNS:
        return first
    return simulate(spec, problem, 1, trials=runs, seed=SEED)


def cell(result: Result) -> str:
    """Mean pulls, their standard error, and wrong answers if there were any."""
    mean = result.samples.mean()
    error = result.samples.std(ddof=1) / math.sqrt(result.trials)
    wrong = int((~result.epsilon_optimal).sum())
    text = f"{mean:,.0f} ± {error:,.0f}"
    return text if wrong == 0 else f"{text} ({wrong} of {result.trials} wrong)"


def line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def main(pulls: int) -> None:
    register(TOP_TWO)
    print(line(["rule", *(setting.name for setting in SETTINGS), "runs, at least"]))
    print("|---|" + "---|" * (len(SETTINGS) + 1))
    for name, rule, options in CONTENDERS:
        found = [measure(setting, rule, options, pulls) for setting in SETTINGS]
        runs = min(result.trials for result in found)
        print(line([name, *map(cell, found), f"{runs:,}"]), flush=True)
    bounds = [
        sample_lower_bound(setting.means, epsilon=setting.epsilon, delta=DELTA)
        for setting in SETTINGS
    ]
    print(line(["no rule takes fewer than", *(f"{bound:,.0f}" for bound in bounds), ""]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pulls", type=int, default=PULLS, help="about so many for each cell")
    main(parser.parse_args().pulls)
