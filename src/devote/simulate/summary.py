"""The trials of a result in the few numbers that are asked for first."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from devote.protocol import get_protocol
from devote.simulate.cell import Cell, compile_loop
from devote.simulate.promises import failure_bounds, promises
from devote.simulate.result import Result
from devote.simulate.setting import Setting
from devote.simulate.sweep import Progress, run_sweep


def run_timed(
    cell: Cell,
    *,
    trials: int = 20,
    seed: int = 0,
    workers: int | None = 1,
    progress: Progress | None = None,
) -> tuple[Result, float]:
    """The result of one cell and the seconds it took, compilation left out."""
    compile_loop(cell)
    begin = time.perf_counter()
    [result] = run_sweep([cell], trials=trials, seed=seed, workers=workers, progress=progress)
    return result, time.perf_counter() - begin


def spread(values: ArrayLike) -> dict[str, Any]:
    """Mean, standard deviation over trials, and the values themselves.

    >>> spread([1, 3])
    {'mean': 2.0, 'std': 1.4142135623730951, 'values': [1, 3]}
    """
    array = np.asarray(values)
    return {
        "mean": float(array.mean()),
        "std": float(array.std(ddof=1)) if array.size > 1 else 0.0,
        "values": array.tolist(),
    }


def summarise(result: Result, *, wall_seconds: float) -> dict[str, Any]:
    """The result as one JSON object.

    ``quorum`` is the number of votes that eliminate an arm, None where nobody votes;
    ``winners`` has the agreed arm of each trial, None where there is none, and ``winner_means``
    what it paid at the end of that trial. ``endings`` says how each trial ended, ``shared`` which
    arms were still shared then, the fewest votes first: the answer of a stalled trial.
    ``epsilon_optimal`` is the fraction of trials whose answer's first arm is epsilon-optimal,
    ``holds_epsilon_optimal`` that of trials whose answer holds such an arm: see ``Goodness``.
    """
    protocol = get_protocol(result.protocol)
    setting = _setting(result)
    pulls = int(result.samples.sum())
    return {
        "spec": result.spec.to_dict(),
        "quorum": protocol.votes_needed(result.spec) if protocol.votes else None,
        "trials": result.trials,
        "samples": spread(result.samples),
        "broadcasts": spread(result.broadcasts),
        "deliveries": spread(result.deliveries),
        "status": result.status_counts(),
        "winners": list(result.answers),
        "winner_means": _winner_means(result),
        "endings": list(result.status),
        "shared": [list(arms) for arms in result.winners],
        "epsilon_optimal": float(result.epsilon_optimal.mean()),
        "holds_epsilon_optimal": float(result.holds_epsilon_optimal.mean()),
        "conflicts": spread(result.conflicts),
        "wall_seconds": wall_seconds,
        "pulls_per_second": pulls / wall_seconds if wall_seconds > 0.0 else 0.0,
        "resets": spread(result.resets),
        "problem": result.problem.to_dict(),
        "players": result.n_players,
        "protocol": result.protocol,
        "seed": result.seed,
        "horizon": result.horizon,
        "failure": failure_bounds(setting).to_dict(),
        "promises": [promise.to_dict() for promise in promises(setting)],
    }


def _setting(result: Result) -> Setting:
    return Setting.of(
        result.spec, result.problem, result.n_players, result.protocol, result.horizon
    )


def _winner_means(result: Result) -> list[float | None]:
    """What the agreed arm paid at the end of each trial, on average over who wakes."""
    return [
        None if arm is None else result.problem.values(result.n_players, int(samples))[arm]
        for arm, samples in zip(result.answers, result.samples, strict=True)
    ]


def winner_counts(answers: Sequence[int | None]) -> list[tuple[int, int]]:
    """How often each arm won, the most frequent first.

    >>> winner_counts([0, 1, None, 1])
    [(1, 2), (0, 1)]
    """
    arms = [arm for arm in answers if arm is not None]
    counts = [(arm, arms.count(arm)) for arm in sorted(set(arms))]
    return sorted(counts, key=lambda pair: (-pair[1], pair[0]))


def stalled_counts(
    shared: Sequence[Sequence[int]], statuses: Sequence[str]
) -> list[tuple[tuple[int, ...], int]]:
    """How often each set of arms was left by a stall, the most frequent first.

    >>> stalled_counts([[1, 0], [0, 1], [0]], ["stalled", "stalled", "agreed"])
    [((0, 1), 2)]
    """
    left = [
        tuple(sorted(arms))
        for arms, status in zip(shared, statuses, strict=True)
        if status == "stalled"
    ]
    counts = [(arms, left.count(arms)) for arms in sorted(set(left))]
    return sorted(counts, key=lambda pair: (-pair[1], pair[0]))
