"""What a scenario costs, estimated by simulated runs within a limit of time.

Whole trials are run while time is left, at least one. The first is cut off if it alone takes
longer, and the estimate is then ``unfinished``. Each trial is the same as in ``simulate`` on the
engine ``event``.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from devote.plan.spread import spread_of
from devote.plan.summary import spread
from devote.simulator.run import Plan, Run
from devote.simulator.scenario import Scenario
from devote.simulator.trial import NEVER, STATUSES, Trial
from devote.simulator.trials import run_trial

SLOW = 50
"""A pull without a compiled loop counts as so many."""


@dataclass(frozen=True)
class CostEstimate:
    """The trials that were run, and pulls per device: the mean over trials of each quantile.

    ``median``, ``p90`` and ``busiest`` are None where devices are not told apart: where all
    players are one learner, and where the scheme has no compiled loop. ``cut_off``: time ran out
    within the first trial.
    """

    asked: int
    runs: tuple[Trial, ...]
    median: float | None = None
    p90: float | None = None
    busiest: float | None = None
    cut_off: bool = False

    @property
    def unfinished(self) -> bool:
        """Whether the first trial did not end: costs are then at least these."""
        return self.runs[0].status == "unfinished"

    @property
    def samples_until_all_know(self) -> float:
        """Mean pulls of all devices together."""
        return float(np.mean([run.samples_until_all_know for run in self.runs]))

    @property
    def decided(self) -> tuple[int, ...]:
        """Samples after which the group had one answer, for the trials where it did.

        What comes after is the wait for the last device to wake and hear of it.
        """
        return tuple(
            run.samples for run in self.runs if run.samples != NEVER and len(run.winners) == 1
        )

    @property
    def samples(self) -> float | None:
        """Mean pulls until the group has one answer; None if it never had."""
        return float(np.mean(self.decided)) if self.decided else None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        status = [run.status for run in self.runs]
        values: dict[str, Any] = {
            name: spread([getattr(run, name) for run in self.runs])
            for name in ("samples_until_all_know", "broadcasts", "deliveries")
        }
        for name in ("epsilon_optimal", "holds_epsilon_optimal"):
            values[name] = float(np.mean([getattr(run, name) for run in self.runs]))
        return {
            "trials": len(self.runs),
            "trials_asked": self.asked,
            "unfinished": self.unfinished,
            "status": {name: status.count(name) for name in STATUSES},
            "samples": spread(self.decided) if self.decided else None,
            "to_decision": spread_of(np.array(self.decided, dtype=np.float64)),
            "per_device": {"median": self.median, "p90": self.p90, "busiest": self.busiest},
            **values,
        }


def estimate_cost(
    scenario: Scenario,
    *,
    trials: int = 20,
    seed: int = 0,
    seconds: float = 5.0,
    pulls: float = math.inf,
    to_the_end: bool = True,
    progress: Callable[[int], None] | None = None,
) -> CostEstimate:
    """Run up to ``trials`` trials, for about ``seconds`` at most, preparation left out.

    With ``pulls`` for about so many pulls at most, too. Not ``to_the_end``: only until the group
    has its answer, not until everybody has heard of it.
    """
    if scenario.part is None:
        deadline = time.monotonic() + seconds
        runs = [run_trial(scenario, seed=seed, trial=0)]  # on the slow path it is not cut off
        while len(runs) < trials and time.monotonic() <= deadline:
            if SLOW * sum(run.samples_until_all_know for run in runs) > pulls:
                break
            runs.append(run_trial(scenario, seed=seed, trial=len(runs)))
            if progress:
                progress(len(runs))
        return CostEstimate(trials, tuple(runs))
    scenario = replace(scenario, engine="event")  # which can be looked at while it runs
    plan = Plan(scenario)
    loop = plan.loop
    Run(scenario, plan=plan, loop=loop).advance(1)  # compiles it
    deadline, runs, cut_off, made = float("inf"), [], False, 0
    quantiles: list[Any] = []
    for trial in range(trials):
        run = Run(scenario, seed=seed, trial=trial, plan=plan, loop=loop)
        if not runs:
            # A million devices take a while to lay out, which is not part of the estimate.
            deadline = time.monotonic() + seconds
        while not (is_over := run.over or (not to_the_end and run.group["decided"])):
            if time.monotonic() > deadline or made + run.samples > pulls:
                break
            run.advance()
        if runs and not is_over:
            break
        made += run.samples
        cut_off = not is_over
        runs.append(run.outcome())
        if not run.part.one_learner:
            quantiles.append(np.quantile(run.tables.players["active"], (0.5, 0.9, 1.0)))
        if progress:
            progress(len(runs))
        if time.monotonic() > deadline or made > pulls:
            break
    median, p90, busiest = np.mean(quantiles, axis=0).tolist() if quantiles else (None,) * 3
    return CostEstimate(trials, tuple(runs), median, p90, busiest, cut_off)
