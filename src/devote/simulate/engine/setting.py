"""What a run starts from, for every engine."""

from typing import Any

import numpy as np

from devote.kernels import State, tables
from devote.kernels.tables import Arena
from devote.problems import is_suboptimal
from devote.problems.rewards import Environment
from devote.simulate.scenario import Scenario
from devote.simulate.trial import NEVER


def environment_arrays(environment: Environment) -> Any:
    """The buffers behind ``pay`` as arrays."""
    buffers: dict[str, Any] = {
        name: np.array(values)
        for name, values in environment._asdict().items()
        if isinstance(values, list) and (name != "groups" or environment.n_groups > 1)
    }
    if environment.n_groups == 1:
        buffers["groups"] = np.zeros(1, dtype=np.int64)  # nobody asks whose group it is
    return environment._replace(**buffers)


def learner_buffers(scenario: Scenario, rows: int) -> Any:
    """Every learner's buffers, a row each."""
    fresh = scenario.algorithm.new_state(scenario.spec.n_arms)
    kinds: dict[str, Any] = {"alive": np.int8, "pulls": np.int32, "ints": np.int32}
    buffers: dict[str, Any] = {
        name: np.tile(np.array(values or [0.0], dtype=kinds.get(name, np.float64)), (rows, 1))
        for name, values in fresh._asdict().items()
    }
    return State(**buffers)


def good_arms(environment: Environment, epsilon: float) -> Any:
    """1 for each arm that is epsilon-optimal for the first player at first, else 0."""
    bad = [is_suboptimal(environment, epsilon, 0, 0, arm) for arm in range(environment.n_arms)]
    return 1 - np.array(bad, dtype=np.int64)


def new_arena(scenario: Scenario, environment: Environment, **given: Any) -> Arena:
    """The tables of a run that has not begun."""
    n, k = scenario.n_players, scenario.spec.n_arms
    engine = scenario.scheme.engine
    assert engine is not None
    epsilon = scenario.spec.epsilon
    steady = (
        environment.n_groups == 1 and environment.n_segments == 1 and not any(environment.slopes)
    )
    given = {
        "even": 1,
        "vast": 0,
        "tracing": 0,
        "recording": 0,
        "good": given["good"] if "good" in given else good_arms(environment, epsilon),
        "events": np.zeros((1, 5), dtype=np.int64),
        **given,
    }
    arena = Arena(
        n_players=n,
        epsilon=epsilon,
        endless=int(scenario.algorithm.endless),
        steady=int(steady),
        scheme=scenario.scheme.constants(scenario.spec, n),
        counters=np.zeros(tables.N_COUNTERS, dtype=np.int64),
        first_vote=np.full(n, NEVER, dtype=np.int32),
        tally=np.zeros(k, dtype=np.int64),
        by_arm=np.zeros((k, engine.arm_words), dtype=np.int64),
        shared=np.ones(k, dtype=np.int8),
        before=np.ones(k, dtype=np.int8),
        out=np.zeros(k, dtype=np.int32),
        arm_pulls=np.zeros(k, dtype=np.int64),
        player_pulls=np.zeros(n if given["recording"] else 1, dtype=np.int64),
        **given,
    )
    arena.counters[tables.N_SHARED] = k
    return arena
