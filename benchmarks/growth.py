"""How time and memory of one trial in the event loop grow with players and arms, to a million.

Run ``python -m benchmarks.growth``. Each trial has a process of its own, so that its peak memory
is its own; a bare start of the engine is the first row.
"""

import argparse
import resource
import subprocess
import sys
import time

from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.simulator import Scenario, run_trial

PLAYERS = (1_000, 10_000, 100_000, 1_000_000)
ARMS = (2, 10, 30, 100)
PLAYERS_BY_ARMS = 10_000


def one(n_players: int, n_arms: int, algorithm: str) -> None:
    spec = ExperimentSpec(arms=n_arms, algorithm=algorithm)
    means = [0.7, 0.5, 0.3, *[0.1] * n_arms][:n_arms]
    problem = Problem("growth", means)
    run_trial(Scenario(spec, problem, 28, 1, "event"), seed=0, trial=0)
    chosen = Scenario(spec, problem, n_players, engine="event")
    begin, wall = time.process_time(), time.perf_counter()
    run = run_trial(chosen, seed=0, trial=0)
    seconds, waited = time.process_time() - begin, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{algorithm:8} {n_players:9,} {n_arms:5} {run.samples_until_all_know:13,} "
        f"{run.samples_until_all_know / n_players:9.0f} {run.broadcasts:7} "
        f"{seconds:9.2f} {waited:9.2f} "
        f"{1e9 * seconds / run.samples_until_all_know:9.1f} {peak:9.0f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=3, metavar=("PLAYERS", "ARMS", "ALGORITHM"))
    options = parser.parse_args()
    if options.one:
        one(int(options.one[0]), int(options.one[1]), options.one[2])
        return
    print(
        "           players  arms         pulls per player  votes  cpu sec.     sec.   ns/pull"
        "  peak MiB",
        flush=True,
    )
    cases = [(n, 10) for n in (28, *PLAYERS)] + [(PLAYERS_BY_ARMS, k) for k in ARMS]
    for n_players, n_arms in cases:
        command = [sys.executable, "-m", "benchmarks.growth", "--one"]
        subprocess.run([*command, str(n_players), str(n_arms), "ser3"], check=True)


if __name__ == "__main__":
    main()
