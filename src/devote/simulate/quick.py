"""A quick look at what a setting costs, bounded in time, with the pulls of each device.

It runs whole trials while time is left, at least one; the first is cut off if it alone takes
longer, and the look then says ``unfinished``. Each trial is the same as in ``simulate``.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from devote.simulate.cell import Cell, compile_loop
from devote.simulate.counting import ACTIVE
from devote.simulate.run import Run
from devote.simulate.setting import Setting
from devote.simulate.streams import NAMES, numpy_stream
from devote.simulate.summary import spread
from devote.simulate.trial import STATUSES, Trial


@dataclass(frozen=True)
class QuickLook:
    """The trials that were run, and pulls per device: the mean over trials of each quantile.

    Where all players are one learner (``pooled``) devices are not told apart, and ``median``,
    ``p90`` and ``busiest`` are None.
    """

    asked: int
    runs: tuple[Trial, ...]
    median: float | None
    p90: float | None
    busiest: float | None

    @property
    def unfinished(self) -> bool:
        """Whether time ran out within the first trial: costs are then at least these."""
        return self.runs[0].status == "unfinished"

    @property
    def samples(self) -> float:
        """Mean pulls of all devices together."""
        return float(np.mean([run.samples for run in self.runs]))

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        status = [run.status for run in self.runs]
        return {
            "trials": len(self.runs),
            "trials_asked": self.asked,
            "unfinished": self.unfinished,
            "status": {name: status.count(name) for name in STATUSES},
            "samples": spread([run.samples for run in self.runs]),
            "per_device": {"median": self.median, "p90": self.p90, "busiest": self.busiest},
            "broadcasts": spread([run.broadcasts for run in self.runs]),
            "deliveries": spread([run.deliveries for run in self.runs]),
            "epsilon_optimal": float(np.mean([run.epsilon_optimal for run in self.runs])),
        }


def look_quickly(
    setting: Setting, *, trials: int = 20, seed: int = 0, seconds: float = 5.0
) -> QuickLook:
    """Run up to ``trials`` trials, for about ``seconds`` at most, compilation left out."""
    compile_loop(Cell(setting.spec, setting.problem, setting.n_players, setting.protocol.name))
    deadline = time.monotonic() + seconds
    runs: list[Trial] = []
    pulls: list[Any] = []
    for trial in range(trials):
        run = _run_until(setting, seed, trial, deadline)
        if runs and not run.over:
            break
        runs.append(run.outcome())
        if not setting.protocol.pools:
            pulls.append(run.tables.own[:, ACTIVE].copy())
        if time.monotonic() > deadline:
            break
    return QuickLook(trials, tuple(runs), *_per_device(pulls))


def _run_until(setting: Setting, seed: int, trial: int, deadline: float) -> Run:
    run = Run(setting)
    streams = [numpy_stream(seed, trial, name) for name in NAMES]
    while not run.over:
        size = run.next_block()
        run.advance(*(stream.random(size) for stream in streams))
        if time.monotonic() > deadline:
            break
    return run


def _per_device(pulls: list[Any]) -> tuple[float | None, float | None, float | None]:
    if not pulls:
        return None, None, None
    quantiles = np.mean([np.quantile(own, (0.5, 0.9, 1.0)) for own in pulls], axis=0)
    median, p90, busiest = quantiles.tolist()
    return median, p90, busiest
