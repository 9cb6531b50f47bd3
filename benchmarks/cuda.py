"""What the engine does on a GPU: lone players, and many devices together.

Run ``python -m benchmarks.cuda`` on a machine with an NVIDIA GPU. ``--players N`` lone players run
each subroutine to its end; ``--million`` runs one trial of a million devices. Times are on the
clock, after a first run that compiles; the device has ended its work when the clock is read.
"""

import argparse
import time

import numpy as np
from numba import cuda

from devote.problems import PROBLEMS
from devote.protocol import ExperimentSpec
from devote.schemes.isolated import lone_spec
from devote.simulate import Scenario
from devote.simulate.engine.gpu import lone as lone_players
from devote.simulate.engine.gpu.batch import Batch
from devote.simulate.engine.gpu.lone import LoneBatch
from devote.simulate.engine.gpu.target import check_device

SUBROUTINES = ("ser3", "ugapec", "kl_lucb", "mixture_elimination", "successive_elimination")
LONE = 1 << 24
MILLION = 1_000_000
ODD = np.uint64(0x9E3779B97F4A7C15)


def play(one: Batch | LoneBatch) -> float:
    cuda.synchronize()
    begin = time.perf_counter()
    one.play()
    cuda.synchronize()
    return time.perf_counter() - begin


def lone(algorithm: str, n_players: int) -> None:
    spec = lone_spec(ExperimentSpec(arms=10, algorithm=algorithm))
    scenario = Scenario(spec, PROBLEMS["1"], 1, engine="cuda")
    play(LoneBatch(scenario, trials=range(1024)))
    # Keys in place of hashes of names, which would take longer than all the rest.
    lone_players.trial_keys = lambda _, trials: np.arange(1, len(trials) + 1, dtype=np.uint64) * ODD  # type: ignore[assignment]
    one = LoneBatch(scenario, trials=range(n_players))
    took = [play(one) for _ in range(3)]
    pulls = one.counters.copy_to_host()[:, 0]
    error = pulls.std() / np.sqrt(len(pulls))
    print(
        f"{algorithm:24} {n_players:,} lone players: mean pulls {pulls.mean():.2f} +- {error:.2f}, "
        f"{min(took):.3f} s, {pulls.sum() / min(took):.2e} pulls per second",
        flush=True,
    )


def together(algorithm: str, n_players: int) -> None:
    spec = ExperimentSpec(arms=10, algorithm=algorithm)
    scenario = Scenario(spec, PROBLEMS["1"], n_players, engine="cuda")
    rows = []
    for _ in range(6):
        begin = time.perf_counter()
        one = Batch(scenario)
        cuda.synchronize()
        made = time.perf_counter() - begin
        ran = play(one)
        begin = time.perf_counter()
        [run] = one.outcomes()
        rows.append((ran, made, time.perf_counter() - begin))
    ran, made, told = min(rows[1:])
    print(
        f"{algorithm:24} {n_players:,} devices: {run.samples:,} pulls, {run.broadcasts} votes, "
        f"{run.status}; run {1e3 * ran:.1f} ms, arrays {1e3 * made:.1f} ms, "
        f"outcome {1e3 * told:.1f} ms",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--players", type=int, default=LONE)
    parser.add_argument("--million", action="store_true")
    options = parser.parse_args()
    check_device()
    if options.million:
        together("ser3", MILLION)
        return
    for algorithm in SUBROUTINES:
        lone(algorithm, options.players)


if __name__ == "__main__":
    main()
