"""Run by ``test_cuda`` in a process of its own, in which plain Python stands in for a GPU.

Prints a line for each setting: its name, and ``equal`` if all trials equal those of the CPU.
"""

import sys
from dataclasses import replace
from operator import eq
from threading import Condition, Lock
from typing import Any

import numpy as np
from numba import cuda
from numba.cuda.simulator.kernel import BlockManager, BlockThread
from numba.cuda.simulator.kernelapi import FakeCUDAShared

from devote.problems import Problem
from devote.problems.activity import Weights
from devote.protocol import ExperimentSpec
from devote.schemes import make_scheme
from devote.simulate import Scenario, run_trial
from devote.simulate.engine.clocks import make_clocks
from devote.simulate.engine.clocks_run import ClocksRun
from devote.simulate.engine.gpu import batch as batches
from devote.simulate.engine.gpu import in_step, lone
from devote.simulate.engine.gpu.batch import Batch
from devote.simulate.engine.gpu.run import run_batches, run_jobs
from devote.simulate.engine.loop import make_loop
from devote.simulate.engine.run import Run

SEED = 3
MEANS = (1.0, 0.5, 0.0)
STEADY = Problem("steady", MEANS)
STEPS = Problem("steps", (1.0, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0))
DRIFTING = Problem("drifting", MEANS, drift=(0.0, -1e-3, 0.0))
WEIGHTS = Weights((4.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5))
UNEVEN = Problem("uneven", MEANS, activity=WEIGHTS)
DRIFTING_UNEVEN = Problem("both", MEANS, drift=(0.0, -1e-3, 0.0), activity=WEIGHTS)
SWITCHING = Problem("switching", MEANS, switches=((120, (0.0, 0.5, 1.0)),))
JURY = {"name": "jury", "seats": 4, "seat_after": 3}

SETTINGS = {
    "decentralized": ("decentralized", STEADY, 7, None),
    "several for each thread": ("decentralized", STEPS, 20, None),
    "one vote after another": ("decentralized", STEPS, 7, None),
    "uneven activity": ("decentralized", UNEVEN, 7, None),
    "cut at a horizon": ("decentralized", STEADY, 7, 150),
    "drifting rewards": ("decentralized", DRIFTING, 7, None),
    "drifting rewards, uneven activity": ("decentralized", DRIFTING_UNEVEN, 7, None),
    "drifting rewards, isolated": ("isolated", DRIFTING, 3, None),
    "drifting rewards, cut at a horizon": ("decentralized", DRIFTING, 7, 150),
    "drifting rewards, pooled": ("pooled", DRIFTING, 3, None),
    "switches and resets": ("decentralized", SWITCHING, 7, 400, "ser4", {"phi": 0.01}),
    "jury": (JURY, STEADY, 7, None),
    "isolated": ("isolated", STEADY, 3, None),
    "isolated, uneven activity": ("isolated", UNEVEN, 7, None),
    "pulls in one go": ("decentralized", STEADY, 7, None, "successive_elimination"),
    "one alone": ("isolated", STEADY, 1, None),
    "pooled": ("pooled", STEADY, 5, None),
}


def setting(
    scheme: object,
    problem: Problem,
    n_players: int,
    horizon: int | None,
    algorithm: str = "ser3",
    options: dict[str, float] | None = None,
) -> Scenario:
    spec = ExperimentSpec(
        arms=len(problem.means),
        epsilon=0.6,
        eta=0.5,
        delta=0.1,
        scheme=make_scheme(scheme),
        algorithm=algorithm,
        options=options or {},
    )
    return Scenario(spec, problem, n_players, horizon, engine="cuda")


def on_the_cpu(scenario: Scenario, trial: int) -> object:
    """The run that the device must make, by the engine that has the same numbers, not compiled."""
    parts = scenario.algorithm, scenario.scheme.engine, 0
    if scenario.own_clocks:
        on_clocks = ClocksRun(scenario, seed=SEED, trial=trial)
        on_clocks.work = make_clocks(*parts)
        on_clocks.play()
        return on_clocks.outcome()
    run = Run(scenario, seed=SEED, trial=trial)
    run.loop = make_loop(*parts)
    while not run.over:
        run.advance()
    return run.outcome()


class OneAtATime(dict[object, object]):
    """The simulator's shared arrays. Of two threads that ask at once, each would get its own."""

    def __init__(self) -> None:
        self.lock = Lock()

    def get(self, key: object, default: object = None) -> object:
        """The array; whoever finds none makes it, before others may ask."""
        self.lock.acquire()
        found = super().get(key, default)
        if found is not None:
            self.lock.release()
        return found

    def __setitem__(self, key: object, value: object) -> None:
        super().__setitem__(key, value)
        self.lock.release()


def shared_arrays(shared: Any, size: int) -> None:
    """In place of the initialiser of ``FakeCUDAShared``."""
    shared._allocations, shared._dynshared_size = OneAtATime(), size


class Together:
    """The threads of a block, which wait for each other; the simulator's would be asked in turn,
    without a pause, how far they are."""

    def __init__(self, n_threads: int) -> None:
        self.changed = Condition()
        self.running, self.waiting, self.times = n_threads, 0, 0
        self.failed = False

    def wait(self) -> None:
        """Until all who have not ended are here."""
        with self.changed:
            before = self.times
            self.waiting += 1
            self._go_on()
            self.changed.wait_for(lambda: self.times > before or self.failed)
            if self.failed:
                raise RuntimeError("another thread of the block has failed")

    def end(self, failed: bool) -> None:
        """One thread has ended."""
        with self.changed:
            self.running -= 1
            self.failed |= failed
            self._go_on()
            self.changed.notify_all()

    def _go_on(self) -> None:
        if self.waiting and self.waiting == self.running:
            self.waiting = 0
            self.times += 1
            self.changed.notify_all()


def run_block(manager: Any, grid_point: Any, *given: Any) -> None:
    """In place of ``BlockManager.run``."""
    places = list(np.ndindex(*manager._block_dim))
    manager.together = Together(len(places))

    def work() -> None:
        manager._f(*given)

    class Worker(BlockThread):  # type: ignore[misc]
        def run(self) -> None:
            super().run()
            manager.together.end(failed=self.exception is not None)

    threads = [Worker(work, manager, grid_point, place, manager._debug) for place in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    errors = [thread.exception for thread in threads if thread.exception]
    errors.sort(key=lambda error: isinstance(error[0], RuntimeError))
    if errors:
        raise errors[0][0].with_traceback(errors[0][1])


def is_line(lengths: list[int]) -> bool:
    """Whether each player that moves is run once, beside those who have as far to go."""
    line_up = in_step.make_line_up(2 * in_step.WARP)
    found: list[Any] = [None] * len(lengths)

    @cuda.jit
    def kernel(given: Any) -> None:
        me = cuda.threadIdx.x
        found[me] = line_up((int(given[me]), 10 + me, 20 + me, 0.5 * me))

    kernel[1, len(lengths)](np.array(lengths))
    moving = [(who, stretch) for who, stretch in found if stretch[0] > 0]
    coarse = max(0, max(lengths, default=0).bit_length() - 5)
    kinds = [stretch[0] - 1 >> coarse for _, stretch in moving]
    return (
        sorted(who for who, _ in moving) == [i for i, n in enumerate(lengths) if n > 0]
        and all(stretch == (lengths[who], 10 + who, 20 + who, 0.5 * who) for who, stretch in moving)
        and kinds == sorted(kinds)
        and found[: len(moving)] == moving
    )


def report(name: str, equal: bool) -> None:
    print(f"{name}: {'equal' if equal else 'DIFFERENT'}", flush=True)


def main() -> None:
    FakeCUDAShared.__init__ = shared_arrays
    BlockManager.run = run_block
    BlockThread.syncthreads = lambda thread: thread._manager.together.wait()
    batches.WARP = lone.THREADS = 4  # each thread of the device is one of Python's here
    for name, what in SETTINGS.items():
        scenario = setting(*what)
        [(trials, block)] = run_batches(scenario, seed=SEED, trials=[0, 2])
        report(name, all(map(eq, block, [on_the_cpu(scenario, trial) for trial in trials])))
        if name == "decentralized":
            report("a trial by itself", run_trial(scenario, seed=SEED, trial=2) == block[1])
    lines = [[3, 0, 1, 40, 1, 0], [0, 0, 0, 0], [5, 5, 5, 5], [0, 900, 1, 899, 30, 31, 2000, 0]]
    report("players in line", all(map(is_line, lines)))
    # A launch for each phase, where a trial takes two blocks, one, or a part of one.
    scenario = setting(*SETTINGS["decentralized"])
    runs = []
    for threads, warp in ((4, 4), (8, 4), (8, 8)):
        batches.WARP = warp
        batch = Batch(scenario, seed=SEED, trials=[1], threads=threads, whole=False)
        batch.play()
        runs += batch.outcomes()
    report("any number of threads", all(run == on_the_cpu(scenario, 1) for run in runs))
    # Several horizons: each run goes on where the last one stops.
    for name in ("switches and resets", "drifting rewards, cut at a horizon"):
        cells = [replace(setting(*SETTINGS[name]), horizon=horizon) for horizon in (130, 90, 400)]
        jobs = [(i, cell, [0, 2]) for i, cell in enumerate(cells)]
        found = {i: block for i, _, block in run_jobs(jobs, seed=SEED)}
        equal = all(
            found[i][0] == on_the_cpu(cell, 0) and found[i][1] == on_the_cpu(cell, 2)
            for i, cell in enumerate(cells)
        )
        report(f"{name}, several horizons", equal)
    # So too with windows that are shortened, since more is heard in them than there is room for.
    for name in ("cut at a horizon", "drifting rewards, cut at a horizon"):
        scenario = setting(*SETTINGS[name])
        batch = Batch(scenario, seed=SEED, trials=[1], threads=4, whole=False, crowd=2)
        batch.play()
        report(f"{name}, short windows", batch.outcomes()[0] == on_the_cpu(scenario, 1))


if __name__ == "__main__":
    sys.exit(main())
