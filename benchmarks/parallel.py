"""How much faster two workers are than one, and what a start costs.

Run ``python -m benchmarks.parallel``. The ratio is of wall-clock times: run it on an idle
machine. One worker runs in this process; two are spawned, so their start is part of the time.
The processor time of both says what the ratio would be if nobody else used the machine.
"""

import argparse
import os
import subprocess
import sys
import time

from devote.problems import PROBLEMS
from devote.protocol import ExperimentSpec
from devote.simulator import Scenario, run_sweep

START = (
    "from devote.simulator import Scenario, run_sweep\n"
    "from devote.problems import PROBLEMS\n"
    "from devote.protocol import ExperimentSpec\n"
    "run_sweep([Scenario(ExperimentSpec(arms=10), PROBLEMS['1'], 32)], trials=1, workers=1)\n"
)


def spinning(seconds: float) -> float:
    """The share of a core that this process gets: 1 on an idle machine."""
    wall, cpu = time.perf_counter(), time.process_time()
    while time.perf_counter() - wall < seconds:
        pass
    return (time.process_time() - cpu) / (time.perf_counter() - wall)


def used() -> float:
    """Processor seconds of this process and of all its ended children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    scenario = Scenario(ExperimentSpec(arms=10, algorithm="ugapec"), PROBLEMS["1"], 1_024)
    run_sweep([scenario], trials=1, workers=1)
    wall = {1: float("inf"), 2: float("inf")}
    work = dict(wall)
    for _ in range(options.rounds):
        for workers in wall:
            begin, spent = time.perf_counter(), used()
            run_sweep([scenario], trials=options.trials, workers=workers)
            wall[workers] = min(wall[workers], time.perf_counter() - begin)
            work[workers] = min(work[workers], used() - spent)
    for workers in wall:
        print(f"{workers} workers: {wall[workers]:.2f} s, {work[workers]:.2f} s of processor time")
    print(f"ratio: {wall[1] / wall[2]:.2f} (this machine gives us {spinning(1.0):.0%} of a core)")
    print(f"by processor time, as on two idle cores: {2 * work[1] / work[2]:.2f}")
    begin = time.perf_counter()
    spent = used()
    subprocess.run([sys.executable, "-c", START], check=True)
    print(
        "second start of a simulation, from nothing to its result: "
        f"{time.perf_counter() - begin:.2f} s, {used() - spent:.2f} s of processor time"
    )


if __name__ == "__main__":
    main()
