"""How much faster two workers are than one, and what a start costs.

Run ``python -m benchmarks.parallel``. Wall-clock times: run it on an idle machine. One worker
runs in this process; two are spawned, so their start is part of the time.
"""

import argparse
import subprocess
import sys
import time

from devote.problems import PROBLEMS
from devote.protocol import ExperimentSpec
from devote.simulate import Cell, run_sweep

START = (
    "from devote.simulate import Cell, run_sweep\n"
    "from devote.problems import PROBLEMS\n"
    "from devote.protocol import ExperimentSpec\n"
    "run_sweep([Cell(ExperimentSpec(arms=10), PROBLEMS['1'], 32)], trials=1, workers=1)\n"
)


def spinning(seconds: float) -> float:
    """The share of a core that this process gets: 1 on an idle machine."""
    wall, cpu = time.perf_counter(), time.process_time()
    while time.perf_counter() - wall < seconds:
        pass
    return (time.process_time() - cpu) / (time.perf_counter() - wall)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    cell = Cell(ExperimentSpec(arms=10, algorithm="ugapec"), PROBLEMS["1"], 1_024)
    run_sweep([cell], trials=1, workers=1)
    least = {1: float("inf"), 2: float("inf")}
    for _ in range(options.rounds):
        for workers in least:
            begin = time.perf_counter()
            run_sweep([cell], trials=options.trials, workers=workers)
            least[workers] = min(least[workers], time.perf_counter() - begin)
    for workers, taken in least.items():
        print(f"{workers} workers: {taken:.2f} s")
    print(f"ratio: {least[1] / least[2]:.2f} (a core to ourselves: {spinning(1.0):.0%})")
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", START], check=True)
    print(
        f"second start of a simulation, from nothing to its result: "
        f"{time.perf_counter() - begin:.2f} s"
    )


if __name__ == "__main__":
    main()
