"""What whole calls of ``simulate`` take on a GPU, loops compiled, on the paper's problem 1.

Run ``python -m benchmarks.gpu`` in the root of the repository on a machine with an NVIDIA GPU. Each
row is the shortest of five calls, each with a seed of its own.
"""

import time

from devote import ExperimentSpec, simulate
from devote.problems import get_problem

ROWS = (
    ("ser3", "decentralized", 64, 1_000),
    ("ser3", "decentralized", 1_024, 1_000),
    ("ser3", "decentralized", 1_000_000, 1),
    ("mixture_elimination", "decentralized", 1_024, 1_000),
    ("betting", "decentralized", 1_024, 1_000),
    ("ser3", "jury", 1_024, 200),
    ("betting", "survey", 1_000, 1_000),
    ("ser3", "isolated", 16_777_216, 1),
)
CALLS = 5


def main() -> None:
    """Print the table."""
    print("| rule | scheme | players | trials | first call | shortest call | samples per second |")
    print("|---|---|---|---|---|---|---|")
    for rule, scheme, n_players, trials in ROWS:
        spec = ExperimentSpec(arms=10, algorithm=rule, epsilon=0.25, delta=0.05, scheme=scheme)
        times, samples = [], 0.0
        for seed in range(CALLS):
            began = time.perf_counter()
            result = simulate(
                spec, get_problem("1"), n_players, trials=trials, seed=seed, engine="cuda"
            )
            times.append(time.perf_counter() - began)
            samples = float(result.samples.sum())
        print(
            f"| {rule} | {scheme} | {n_players:,} | {trials:,} | {times[0]:.1f} s "
            f"| {1e3 * min(times):.1f} ms | {samples / min(times):.3g} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
