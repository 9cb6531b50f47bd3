"""Arrays on the device that every way of running trials there needs."""

from typing import Any

import numpy as np
from numba import cuda

from devote.kernels.tables import Arena
from devote.problems.rewards import Environment
from devote.simulate.engine.gpu.tables import Setting
from devote.simulate.engine.setting import environment_arrays
from devote.simulate.scenario import Scenario


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
