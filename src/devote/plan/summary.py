"""The trials of a result in the few numbers that are asked for first."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from devote.plan.promises import case_of, failure_bounds
from devote.simulator.results import Result
from devote.simulator.trial import NEVER

T = TypeVar("T")


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

    ``votes_needed`` is the number of messages that decide on an arm, None where none do.
    ``samples`` is over the trials in which the group had an answer, None if none had.
    ``winners`` has the agreed arm of each trial, None where there is none, and ``winner_means``
    what it paid at the end of that trial. ``endings`` says how each trial ended, ``shared`` which
    arms were still shared then, the likeliest first: the answer of a stalled trial.
    ``epsilon_optimal`` is the fraction of trials whose answer's first arm is epsilon-optimal,
    ``holds_epsilon_optimal`` that of trials whose answer holds such an arm: see ``Goodness``.
    """
    scenario = result.scenario
    decided = result.samples[result.samples != NEVER]
    pulls = int(result.samples_until_all_know.sum())
    return {
        "spec": result.spec.to_dict(),
        "scheme": scenario.scheme.name,
        "sends": scenario.scheme.about.sends,
        "votes_needed": result.spec.votes_needed,
        "trials": result.trials,
        "samples_until_all_know": spread(result.samples_until_all_know),
        "samples": spread(decided) if decided.size else None,
        "broadcasts": spread(result.broadcasts),
        "deliveries": spread(result.deliveries),
        "status": result.status_counts(),
        "winners": list(result.answers),
        "winner_means": [
            None if arm is None else result.problem.values(result.n_players, int(samples))[arm]
            for arm, samples in zip(result.answers, result.samples_until_all_know, strict=True)
        ],
        "endings": list(result.status),
        "shared": [list(arms) for arms in result.winners],
        "epsilon_optimal": float(result.epsilon_optimal.mean()),
        "holds_epsilon_optimal": float(result.holds_epsilon_optimal.mean()),
        "conflicts": spread(result.conflicts),
        "wall_seconds": wall_seconds,
        "pulls_per_second": pulls / wall_seconds if wall_seconds > 0.0 else 0.0,
        "resets": spread(result.resets),
        "problem": result.problem.to_dict(),
        "n_players": result.n_players,
        "seed": result.seed,
        "horizon": result.horizon,
        "engine": result.engine,
        "failure": failure_bounds(scenario).to_dict(),
        "promises": [asdict(row) for row in scenario.scheme.guarantees(case_of(scenario)).promises],
    }


def winner_counts(answers: Iterable[int | None]) -> list[tuple[int, int]]:
    """How often each arm won, the most frequent first.

    >>> winner_counts([0, 1, None, 1])
    [(1, 2), (0, 1)]
    """
    return _most_frequent(arm for arm in answers if arm is not None)


def stalled_counts(
    shared: Iterable[Sequence[int]], statuses: Iterable[str]
) -> list[tuple[tuple[int, ...], int]]:
    """How often each set of arms was left by a stall, the most frequent first.

    >>> stalled_counts([[1, 0], [0, 1], [0]], ["stalled", "stalled", "agreed"])
    [((0, 1), 2)]
    """
    ended = zip(shared, statuses, strict=True)
    return _most_frequent(tuple(sorted(arms)) for arms, status in ended if status == "stalled")


def _most_frequent(values: Iterable[T]) -> list[tuple[T, int]]:
    counts: list[tuple[Any, int]] = list(Counter(values).items())
    return sorted(counts, key=lambda pair: (-pair[1], pair[0]))
