"""Whole trials on independent clocks beside the event loop and the minimal honest loop.

Run ``python -m benchmarks.clocks``. Ratios are of processor times within one run, on one core,
the best of several rounds in which the three take turns. ``--million`` makes one trial of a
million players by each engine, ``--one N`` one trial of N players on clocks, each with its time
on the clock and its peak of memory; for a peak of its own give it a process of its own.
"""

import argparse
import resource
import time
from dataclasses import replace
from functools import partial

import numpy as np
from benchmarks.minimal import minimal
from benchmarks.timing import best

from devote.problems import PROBLEMS
from devote.protocol import ExperimentSpec
from devote.simulate import Scenario, run_trial
from devote.simulate.trials import compile_loop, run_chunk

PLAYERS = (64, 1_024, 65_536)
MILLION = 1_000_000


def scenario(algorithm: str, n_players: int, engine: str) -> Scenario:
    spec = ExperimentSpec(arms=10, algorithm=algorithm)
    return Scenario(spec, PROBLEMS["1"], n_players, engine=engine)


def side_by_side(algorithm: str, rounds: int) -> None:
    means = np.array(PROBLEMS["1"].means)
    print("ns per pull      N   clocks    event  minimal | event/clocks  clocks/minimal")
    for n_players in PLAYERS:
        chosen = scenario(algorithm, n_players, "clocks")
        event = replace(chosen, engine="event")
        trials = range(max(1, 20 * PLAYERS[0] // n_players))

        def whole(one: Scenario, some: range = trials) -> int:
            """Trials as ``simulate`` makes them; how many pulls."""
            return int(run_chunk(one, some, 0)[0].samples.sum())

        pulls = {"clocks": whole(chosen), "event": whole(event)}
        pulls["minimal"] = pulls["event"]
        few = pulls["event"] // len(trials)
        calls = {
            "clocks": partial(whole, chosen),
            "event": partial(whole, event),
            "minimal": lambda k=few, n=n_players, some=trials: [minimal(k, n, means) for _ in some],
        }
        took = best(calls, rounds if n_players < 10_000 else max(2, rounds // 3))
        ns = {name: 1e9 * seconds / pulls[name] for name, seconds in took.items()}
        print(
            f"{algorithm:10} {n_players:7,} {ns['clocks']:8.1f} {ns['event']:8.1f} "
            f"{ns['minimal']:8.1f} | {ns['event'] / ns['clocks']:12.2f} "
            f"{ns['clocks'] / ns['minimal']:15.2f}",
            flush=True,
        )


def once(algorithm: str, n_players: int, engine: str, threads: int | None) -> None:
    compile_loop(scenario(algorithm, n_players, engine))
    begin, wall = time.process_time(), time.perf_counter()
    run = run_trial(scenario(algorithm, n_players, engine), seed=0, trial=0, threads=threads)
    seconds, waited = time.process_time() - begin, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{engine:7} {n_players:11,} players: {run.samples:,} pulls, {run.status}, "
        f"{seconds:.2f} processor s, {waited:.2f} s on the clock, "
        f"{1e9 * seconds / run.samples:.1f} ns per pull, peak {peak:,.0f} MiB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--algorithm", default="ser3")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--one", type=int, metavar="N")
    parser.add_argument("--engine", default="clocks")
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    if options.one:
        once(options.algorithm, options.one, options.engine, options.threads)
    elif options.million:
        for engine in ("clocks", "event"):
            once(options.algorithm, MILLION, engine, options.threads)
    else:
        side_by_side(options.algorithm, options.rounds)


if __name__ == "__main__":
    main()
