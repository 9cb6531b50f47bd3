"""The same subroutine on lists, on arrays and compiled: it must do the same."""

import re
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.protocol.scheme import make_scheme
from devote.rules import Algorithm, State, start
from devote.rules.registry import ALGORITHMS
from devote.simulator.checking.faults import ALLOWED, call, fault
from devote.simulator.checking.play import EPSILON, ETA, PULLS, lose_an_arm
from devote.simulator.players import run_players
from devote.simulator.scenario import Scenario
from devote.simulator.trials import run_trial


def check_arrays(algorithm: Algorithm, sizes: tuple[int, ...]) -> None:
    """Lists and arrays give the same trajectories, and so do two runs on lists."""
    for n_arms in sizes:
        lists = algorithm.new_state(n_arms)
        first = _trajectory(algorithm, lists, [0] * n_arms)
        buffers: dict[str, Any] = {
            "alive": np.zeros(n_arms, np.int8),
            "pulls": np.zeros(n_arms, np.int32),
            "sums": np.zeros(n_arms),
            "ints": np.zeros(algorithm.n_ints(n_arms), np.int32),
            "floats": np.zeros(max(1, algorithm.n_floats)),
        }
        rows = State(**buffers)
        start(rows)
        with np.errstate(all="ignore"):
            second = _trajectory(algorithm, rows, np.zeros(n_arms, np.int32))
        again = _trajectory(algorithm, algorithm.new_state(n_arms), [0] * n_arms)
        for other, what, remedy in (
            (again, "when it runs again", "Keep all memory in state, all chance in u."),
            (second, "on arrays than on lists", "Write whole numbers to ints. " + ALLOWED),
        ):
            for pull, (one, two) in enumerate(zip(first, other, strict=True)):
                if one != two:
                    raise fault(
                        algorithm.observe,
                        f"pull {pull} does other things {what}: {two} instead of {one} "
                        "(the arm, and the arms dropped).",
                        remedy,
                    )


def _trajectory(algorithm: Algorithm, state: State, out: Any) -> list[tuple[int, list[int]]]:
    n_arms = len(state.alive)
    rule = algorithm.rule(n_arms=n_arms, epsilon=EPSILON, eta=ETA)
    rng = Random(n_arms)
    means = [rng.random() for _ in range(n_arms)]
    record = []
    for _ in range(PULLS):
        lose_an_arm(state, rng)
        arm = int(call(algorithm.choose, rule, state, rng.random()))
        reward = float(rng.random() < means[arm])
        n_out = int(call(algorithm.observe, rule, state, arm, reward, out))
        record.append((arm, [int(out[i]) for i in range(max(n_out, 0))]))
    return record


def check_compiled(algorithm: Algorithm) -> None:
    """The engine compiles it, and gives what player objects give."""
    before = ALGORITHMS.get(algorithm.name)
    ALGORITHMS[algorithm.name] = algorithm
    try:
        spec = ExperimentSpec(
            arms=3,
            algorithm=algorithm.name,
            epsilon=EPSILON,
            eta=ETA,
            scheme=make_scheme({"quorum": 3}),
        )
        scenario = Scenario(spec, Problem("check", (0.9, 0.5, 0.1)), 5, horizon=2_000)
        fast = _compiled_trial(algorithm, scenario)
        slow = run_players(spec, scenario.problem, 5, horizon=2_000, trace=True)
    finally:
        if before is None:
            del ALGORITHMS[algorithm.name]
        else:
            ALGORITHMS[algorithm.name] = before
    if fast != slow:
        raise fault(
            algorithm.observe,
            f"compiled, it made {fast.samples:,} pulls and {fast.broadcasts} votes where Python "
            f"makes {slow.samples:,} and {slow.broadcasts}.",
            "Do not rely on integers above 2**31, on negative indices or on division by zero.",
        )


def _compiled_trial(algorithm: Algorithm, scenario: Scenario) -> Any:
    from numba.core.errors import NumbaError

    try:
        return run_trial(scenario, seed=0, trial=0, trace=True)
    except NumbaError as error:
        text = str(error)
        line = 0
        for file, number in re.findall(r'File "([^"]+)", line (\d+)', text):
            if Path(file).name == Path(algorithm.observe.__code__.co_filename).name:
                line = int(number)
        first = next((one.strip() for one in text.splitlines() if one.strip()), "")
        raise fault(algorithm.observe, f"it cannot be compiled: {first}", ALLOWED, line) from error
