"""Arrays on the device that every way of running trials there needs."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda

from devote.kernels.tables import Arena
from devote.problems import Uniform
from devote.simulate.engine.gpu.lane import Lane
from devote.simulate.engine.gpu.tables import Setting
from devote.simulate.engine.gpu.target import simulated
from devote.simulate.scenario import Scenario
from devote.simulate.streams import NAMES, trial_keys

ALIGNED = 256
"""Bytes: an array begins at a multiple."""


@dataclass(frozen=True)
class Room:
    """In place of an array that is filled on the device."""

    shape: tuple[int, ...]
    dtype: Any

    @property
    def nbytes(self) -> int:
        """What it takes."""
        return math.prod(self.shape) * int(np.dtype(self.dtype).itemsize)


def on_device(things: Any, lane: Lane) -> Any:
    """The same tuples, with arrays of the device in place of arrays and of rooms.

    They lie in one piece of memory, filled by one copy: one by one, they would each take most of a
    millisecond while the device is at work.
    """
    if simulated():
        return _replaced(things, _simulated_array)
    leaves = list(_leaves(things))
    leaves.sort(key=lambda leaf: isinstance(leaf, Room))
    places, end, filled = {}, 0, 0
    for leaf in leaves:
        places[id(leaf)] = end
        end += -(-leaf.nbytes // ALIGNED) * ALIGNED
        if not isinstance(leaf, Room):
            filled = end
    memory = lane.memory(max(end, ALIGNED))
    image = np.empty(filled, np.uint8)
    for leaf in leaves:
        if not isinstance(leaf, Room):
            begin = places[id(leaf)]
            part = image[begin : begin + leaf.nbytes]
            part.view(leaf.dtype).reshape(leaf.shape)[...] = leaf
    if filled:
        memory[:filled].copy_to_device(image, stream=lane.stream)
    start = memory.device_ctypes_pointer.value

    def view(leaf: Any) -> Any:
        interface = {
            "shape": leaf.shape,
            "typestr": np.dtype(leaf.dtype).str,
            "data": (start + places[id(leaf)], False),
            "version": 3,
        }
        return cuda.from_cuda_array_interface(interface, owner=memory)

    return _replaced(things, view)


def _simulated_array(leaf: Any) -> Any:
    if isinstance(leaf, Room):
        return cuda.device_array(leaf.shape, leaf.dtype)
    return cuda.to_device(np.array(leaf))


def _leaves(things: Any) -> Iterator[Any]:
    if isinstance(things, tuple):
        for thing in things:
            yield from _leaves(thing)
    elif isinstance(things, np.ndarray | Room):
        yield things


def _replaced(things: Any, by: Any) -> Any:
    if isinstance(things, tuple):
        new = [_replaced(thing, by) for thing in things]
        return type(things)(*new) if hasattr(things, "_fields") else tuple(new)
    return by(things) if isinstance(things, np.ndarray | Room) else things


def repeated(values: Any, n_trials: int) -> Any:
    """A copy for each trial."""
    return np.broadcast_to(values, (n_trials, *values.shape))


def waking_of(scenario: Scenario) -> tuple[Any, Any]:
    """The table from which it is drawn who wakes; one row where all wake equally often."""
    uniform = isinstance(scenario.problem.activity, Uniform)
    table = ([1.0], [0]) if uniform else scenario.problem.waking(scenario.n_players)
    return np.array(table[0]), np.array(table[1])


def stream_keys(scenario: Scenario, seed: int, trials: Sequence[int]) -> Any:
    """The keys of the streams of each trial, see ``in_order.WAKE``; of noise where it is drawn."""
    names = (*NAMES, "noise") if scenario.scheme.noisy else NAMES
    return np.stack([trial_keys(seed, trials, name) for name in names], axis=1)


def setting_of(scenario: Scenario, arena: Arena) -> Setting:
    """What is the same in all trials."""
    return Setting(
        epsilon=arena.epsilon,
        endless=arena.endless,
        steady=arena.steady,
        scheme=arena.scheme,
        noisy=int(scenario.scheme.noisy),
        horizon=scenario.horizon or 0,
        good=arena.good,
        events=arena.events,
        shared=arena.shared,
    )
