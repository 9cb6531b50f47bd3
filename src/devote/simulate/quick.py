"""A quick look at what a setting costs, bounded in time, with the pulls of each device.

It runs whole trials while time is left, at least one; the first is cut off if it alone takes
longer, and the look then says ``unfinished``. Each trial is the same as in ``simulate``.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from devote.simulate.cell import Cell, compile_loop
from devote.simulate.counting import ACTIVE, N_SHARED
from devote.simulate.run import Run
from devote.simulate.setting import Setting
from devote.simulate.streams import NAMES, numpy_stream
from devote.simulate.summary import spread
from devote.simulate.trial import STATUSES, Trial


@dataclass(frozen=True)
class QuickLook:
    """The trials that were run, and pulls per device: the mean over trials of each quantile.

    ``decided`` has the samples after which the vote had left one arm, for the trials where it
    did; what comes after is the wait for the last device to wake and hear of it.
    Where all players are one learner (``pooled``) devices are not told apart, and ``median``,
    ``p90`` and ``busiest`` are None.
    """

    asked: int
    runs: tuple[Trial, ...]
    decided: tuple[int, ...]
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

    @property
    def samples_to_decision(self) -> float | None:
        """Mean pulls until the vote has left one arm; None if it never did."""
        return float(np.mean(self.decided)) if self.decided else None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        status = [run.status for run in self.runs]
        return {
            "trials": len(self.runs),
            "trials_asked": self.asked,
            "unfinished": self.unfinished,
            "status": {name: status.count(name) for name in STATUSES},
            "samples": spread([run.samples for run in self.runs]),
            "decided": spread(self.decided) if self.decided else None,
            "per_device": {"median": self.median, "p90": self.p90, "busiest": self.busiest},
            "broadcasts": spread([run.broadcasts for run in self.runs]),
            "deliveries": spread([run.deliveries for run in self.runs]),
            "epsilon_optimal": float(np.mean([run.epsilon_optimal for run in self.runs])),
            "holds_epsilon_optimal": float(
                np.mean([run.holds_epsilon_optimal for run in self.runs])
            ),
        }


def look_quickly(
    setting: Setting, *, trials: int = 20, seed: int = 0, seconds: float = 5.0
) -> QuickLook:
    """Run up to ``trials`` trials, for about ``seconds`` at most, preparation left out."""
    compile_loop(Cell(setting.spec, setting.problem, setting.n_players, setting.protocol.name))
    deadline = float("inf")
    runs: list[Trial] = []
    decided: list[int] = []
    pulls: list[Any] = []
    for trial in range(trials):
        run = Run(setting, tracing=True)
        if not runs:
            # A million devices take a while to lay out: that is no time spent looking.
            deadline = time.monotonic() + seconds
        _advance(run, seed, trial, deadline)
        if runs and not run.over:
            break
        runs.append(run.outcome())
        if run.counters[N_SHARED] == 1:
            decided.append(_decision(run))
        if not setting.protocol.pools:
            pulls.append(run.tables.own[:, ACTIVE].copy())
        if time.monotonic() > deadline:
            break
    return QuickLook(trials, tuple(runs), tuple(decided), *_per_device(pulls))


def _decision(run: Run) -> int:
    """Samples after which one arm was shared: the last elimination of the trace."""
    return max(event.time for event in run.events if event.kind == "elimination") + 1


def _advance(run: Run, seed: int, trial: int, deadline: float) -> None:
    streams = [numpy_stream(seed, trial, name) for name in NAMES]
    while not run.over and time.monotonic() <= deadline:
        size = run.next_block()
        run.advance(*(stream.random(size) for stream in streams))


def _per_device(pulls: list[Any]) -> tuple[float | None, float | None, float | None]:
    if not pulls:
        return None, None, None
    quantiles = np.mean([np.quantile(own, (0.5, 0.9, 1.0)) for own in pulls], axis=0)
    median, p90, busiest = quantiles.tolist()
    return median, p90, busiest
