"""The long comparison of the engines: every subroutine in every scheme, exactly and in law.

``make clocks`` runs it. *Exactly*: a run on independent clocks is the run of the event loop that
is fed with the merged clocks, to the last vote (``tests/reference/merged_clocks.py``), so only
the clocks themselves are left to doubt. *In law*: means, spreads and frequencies of trials with
other numbers agree, of each pair at N = 256 and in one other of ``PLACES``, by turns. All tests
together raise a false alarm with probability below 1e-6. Trials are made until a change of the
mean of the samples by the share ``--shift`` is found with probability .999; what was reached is
printed.
"""

import argparse
import math
import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from dataclasses import replace
from itertools import product

import numpy as np
import scipy
from tests.reference.merged_clocks import merged_run
from tests.simulate.settings import MEANS, PROBLEMS, small_setting

from devote.kernels import SUBROUTINES
from devote.kernels.registry import ALGORITHMS
from devote.problems import Problem, Split, Uniform, Zipf
from devote.protocol import SpecError
from devote.simulate.engine.clocks_run import ClocksRun
from devote.simulate.engine.outcomes import block_of
from devote.simulate.engine.run import Run

STILL = [name for name in PROBLEMS if name not in ("drift", "switches", "replay")]
SCHEMES = ("decentralized", "isolated", "jury", "private jury", "pooled", "survey")
ENDING = ("jury", "private jury", "survey")
"""These take no subroutine that never ends."""

JURY = {"name": "jury", "seats": 7, "seat_after": 5}
LONG = {"naive": 240, "successive_elimination": 400, "median_elimination": 2_800}
"""When private jurors of these subroutines pick; those of the others after 160 plays."""

CELLS = 420
"""At most are compared in law; each may raise a false alarm with probability 1e-6 / CELLS."""

POWER = 0.999
PIECE = 64
"""Trials that a process makes at once, and the first of a cell."""

CLOSE = Problem("close", (0.7, 0.7, 0.6, 0.1))


def setting(algorithm, scheme, problem, n_players, votes=3):
    """A small setting of any scheme, named clocks."""
    base = scheme if scheme in ("isolated", "pooled") else "decentralized"
    chosen = small_setting(algorithm, base, problem, n_players=n_players, votes=votes)
    if "jury" in scheme:
        private = {"privacy": 6.0, "vote_after": LONG.get(algorithm, 160)}
        given = JURY | (private if scheme == "private jury" else {})
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


NUMBERS = ("samples", "samples_to_decision", "broadcasts", "suboptimal_plays", "conflicts")
MOST_TESTS = 2 * (len(NUMBERS) + len(MEANS)) + 1
"""A mean and a distribution for each number and each arm's votes, and the endings."""


def finished(scenario, trial):
    """A run to its end; where every pull concerns all, clocks are merged in the event loop."""
    if scenario.engine == "clocks" and scenario.scheme.engine.clocks is not None:
        run = ClocksRun(scenario, seed=1, trial=trial)
        run.play()
        return run
    run = Run(scenario, seed=1, trial=trial)
    while not run.over:
        run.advance()
    return run


def measure(scenario, trials):
    """What is compared of some trials: their numbers, votes per arm among them, and endings."""
    runs = [finished(scenario, trial).close() for trial in trials]
    block = block_of(scenario, runs)
    votes = np.array([run.tally for run in runs]).T
    columns = np.array([getattr(block, name) for name in NUMBERS], float)
    endings = Counter(zip(block.status, block.winners, strict=True))
    return np.concatenate([columns, votes]), endings


def standard_error(a, b):
    """Of the difference of two means."""
    return math.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))


def found_shift(a, b):
    """The relative change of a mean that is found with POWER at the level of a cell's tests."""
    level = 1e-6 / CELLS / MOST_TESTS
    reach = scipy.stats.norm.isf(level / 2) + scipy.stats.norm.isf(1.0 - POWER)
    return reach * standard_error(a, b) / b.mean()


def in_law(scenario, *, shift=0.01, at_most=20_000, each=map):
    """Compare trials of both engines; how many, the lowest p-value, and the shift that is found.

    When to stop depends on the spread of the samples alone, so it favours neither answer.
    ``each(measure, scenarios, trials)`` does what ``map`` does, perhaps in other processes.
    """
    engines = scenario, replace(scenario, engine="event")
    columns, counts = [[], []], [Counter(), Counter()]
    made, trials, found = 0, PIECE, math.inf
    while made < trials:
        pieces = [range(i, min(i + PIECE, trials)) for i in range(made, trials, PIECE)]
        for one, count, engine in zip(columns, counts, engines, strict=True):
            for numbers, endings in each(measure, [engine] * len(pieces), pieces):
                one.append(numbers)
                count.update(endings)
        samples = [np.concatenate([numbers[0] for numbers in one]) for one in columns]
        made, found = trials, found_shift(*samples)
        if found > shift:
            trials = min(math.ceil(1.02 * trials * (found / shift) ** 2), at_most)
    values = [1.0]
    for a, b in zip(*(np.concatenate(one, axis=1) for one in columns), strict=True):
        if np.ptp(a) or np.ptp(b):
            away = abs(a.mean() - b.mean()) / standard_error(a, b)
            values += [
                2.0 * scipy.stats.norm.sf(away),
                scipy.stats.ks_2samp(a, b, method="asymp").pvalue,
            ]
        else:
            assert a[0] == b[0], scenario
    often = [ending for ending, n in (counts[0] + counts[1]).items() if n >= 20]
    if len(often) > 1:
        table = [[count[ending] for ending in often] for count in counts]
        values.append(scipy.stats.chi2_contingency(table).pvalue)
    assert min(values) > 1e-6 / CELLS / MOST_TESTS, (scenario, min(values))
    return made, min(values), found


PLAIN = Problem("plain", MEANS)
PLACES = {
    "N = 256": (PLAIN, 256, 64),
    "N = 32": (PLAIN, 32, 8),
    "N = 1,024": (PLAIN, 1024, 256),
    "N = 4,096": (PLAIN, 4096, 1024),
    "split": (Problem("split", MEANS, activity=Split()), 256, 64),
    "zipf": (Problem("zipf", MEANS, activity=Zipf(1.1)), 256, 64),
    "ties": (CLOSE, 32, 24),
}
"""A problem, players, and votes that it takes. So many votes that ties stall."""

FEW = (32, 8)
"""Players, and votes, of a private jury where some are rarely active: how long its slowest juror
takes varies so much that half a million trials are needed."""


def places_of(i, pair):
    """Where a pair is compared: in one place that all have, and in one of the others in turn."""
    if pair == ("ser3", "decentralized"):
        return list(PLACES)
    common, *others = PLACES
    return [common, others[(i + i // len(SCHEMES)) % len(others)]]


def exactly_in(pair):
    """The exact comparison of a pair, as a line."""
    algorithm, scheme = pair
    if scheme in ("pooled", "survey"):
        return "(every pull concerns all: clocks are merged by the engine itself)"
    return str(exactly(algorithm, scheme, 2))


def compare_in(cell, **how):
    """One cell of the comparison in law, as a line."""
    algorithm, scheme, place = cell
    problem, n_players, votes = PLACES[place]
    if scheme == "private jury" and not isinstance(problem.activity, Uniform):
        n_players, votes = FEW
    try:
        scenario = setting(algorithm, scheme, problem, n_players, votes)
    except SpecError as error:  # a survey of so few devices
        return "no such scenario: " + str(error).partition("\n")[0]
    trials, lowest, found = in_law(scenario, **how)
    return f"{trials:7,} trials, lowest p {lowest:8.2g}, shift {100 * found:5.2f} %"


def tell(lines):
    """Print the line of each comparison as it ends."""
    cell_of = {line: cell for cell, line in lines.items()}
    for done in as_completed(cell_of):
        algorithm, scheme, place = (*cell_of[done], "exactly")[:3]
        print(f"{algorithm:22} {scheme:14} {place:10} {done.result()}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--algorithms", nargs="*", default=SUBROUTINES[:-1])
    parser.add_argument("--schemes", nargs="*", default=SCHEMES)
    parser.add_argument("--everywhere", action="store_true", help="in all places; takes hours")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--shift", type=float, default=0.01)
    parser.add_argument("--at-most", type=int, default=1_000_000, help="trials of a cell")
    options = parser.parse_args()
    pairs = [
        (algorithm, scheme)
        for algorithm, scheme in product(options.algorithms, options.schemes)
        if not (ALGORITHMS[algorithm].endless and scheme in ENDING)
    ]
    cells = [
        (*pair, place)
        for i, pair in enumerate(pairs)
        for place in (PLACES if options.everywhere else places_of(i, pair))
    ]
    assert len(cells) <= CELLS, len(cells)
    # Threads only wait: the trials of a few cells at a time are made by all processes.
    with ProcessPoolExecutor(options.workers) as workers, ThreadPoolExecutor(8) as threads:
        how = {"shift": options.shift, "at_most": options.at_most, "each": workers.map}
        tell({pair: workers.submit(exactly_in, pair) for pair in pairs})
        tell({cell: threads.submit(compare_in, cell, **how) for cell in cells})


if __name__ == "__main__":
    main()
