"""Arrays on the device that every way of running trials there needs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import cuda

from devote.kernels.tables import Arena
from devote.problems import Uniform
from devote.problems.rewards import Environment
from devote.simulate.engine.gpu.tables import Setting
from devote.simulate.engine.setting import environment_arrays
from devote.simulate.scenario import Scenario
from devote.simulate.streams import NAMES, trial_keys


def repeated(values: Any, n_trials: int) -> Any:
    """A copy for each trial."""
    return cuda.to_device(np.repeat(values[None], n_trials, axis=0))


def last_first(values: Any) -> Any:
    """An array of the device here, its first axis, the trials, last."""
    return np.moveaxis(values.copy_to_host(), 0, -1)


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


def stream_keys(seed: int, trials: Sequence[int]) -> Any:
    """The keys of the streams of each trial, see ``in_order.WAKE``."""
    return np.stack([trial_keys(seed, trials, name) for name in (*NAMES, "noise")], axis=1)


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
