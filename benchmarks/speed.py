"""Nanoseconds per pull against the minimal honest loop, and against players in pure Python.

Run ``python -m benchmarks.speed`` in the root of the repository. Ratios are of processor times
within one run, on one core, the best of several rounds. ``pull`` is the loop with the drawing
of its uniforms; ``trial`` adds setting up N players and gathering the outcome, divided by the
pulls of that trial, which at N = 64 are few.
"""

import argparse
from collections.abc import Callable

import numpy as np
from benchmarks.minimal import from_blocks, minimal
from benchmarks.timing import best, seconds

from devote.problems import PROBLEMS
from devote.protocol import ExperimentSpec
from devote.rules.algorithm import ALGORITHMS
from devote.simulator import Scenario, run_players, run_trial
from devote.simulator.passes_run import Passes
from devote.simulator.run import Run

TARGETS = (("naive", 3.0), ("ser3", 2.5), ("ugapec", 10.0), ("kl_lucb", 80.0))
PLAYERS = (64, 1_024, 65_536)
PULLS = 3_000_000
"""At most, per measurement."""

TIMES_FASTER = 50.0
PYTHON_PULLS = 20_000


def scenario(algorithm: str, n_players: int, horizon: int) -> Scenario:
    options = {"phi": 1e-5} if ALGORITHMS[algorithm].endless else {}
    spec = ExperimentSpec(arms=10, algorithm=algorithm, options=options)
    return Scenario(spec, PROBLEMS["1"], n_players, horizon, "event")


def pulls_only(chosen: Scenario) -> float:
    """Processor seconds of a trial from its first uniform to its last pull."""
    run = Run(chosen)

    def play() -> None:
        while not run.over:
            run.advance()

    return seconds(play)


def trial(chosen: Scenario) -> Callable[[], object]:
    return lambda: run_trial(chosen, seed=0, trial=0)


def players(chosen: Scenario) -> Callable[[], object]:
    return lambda: run_players(
        chosen.spec, chosen.problem, chosen.n_players, horizon=chosen.horizon
    )


def against_the_minimal_loop(rounds: int) -> None:
    means = np.array(PROBLEMS["1"].means)

    def drawing(loop: Callable[..., None], pulls: int, n: int) -> Callable[[], object]:
        return lambda: loop(pulls, n, means)

    print(
        "ns per pull      N     pull    trial  minimal  blocks |  ratio  of trial  of blocks  goal"
    )
    for algorithm, target in TARGETS:
        for n_players in PLAYERS:
            chosen = scenario(algorithm, n_players, PULLS)
            pulls = run_trial(chosen, seed=0, trial=0).samples_until_all_know
            engine = float("inf")
            least: dict[str, float] = {}
            for _ in range(rounds):
                engine = min(engine, pulls_only(chosen))
                time = best(
                    {
                        "trial": trial(chosen),
                        "minimal": drawing(minimal, pulls, n_players),
                        "blocks": drawing(from_blocks, pulls, n_players),
                    },
                    1,
                )
                least = {name: min(t, least.get(name, t)) for name, t in time.items()}
            ns = {name: 1e9 * t / pulls for name, t in {"pull": engine, **least}.items()}
            ratio = ns["pull"] / ns["minimal"]
            print(
                f"{algorithm:10} {n_players:7,} {ns['pull']:8.1f} {ns['trial']:8.1f} "
                f"{ns['minimal']:8.1f} {ns['blocks']:7.1f} | {ratio:6.2f} "
                f"{ns['trial'] / ns['minimal']:9.2f} {ns['pull'] / ns['blocks']:10.2f} "
                f"{target:5.1f}{'' if ratio <= target else '  MISSED'}",
                flush=True,
            )


def against_pure_python(rounds: int) -> None:
    print("us per pull               engine   players    ratio  at least")
    for algorithm in ALGORITHMS:
        if algorithm == "worst_case":
            continue
        chosen = scenario(algorithm, 64, PYTHON_PULLS)
        pulls = run_trial(chosen, seed=0, trial=0).samples_until_all_know
        time = best({"engine": trial(chosen)}, 5 * rounds) | best({"players": players(chosen)}, 2)
        us = {name: 1e6 * t / pulls for name, t in time.items()}
        ratio = us["players"] / us["engine"]
        print(
            f"{algorithm:22} {us['engine']:9.4f} {us['players']:9.3f} {ratio:8.0f} "
            f"{TIMES_FASTER:9.0f}{'' if ratio >= TIMES_FASTER else '  MISSED'}",
            flush=True,
        )


def in_passes() -> None:
    """Players of SER3 on two threads, each row the better of two runs."""
    print("ns per sample, passes       N  ns  processor seconds")
    for scheme, n_players in (("decentralized", 1_000_000), ("isolated", 100_000)):
        spec = ExperimentSpec(arms=10, scheme=scheme)
        passes = Passes(Scenario(spec, PROBLEMS["1"], n_players, engine="passes"), 2)
        samples = passes.run(0, 0).group["time"]  # compiles
        time = best({scheme: lambda passes=passes: passes.run(0, 0)}, 2)[scheme]
        print(f"{scheme:15} {n_players:13,} {1e9 * time / samples:3.0f} {time:5.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", choices=("minimal", "python", "passes"))
    options = parser.parse_args()
    if options.only in (None, "minimal"):
        against_the_minimal_loop(options.rounds)
    if options.only in (None, "python"):
        against_pure_python(options.rounds)
    if options.only in (None, "passes"):
        in_passes()


if __name__ == "__main__":
    main()
