"""The long comparison of the engines: every subroutine in every scheme, exactly and in law.

``make clocks`` runs it. *Exactly*: a run on independent clocks is the run of the event loop that
is fed with the merged clocks, to the last vote (``tests/reference/merged_clocks.py``), so only
the clocks themselves are left to doubt. *In law*: means and frequencies of trials with other
numbers agree. All tests together raise a false alarm with probability below 1e-6; ``shift`` is
the relative change of the mean of the samples that is found with probability .999.
"""

import argparse
import math
import time
from collections import Counter
from dataclasses import replace

import numpy as np
from scipy import stats
from tests.reference.merged_clocks import merged_run
from tests.simulate.settings import MEANS, PROBLEMS, small_setting

from devote.kernels import SUBROUTINES
from devote.problems import Problem, Split, Zipf
from devote.simulate import run_trial
from devote.simulate.engine.clocks_run import ClocksRun

STILL = [name for name in PROBLEMS if name not in ("drift", "switches", "replay")]
SCHEMES = ("decentralized", "isolated", "jury", "private jury", "pooled", "survey")
JURY = {"name": "jury", "seats": 7, "seat_after": 5}
PRIVATE = {**JURY, "privacy": 6.0, "vote_after": 160}
TESTS = 400
"""At most; each may raise a false alarm with probability 1e-6 / TESTS."""

CLOSE = Problem("close", (0.7, 0.7, 0.6, 0.1))


def setting(algorithm, scheme, problem, n_players, votes=3):
    """A small setting of any scheme, named clocks."""
    base = scheme if scheme in ("isolated", "pooled") else "decentralized"
    chosen = small_setting(algorithm, base, problem, n_players=n_players, votes=votes)
    if "jury" in scheme:
        given = PRIVATE if scheme == "private jury" else JURY
        chosen = replace(chosen, spec=chosen.spec.with_(scheme=given, eta=0.2))
    if scheme == "survey":
        chosen = replace(chosen, spec=chosen.spec.with_(scheme={"name": "survey", "privacy": 2.0}))
    # What ends by itself is not cut short: many players need more than a small setting's pulls.
    horizon = chosen.horizon if n_players <= 20 or algorithm == "ser4" else None
    return replace(chosen, engine="clocks", horizon=horizon)


def outcome_and_votes(run):
    """What a run came to, and the messages about each arm."""
    arena = run.real if isinstance(run, ClocksRun) else run.arena
    return run.outcome(), arena.tally.tolist()


def compare_exactly(scenario, trial):
    """Run both ways; the outcome."""
    run = ClocksRun(scenario, trial=trial)
    run.play()
    found = outcome_and_votes(run)
    expected = outcome_and_votes(merged_run(scenario, trial=trial))
    assert found == expected, (scenario, trial, found, expected)
    return found[0]


def exactly(algorithm, scheme, trials):
    """Compare on every problem that stands still; how the runs ended."""
    seen = Counter()
    sizes = (8, 20) if "jury" in scheme else (4, 8, 20)
    for problem in [PROBLEMS[name] for name in STILL] + [CLOSE]:
        for n_players in (8,) if problem.name == "tied" else sizes:
            for trial in range(trials):
                run = compare_exactly(setting(algorithm, scheme, problem, n_players), trial)
                seen[run.status] += 1
    return dict(seen)


def standard_error(a, b):
    """Of the difference of two means."""
    return math.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))


def in_law(scenario, trials):
    """Compare trials of both engines; the lowest p-value, and the shift that is found."""
    by_engine = [
        [run_trial(replace(scenario, engine=e), seed=1, trial=t, threads=1) for t in range(trials)]
        for e in ("clocks", "event")
    ]
    values = []
    for name in ("samples", "samples_to_decision", "broadcasts", "suboptimal_plays", "conflicts"):
        a, b = (np.array([getattr(run, name) for run in runs], float) for runs in by_engine)
        if np.ptp(a) or np.ptp(b):
            away = abs(a.mean() - b.mean()) / standard_error(a, b)
            values += [2.0 * stats.norm.sf(away), stats.ks_2samp(a, b, method="asymp").pvalue]
        else:
            assert a[0] == b[0], name
    for name in ("status", "winners"):
        counts = [Counter(getattr(run, name) for run in runs) for runs in by_engine]
        often = [key for key, n in (counts[0] + counts[1]).items() if n >= 20]
        if len(often) > 1:
            table = [[count[key] for key in often] for count in counts]
            values.append(stats.chi2_contingency(table).pvalue)
    a, b = (np.array([run.samples for run in runs], float) for runs in by_engine)
    error = standard_error(a, b) / b.mean()
    lowest = min(values)
    assert lowest > 1e-6 / TESTS / len(values), (scenario, lowest)
    return lowest, (stats.norm.isf(0.5e-6 / TESTS) + stats.norm.isf(1e-3)) * error


PLAIN = Problem("plain", MEANS)
WIDE = {
    "N = 32": (PLAIN, 32, 8, 4000),
    "N = 1,024": (PLAIN, 1024, 256, 300),
    "N = 4,096": (PLAIN, 4096, 1024, 100),
    "split": (Problem("split", MEANS, activity=Split()), 256, 64, 1000),
    "zipf": (Problem("zipf", MEANS, activity=Zipf(1.1)), 256, 64, 1000),
    "ties, stalls": (CLOSE, 4, 3, 4000),
    "equal arms": (PROBLEMS["equal"], 32, 8, 1000),
}
"""More of SER3: a problem, players, votes, trials."""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--algorithms", nargs="*", default=SUBROUTINES[:-1])
    parser.add_argument("--schemes", nargs="*", default=SCHEMES)
    parser.add_argument("--trials", type=int, default=1000)
    options = parser.parse_args()
    for algorithm in options.algorithms:
        for scheme in options.schemes:
            begin = time.process_time()
            ends = {} if scheme in ("pooled", "survey") else exactly(algorithm, scheme, 2)
            lowest, shift = in_law(setting(algorithm, scheme, PLAIN, 256, 64), options.trials)
            print(
                f"{algorithm:22} {scheme:14} exactly {ends} | law: lowest p {lowest:.2g}, "
                f"shift {100 * shift:.2f} % | {time.process_time() - begin:.0f} s",
                flush=True,
            )
    for name, (problem, n_players, votes, trials) in WIDE.items():
        scenario = setting("ser3", "decentralized", problem, n_players, votes)
        lowest, shift = in_law(scenario, trials)
        print(f"ser3, {name}: lowest p {lowest:.2g}, shift {100 * shift:.2f} %", flush=True)


if __name__ == "__main__":
    main()
