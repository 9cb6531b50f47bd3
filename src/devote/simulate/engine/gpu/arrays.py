"""Arrays on the device that every way of running trials there needs."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numba import cuda

from devote.kernels.tables import Arena
from devote.problems import Uniform
from devote.problems.rewards import Environment
from devote.simulate.engine.gpu.tables import Setting
from devote.simulate.engine.setting import environment_arrays
from devote.simulate.scenario import Scenario
from devote.simulate.streams import NAMES, trial_key


def repeated(values: Any, n_trials: int) -> Any:
    """A copy for each trial."""
    return cuda.to_device(np.repeat(values[None], n_trials, axis=0))


def device_environment(plain: Environment) -> Any:
    """The buffers behind ``pay``."""
    arrays = environment_arrays(plain)
    return arrays._replace(
        **{
            name: cuda.to_device(value)
            for name, value in arrays._asdict().items()
            if isinstance(value, np.ndarray)
        }
    )


def device_waking(scenario: Scenario) -> tuple[Any, Any]:
    """The table from which it is drawn who wakes; one row where all wake equally often."""
    uniform = isinstance(scenario.problem.activity, Uniform)
    table = ([1.0], [0]) if uniform else scenario.problem.waking(scenario.n_players)
    return cuda.to_device(np.array(table[0])), cuda.to_device(np.array(table[1]))


@lru_cache(maxsize=64)
def _keys(seed: int, trials: Sequence[int], name: str) -> Any:
    """The key of one stream in each trial. Scenarios share them, and a hash takes its time."""
    return np.array([trial_key(seed, trial, name) for trial in trials], dtype=np.uint64)


def trial_keys(seed: int, trials: Sequence[int], *names: str) -> Any:
    """The key of the players' numbers in each trial, or those of some streams, a row a trial."""
    some = trials if isinstance(trials, range) else tuple(trials)
    if not names:
        return _keys(seed, some, "players")
    return np.stack([_keys(seed, some, name) for name in names], axis=1)


def stream_keys(seed: int, trials: Sequence[int]) -> Any:
    """The keys of the streams of each trial, see ``in_order.WAKE``."""
    return trial_keys(seed, trials, *NAMES, "noise")


def device_setting(scenario: Scenario, arena: Arena) -> Setting:
    """What is the same in all trials."""
    return Setting(
        epsilon=arena.epsilon,
        endless=arena.endless,
        steady=arena.steady,
        scheme=arena.scheme,
        noisy=int(scenario.scheme.noisy),
        horizon=scenario.horizon or 0,
        good=cuda.to_device(arena.good),
        events=cuda.to_device(arena.events),
        shared=cuda.to_device(arena.shared),
    )
