"""What each scheme finds where users have different best arms.

``python -m scripts.users_differ`` prints the table of docs/users_differ.md, in two minutes;
``--trials 20`` is a first look. Each scheme has its defaults, the survey privacy 4. All runs are
simulated with all their devices.
"""

from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from devote import simulate
from devote.problems import Problem, Split
from devote.protocol import ExperimentSpec, Scheme
from devote.schemes import Decentralized, Isolated, Jury, Pooled, Survey
from devote.simulator import Result
from devote.theory import clopper_pearson

SEGMENTS = ("first", "second")
SCHEMES: tuple[Scheme, ...] = (
    Decentralized(),
    Jury(),
    Survey(privacy=4.0),
    Pooled(),
    Isolated(),
    Survey(privacy=4.0, segments=SEGMENTS),
)
FIRST, SECOND = (0.8, 0.4, 0.4), (0.4, 0.8, 0.4)
"""What the arms pay each of two kinds of users."""

FEW = Problem(
    "16 of 64 users make 80 % of the plays, and differ from the rest",
    activity=Split(0.25, 0.8),
    groups=((0.25, FIRST), (0.75, SECOND)),
)
PROBLEMS = (
    (Problem("70 % of users are of the first kind", groups=(FIRST, SECOND), shares=(0.7, 0.3)),
     4_000),
    (Problem("half are of each kind", groups=(FIRST, SECOND), shares=(0.5, 0.5)), 4_000),
    (Problem("half of each kind, and a third arm is second best for both",
             groups=((0.8, 0.0, 0.6), (0.0, 0.8, 0.6)), shares=(0.5, 0.5)), 4_000),
    (replace(FEW, name="a quarter of users make 80 % of the plays, and are the first kind"), 4_000),
    (FEW, 64),
)  # fmt: skip


def spec_of(scheme: Scheme, n_arms: int) -> ExperimentSpec:
    """Its defaults, and an epsilon below all gaps."""
    return ExperimentSpec(arms=n_arms, epsilon=0.15, delta=0.05, scheme=scheme)


def ended_with(result: Result) -> str:
    """Which arms the runs ended with, the most frequent first."""
    if result.player_answers.size:
        return "each kind its own"
    named = {None: "none", 0: "first's", 1: "second's", 2: "third arm"}
    found = [named[answer] for answer in result.answers]
    names = sorted(set(found), key=lambda name: -found.count(name))
    return ", ".join(f"{name} {found.count(name)}" for name in names)


def users_served(result: Result) -> str:
    """The share of users who end with an arm that is epsilon-optimal for them, on average."""
    rows = result.rows("groups")
    players, good = (np.array([row[name] for row in rows]) for name in ("players", "good"))
    return f"{100 * float((players * good).sum() / players.sum()):.0f} %"


def row_of(scheme: Scheme, problem: Problem, n_players: int, trials: int) -> Sequence[str]:
    """One line of the table; all words where there are too few devices."""
    spec = spec_of(scheme, problem.n_arms)
    name = scheme.name + (" with segments" if scheme.sending.segments else "")
    if n_players < spec.scheme.fewest_players(spec):
        return name, "too few devices", "-", "-"
    result = simulate(spec, problem, n_players, trials=trials, seed=1, workers=1)
    stalled = result.status_counts()["agreed"] < trials and not result.player_answers.size
    low, high = clopper_pearson(int(result.epsilon_optimal.sum()), trials)
    right = f"{100 * result.epsilon_optimal.mean():.0f} % [{100 * low:.0f}, {100 * high:.0f}]"
    return name, ended_with(result) + (" (stalled)" if stalled else ""), right, users_served(result)


def main() -> None:
    """Print the table."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100)
    trials = parser.parse_args().trials
    print("| users | scheme | runs that end with | judged right | users served |")
    print("|---|---|---|---|---|")
    for problem, n_players in PROBLEMS:
        for scheme in SCHEMES:
            cells = row_of(scheme, problem, n_players, trials)
            print(f"| {problem.name}, N = {n_players:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
