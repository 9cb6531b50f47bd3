"""What ``simulate`` and section 5 take on a GPU, compiled, and whether trials equal the CPU's.

Run ``python -m benchmarks.gpu`` in the root of the repository on a machine with an NVIDIA GPU; it
takes some minutes, most of which compile. Each row of the first table is the shortest of five
whole calls on the paper's problem 1, each with a seed of its own. Section 5 is compiled meanwhile
in a process of its own, by two trials of each scenario, and timed when the rest is done.
"""

import multiprocessing
import time
from dataclasses import replace
from multiprocessing.synchronize import Event

from devote import ExperimentSpec, simulate
from devote.problems import get_problem
from devote.simulator import Scenario, run_sweep
from devote.simulator.gpu import run_on_device
from devote.simulator.trials import run_chunk
from devote.studies.reproduce import choose, plan, with_engine
from devote.studies.study import Settings

ROWS = (
    ("ser3", "isolated", 16_777_216, 1),
    ("ser3", "decentralized", 64, 1_000),
    ("ser3", "decentralized", 1_024, 1_000),
    ("ser3", "decentralized", 1_000_000, 1),
    ("mixture_elimination", "decentralized", 1_024, 1_000),
    ("betting", "decentralized", 1_024, 1_000),
    ("ser3", "jury", 1_024, 200),
    ("betting", "survey", 1_000, 1_000),
)
CALLS = 5
COMPARED = (
    *((rule, "decentralized") for rule in ("ser3", "ugapec", "kl_lucb", "median_elimination")),
    *(("ser3", scheme) for scheme in ("isolated", "jury")),
)
STUDIES = ("problem-1", "problem-2", "problem-3", "median-elimination", "radius-forms")
TRIALS = 1_000


def spec_of(rule: str, scheme: str) -> ExperimentSpec:
    return ExperimentSpec(arms=10, algorithm=rule, epsilon=0.25, delta=0.05, scheme=scheme)


def whole_calls() -> None:
    print("| rule | scheme | players | trials | first call | shortest call | samples per second |")
    print("|---|---|---|---|---|---|---|")
    for rule, scheme, n_players, trials in ROWS:
        times, samples = [], 0.0
        for seed in range(CALLS):
            began = time.perf_counter()
            how = {"trials": trials, "seed": seed}
            result = simulate(
                spec_of(rule, scheme), get_problem("1"), n_players, engine="cuda", **how
            )
            times.append(time.perf_counter() - began)
            samples = float(result.samples.sum())
        print(
            f"| {rule} | {scheme} | {n_players:,} | {trials:,} | {times[0]:.1f} s "
            f"| {1e3 * min(times):.1f} ms | {samples / min(times):.3g} |",
            flush=True,
        )


def against_the_cpu() -> None:
    """Logarithms may differ in the last bit, so that a trial may differ, though seldom."""
    for rule, scheme in COMPARED:
        scenario = Scenario(spec_of(rule, scheme), get_problem("2"), 256, engine="cuda")
        [(_, found)] = run_on_device(scenario, 5, range(20))
        expected = run_chunk(replace(scenario, engine="passes"), range(20), 5)
        same = sum(one == other for one, other in zip(found, expected, strict=True))
        print(f"{rule}, {scheme}: {same} of 20 trials are those of the CPU", flush=True)


def section_5(may_begin: Event) -> None:
    for trials in (2, TRIALS):
        planned = plan(choose(STUDIES), Settings(trials=trials))
        cells = [with_engine(scenario, "cuda") for scenario in planned]
        if trials == TRIALS:
            may_begin.wait()
        began = time.perf_counter()
        run_sweep(cells, trials=list(planned.values()), workers=1)
        seconds = time.perf_counter() - began
        print(f"section 5, {sum(planned.values()):,} trials: {seconds:.1f} s", flush=True)


def main() -> None:
    """Print the figures."""
    context = multiprocessing.get_context("spawn")
    may_begin = context.Event()
    beside = context.Process(target=section_5, args=(may_begin,))
    beside.start()
    whole_calls()
    against_the_cpu()
    may_begin.set()
    beside.join()


if __name__ == "__main__":
    main()
