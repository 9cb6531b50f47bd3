"""What Python costs beside an engine: section 5 with trials that are made up.

Run ``python -m benchmarks.columns --trials 1000``. In place of a GPU stands a function that fills
the tables of all trials of a scenario with numbers of the right size. The rest is what
``devote reproduce --engine cuda`` does: outcomes, judging, results files, claims and figures; then
once more from the files. Times are of the processor, without those of filling the tables and of
other processes, which save the figures where there are cores for it.
"""

import argparse
import importlib
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from devote.kernels import tables
from devote.simulate.block import Block
from devote.simulate.engine.outcomes import closed, outcomes_of
from devote.simulate.engine.setting import new_arena
from devote.simulate.scenario import Scenario
from devote.simulate.streams import trial_keys
from devote.simulate.sweep import results_file, sweep
from devote.simulate.votes import Votes
from devote.studies import Settings

whole: Any = importlib.import_module("devote.studies.reproduce")
VOTERS = 40
took: Counter[str] = Counter()
n_trials = 0


def timed(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, its time added to what was taken under this name."""

    def inner(*given: Any, **named: Any) -> Any:
        begin = time.process_time()
        try:
            return call(*given, **named)
        finally:
            took[name] += time.process_time() - begin  # type: ignore[assignment]

    return inner


def filled(scenario: Scenario, trials: int) -> tuple[dict[str, Any], Any]:
    """Tables as a device leaves them, trials last, and everybody's first vote."""
    n, k, scheme = scenario.n_players, scenario.spec.n_arms, scenario.scheme
    dice = np.random.default_rng(n)
    counters = np.zeros((tables.N_COUNTERS, trials), dtype=np.int64)
    counters[tables.TIME] = dice.integers(500, 2000, trials) * n
    sent = counters[tables.TIME] if scheme.name == "pooled" else 28 * (k - 1)
    counters[tables.BROADCASTS] = sent
    counters[tables.N_SHARED] = 1
    counters[tables.HOLDING] = counters[tables.OWN] = n
    shared = np.zeros((k, trials), dtype=np.int8)
    shared[dice.integers(0, 2, trials), np.arange(trials)] = 1
    first_vote = np.full((trials, n), -1, dtype=np.int32)
    if scheme.by_message:
        first_vote[:, :VOTERS] = dice.integers(1, 900, (trials, min(n, VOTERS)))
    by_arm = np.zeros((k, 1, trials), dtype=np.int64)
    tally = dice.integers(0, 29, (k, trials))
    columns = {"counters": counters, "shared": shared, "tally": tally, "by_arm": by_arm}
    return {**columns, "alive": shared[None]}, first_vote


def run_jobs(jobs: Sequence[Any], *, seed: int) -> Iterator[tuple[int, Sequence[int], Block]]:
    """In place of the device."""
    for i, scenario, trials in jobs:
        if len(trials):
            yield i, trials, run_job(scenario, seed, trials)


def run_job(scenario: Scenario, seed: int, trials: Sequence[int]) -> Block:
    """Made-up trials of one scenario."""
    global n_trials
    n_trials += len(trials)
    plain = scenario.problem.environment(scenario.n_players)
    fresh = new_arena(scenario, plain, alive=None, own=None, voted=None)
    columns, first_vote = timed("tables filled", filled)(scenario, len(trials))
    timed("keys of trials", trial_keys)(seed, trials)
    votes = timed("first votes", Votes.of)(first_vote)
    arena = closed(scenario, fresh._replace(**columns))
    block: Block = timed("outcomes and judging", outcomes_of)(scenario, arena, votes)
    return block


def show(name: str, settings: Settings, folder: Path) -> None:
    """Reproduce section 5, and print what it took."""
    took.clear()
    begin = time.process_time()
    whole.reproduce(settings=settings, out=folder, engine="cuda")
    total = time.process_time() - begin - took["tables filled"]
    took["all but claims and figures"] -= took.pop("tables filled", 0)
    print(f"{name}: {total:.2f} s, {n_trials:,} trials")
    for stage, seconds in took.most_common():
        print(f"  {stage:24} {seconds:6.2f} s {1e6 * seconds / n_trials:6.2f} us per trial")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    settings = Settings(trials=parser.parse_args().trials)
    whole.check_device = sweep.check_device = lambda: None
    vars(sweep).update(run_jobs=run_jobs)
    for stage, place, name in (
        ("files opened and read", results_file.ResultsFile, "__init__"),
        ("files written", results_file.ResultsFile, "add"),
        ("gathered", sweep, "gather"),
        ("all but claims and figures", whole, "run"),
    ):
        setattr(place, name, timed(stage, getattr(place, name)))
    with tempfile.TemporaryDirectory() as folder:
        show("run", settings, Path(folder))
        size = sum(path.stat().st_size for path in (Path(folder) / "results").iterdir())
        print(f"  results files: {size / n_trials:.0f} bytes per trial")
        show("again, from the files", settings, Path(folder))


if __name__ == "__main__":
    main()
