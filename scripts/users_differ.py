"""What each scheme finds where users have different best arms.

``python -m scripts.users_differ`` prints the table of docs/users_differ.md, in two minutes;
``--trials 5`` is a first look. Each scheme has its defaults, the survey privacy 4. All runs are
simulated with all their devices.
"""

from argparse import ArgumentParser
from dataclasses import replace

import numpy as np

from devote import simulate
from devote.problems import Problem, Split
from devote.protocol import ExperimentSpec, Scheme
from devote.schemes import Decentralized, Isolated, Jury, Pooled, Survey

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
    "the same quarter",
    activity=Split(0.25, 0.8),
    groups=((0.25, FIRST), (0.75, SECOND)),
)
PROBLEMS = (
    (Problem("70 % of the first kind", groups=(FIRST, SECOND), shares=(0.7, 0.3)),
     4_000),
    (Problem("half of each kind", groups=(FIRST, SECOND), shares=(0.5, 0.5)), 4_000),
    (Problem("half of each kind; a third arm is second best for both",
             groups=((0.8, 0.0, 0.6), (0.0, 0.8, 0.6)), shares=(0.5, 0.5)), 4_000),
    (replace(FEW, name="the first kind: a quarter, who make 80 % of the plays"), 4_000),
    (FEW, 64),
)  # fmt: skip


def spec_of(scheme: Scheme, n_arms: int) -> ExperimentSpec:
    """Its defaults, and an epsilon below all gaps."""
    return ExperimentSpec(arms=n_arms, epsilon=0.15, delta=0.05, scheme=scheme)


def cell(scheme: Scheme, problem: Problem, n_players: int, trials: int) -> str:
    """Whose best arm the runs ended with, and the share of users for whom that is good."""
    spec = spec_of(scheme, problem.n_arms)
    if n_players < spec.scheme.fewest_players(spec):
        return "too few devices"
    result = simulate(spec, problem, n_players, trials=trials, seed=1)
    if result.status_counts()["unfinished"] == trials:
        return "undecided"
    rows = result.rows("groups")
    players, good = (np.array([row[name] for row in rows]) for name in ("players", "good"))
    served = f"{100 * float((players * good).sum() / players.sum()):.0f} %"
    if result.player_answers.size:
        return f"each its own; {served}"
    named = {None: "none", 0: "first", 1: "second", 2: "third arm"}
    found = [named[answer] for answer in result.answers]
    names = sorted(set(found), key=lambda name: -found.count(name))
    return f"{', '.join(f'{name} {found.count(name)}' for name in names)}; {served}"


def main() -> None:
    """Print the table."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=40)
    trials = parser.parse_args().trials
    names = [one.name + (" with segments" if one.sending.segments else "") for one in SCHEMES]
    print(f"| users | {' | '.join(names)} |")
    print("|---" * (1 + len(names)) + "|")
    for problem, n_players in PROBLEMS:
        cells = [cell(scheme, problem, n_players, trials) for scheme in SCHEMES]
        print(f"| {problem.name}, N = {n_players:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
