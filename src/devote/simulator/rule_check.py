"""Is a subroutine one? Everything that engines and devices rely on, checked in seconds.

In the manner of scikit-learn's ``check_estimator``: the first fault is raised, with the file and
line that it comes from and what to do about it. A rule plays random problems on lists that watch
every access, loses arms from outside meanwhile, and must do the same on lists, on arrays and
compiled. Compiled code checks no index: a write past the words that a rule asked for goes into
another player's memory. A whole number in an array stays one, whatever is written.
"""

import dis
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from types import FunctionType, ModuleType
from typing import Any

from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.protocol.scheme import make_scheme
from devote.rules import (
    COUNT,
    RESET,
    Algorithm,
    State,
    drop,
    get_algorithm,
    import_rules,
    start,
)
from devote.rules.algorithm import ALGORITHMS, AlgorithmError
from devote.simulator.scenario import PATIENCE, Scenario

SIZES, SEEDS = (2, 3, 6), 4
PULLS, EPSILON, ETA = 400, 0.3, 0.5
ALLOWED = "Use indexing, len, range, math and functions of this kind only."
OWN = {
    "ints": "Ask for more words: n_ints=lambda n_arms: ..., counting word 0, which is taken.",
    "floats": "Ask for more words: n_floats=...",
    "out": "Write each dropped arm once.",
}
"""What to do about an index past the end of these buffers."""


def check_algorithm(algorithm: Algorithm | str, *, compiled: bool = True) -> None:
    """Raise ``AlgorithmFault`` at the first fault of a subroutine; return if there is none.

    Give an ``Algorithm``, the name of a registered one, or a file that ends in .py and has one
    as ``ALGORITHM``. ``compiled=False`` leaves out the last check, which compiles it.

    >>> check_algorithm("ser3", compiled=False)
    """
    if isinstance(algorithm, str) and algorithm.endswith(".py"):
        algorithm = import_rules(algorithm).ALGORITHM
    found = get_algorithm(algorithm) if isinstance(algorithm, str) else algorithm
    if not isinstance(found, Algorithm):
        raise AlgorithmError(f"{found!r} is not an Algorithm.\nMake one: Algorithm(name=..., ...).")
    check_functions(found)
    for n_arms in SIZES:
        for seed in range(SEEDS):
            check_play(found, n_arms, Random(f"{seed}/{n_arms}"))
    check_last_arm(found)
    check_votes(found)
    check_arrays(found, SIZES)
    if compiled:
        check_compiled(found)


_passed: set[tuple[object, object, bool]] = set()
"""The code of the rules that have passed, and whether they must vote."""


def check_first(algorithm: Algorithm, *, must_vote: bool) -> None:
    """Play some pulls on watched buffers before a rule runs: compiled code checks no index.

    A rule that keeps all arms where one always pays and the others never do would run for ever
    without a horizon: it ``must_vote``. Rules of this package are left out, and so is code that has
    passed before.
    """
    code = algorithm.choose.__code__, algorithm.observe.__code__, must_vote
    if algorithm.observe.__module__.startswith("devote.") or code in _passed:
        return
    for n_arms in (2, 5):
        check_play(algorithm, n_arms, Random(n_arms))
    if must_vote:
        check_votes(algorithm)
    _passed.add(code)


class Broken(Exception):
    """A rule has been broken: what, and what to do about it."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.what, self.remedy = what, remedy


def _by_devote() -> bool:
    """Whether the assignment to a watched buffer that is under way stands in this package."""
    return str(sys._getframe(2).f_globals.get("__name__")).startswith("devote.")


class Watched(list[Any]):
    """One buffer of a state."""

    def __init__(self, name: str, values: list[Any]) -> None:
        super().__init__(values)
        self.name = name
        self.whole = name not in ("sums", "floats")

    def _check(self, verb: str, index: Any) -> None:
        if isinstance(index, bool) or not isinstance(index, int):
            raise Broken(
                f"{self.name}[{index!r}] is {verb}, and that is not a whole number.",
                "Index by whole numbers; no slices.",
            )
        if not 0 <= index < len(self):
            raise Broken(
                f"{self.name}[{index}] is {verb}, but {self.name} has {len(self)} words.",
                OWN.get(self.name, "Index by arm, from 0 on."),
            )

    def __getitem__(self, index: Any) -> Any:
        self._check("read", index)
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._check("written", index)
        if self.whole and not isinstance(value, int):
            raise Broken(
                f"{self.name}[{index}] is set to {value!r}, and an array would keep "
                f"{int(value)}: lists and arrays would differ.",
                "Keep such numbers in floats (n_floats=...), or make them whole with int().",
            )
        if self.name == "alive" and not value and sum(map(bool, self)) == 1 and self[index]:
            raise Broken(
                f"arm {index} is taken out, and it is the last one.",
                "Keep at least one arm: the best so far.",
            )
        if self.name == "ints" and index == COUNT and not _by_devote():
            raise Broken(
                f"word {COUNT} of ints is written, and it is the number of remaining arms.",
                "Use words from 1 on for your own, and take arms out with drop(state, arm).",
            )
        super().__setitem__(index, value)


def watched_state(algorithm: Algorithm, n_arms: int) -> State:
    """A fresh state of watched lists."""
    fresh = algorithm.new_state(n_arms)._asdict()
    state = State(**{name: Watched(name, list(values)) for name, values in fresh.items()})
    start(state)
    return state


class AlgorithmFault(AlgorithmError):
    """What is wrong with a subroutine; ``file`` and ``line`` say where."""

    def __init__(self, file: str, line: int, what: str, remedy: str) -> None:
        super().__init__(f"{Path(file).name}:{line}: {what}\n{remedy}")
        self.file, self.line = file, line


def fault(function: Callable[..., Any], what: str, remedy: str, line: int = 0) -> AlgorithmFault:
    """A fault of a function: at its first line, or at the one given."""
    code = inspect.unwrap(function).__code__
    return AlgorithmFault(code.co_filename, line or code.co_firstlineno, what, remedy)


def call(function: Any, *arguments: Any) -> Any:
    """Call a function of the rule; what goes wrong in it is a fault at its line."""
    try:
        return function(*arguments)
    except AlgorithmError:
        raise
    except Exception as error:
        file, line = function.__code__.co_filename, function.__code__.co_firstlineno
        step = error.__traceback__
        while step is not None:
            if step.tb_frame.f_code.co_filename == file:
                line = step.tb_lineno
            step = step.tb_next
        if isinstance(error, Broken):
            raise AlgorithmFault(file, line, error.what, error.remedy) from None
        what = f"{function.__name__} raised {type(error).__name__}: {error}."
        raise AlgorithmFault(file, line, what, ALLOWED) from error


def check_functions(algorithm: Algorithm) -> None:
    """Both functions take what they are given, and all they call can be compiled."""
    for function, takes in ((algorithm.choose, 3), (algorithm.observe, 5)):
        if not isinstance(function, FunctionType):
            raise AlgorithmError(f"{function!r} is not a plain function.\nWrite it with def.")
        given = function.__code__.co_argcount
        if given != takes:
            names = "rule, state, u" if takes == 3 else "rule, state, arm, reward, out"
            raise fault(
                function,
                f"{function.__name__} takes {given} arguments, not {takes}.",
                f"Write def {function.__name__}({names}).",
            )
    words = algorithm.n_ints(3)
    if not isinstance(words, int) or words < 1:
        raise fault(
            algorithm.observe,
            f"n_ints gives {words!r} words for 3 arms.",
            "Give at least 1: word 0 of ints is the number of remaining arms.",
        )
    for function in _reached(algorithm):
        _check_powers(function)


def _reached(algorithm: Algorithm) -> Iterator[FunctionType]:
    """The two functions and all plain functions that they call."""
    waiting: list[Any] = [algorithm.choose, algorithm.observe]
    seen = set()
    while waiting:
        function = waiting.pop(0)
        if function in seen:
            continue
        seen.add(function)
        yield function
        inner = dict(inspect.getclosurevars(function).nonlocals)
        names = function.__code__.co_names
        inner |= {name: function.__globals__.get(name) for name in names}
        for value in list(inner.values()):
            if isinstance(value, ModuleType):
                inner |= {f".{name}": getattr(value, name, None) for name in names}
        waiting += [value for value in inner.values() if isinstance(value, FunctionType)]


def _check_powers(function: FunctionType) -> None:
    """Refuse ``**`` in a function's bytecode."""
    for step in dis.get_instructions(function):
        if step.opname == "BINARY_OP" and step.argrepr in ("**", "**="):
            raise fault(
                function,
                f"{function.__name__} uses **, which compilers round in ways of their own.",
                "Multiply, or use math.sqrt or math.exp.",
                (step.positions and step.positions.lineno) or 0,
            )


def check_play(algorithm: Algorithm, n_arms: int, rng: Random) -> None:
    """On watched lists: only arms that remain are played, and what is dropped is reported."""
    rule = algorithm.rule(n_arms=n_arms, epsilon=EPSILON, eta=ETA)
    state, out = watched_state(algorithm, n_arms), Watched("out", [0] * n_arms)
    means = [rng.random() for _ in range(n_arms)]
    for _ in range(PULLS):
        lose_an_arm(state, rng)
        alive = alive_arms(state)
        before = [list(state.alive), list(state.pulls), list(state.sums)]
        arm = call(algorithm.choose, rule, state, rng.random())
        if arm not in alive:
            raise fault(
                algorithm.choose,
                f"choose returned {arm!r}, but the remaining arms are {sorted(alive)}.",
                "Look at state.alive each time: others may have voted an arm out.",
            )
        if [list(state.alive), list(state.pulls), list(state.sums)] != before:
            raise fault(
                algorithm.choose,
                "choose changed alive, pulls or sums.",
                "Change ints and floats only: a play may be abandoned before its reward.",
            )
        reward = float(rng.random() < means[arm])
        n_out = call(algorithm.observe, rule, state, arm, reward, out)
        if n_out == RESET and algorithm.endless:
            alive = set(range(n_arms))
        else:
            _check_reported(algorithm, n_out, list(out), alive, alive_arms(state))
        if state.ints[COUNT] != len(alive_arms(state)):
            raise fault(
                algorithm.observe,
                f"word 0 of ints is {state.ints[COUNT]}, but {len(alive_arms(state))} arms remain.",
                "Take arms out with drop(state, arm).",
            )


def _check_reported(
    algorithm: Algorithm, n_out: Any, out: list[int], alive: Any, left: Any
) -> None:
    """Whether ``observe`` wrote to ``out`` the arms that it took out, and returned how many."""
    gone = alive - left
    written = out[:n_out] if isinstance(n_out, int) and 0 <= n_out <= len(out) else None
    if written is None or len(written) != len(set(written)) or set(written) != gone:
        shown = f"returned {n_out!r}" if written is None else f"wrote {written}"
        raise fault(
            algorithm.observe,
            f"observe {shown}, but the arms it took out are {sorted(gone)}.",
            "Write each arm that you drop to out[0], out[1], ... and return how many.",
        )


def check_last_arm(algorithm: Algorithm) -> None:
    """One arm left is played for ever."""
    rule = algorithm.rule(n_arms=3, epsilon=EPSILON, eta=ETA)
    state = watched_state(algorithm, 3)
    drop(state, 0)
    drop(state, 2)
    for i in range(PULLS):
        arm = call(algorithm.choose, rule, state, i / PULLS)
        n_out = call(algorithm.observe, rule, state, 1, 0.5, Watched("out", [0] * 3))
        if arm != 1 or n_out != 0:
            raise fault(
                algorithm.choose if arm != 1 else algorithm.observe,
                f"with arm 1 alone left, choose returned {arm!r} and observe {n_out!r}.",
                "Play the last arm for ever, and eliminate nothing more.",
            )


def check_votes(algorithm: Algorithm) -> None:
    """Where arm 0 always pays and the others never do, it is soon the only one left."""
    epsilon = 0.8
    rule = algorithm.rule(n_arms=3, epsilon=epsilon, eta=0.05)
    state, out, rng = algorithm.new_state(3), [0] * 3, Random(3)
    limit = int(PATIENCE * 3 / epsilon**2)
    for _ in range(limit):
        arm = call(algorithm.choose, rule, state, rng.random())
        call(algorithm.observe, rule, state, arm, float(arm == 0), out)
        if state.ints[COUNT] == 1:
            break
    left = [k for k, alive in enumerate(state.alive) if alive]
    if len(left) > 1:
        raise fault(
            algorithm.observe,
            f"observe still keeps arms {left} after {limit:,} pulls in which arm 0 always paid "
            "and the others never did: it never votes.",
            "Drop arms with drop(state, arm), write them to out, and return how many.",
        )
    if left != [0]:
        raise fault(
            algorithm.observe,
            f"observe kept arm {left[0]}, which never paid, and dropped arm 0, which always did.",
            "Drop arms with low rewards, not high ones.",
        )


def lose_an_arm(state: State, rng: Random) -> None:
    """Now and then others vote an arm out, but never the last."""
    if rng.random() < 0.01 and state.ints[COUNT] > 1:
        drop(state, rng.choice(sorted(alive_arms(state))))


def alive_arms(state: State) -> set[int]:
    """The remaining arms."""
    return {k for k in range(len(state.alive)) if state.alive[k]}


def check_arrays(algorithm: Algorithm, sizes: tuple[int, ...]) -> None:
    """Lists and arrays give the same trajectories, and so do two runs on lists."""
    import numpy as np

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
    """At each pull the arm that was played, and the arms that were dropped."""
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
    from devote.simulator.players import run_players

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
            f"compiled, it made {fast.samples_until_all_know:,} pulls and {fast.broadcasts} votes "
            f"where Python makes {slow.samples_until_all_know:,} and {slow.broadcasts}.",
            "Do not rely on integers above 2**31, on negative indices or on division by zero.",
        )


def _compiled_trial(algorithm: Algorithm, scenario: Scenario) -> Any:
    from numba.core.errors import NumbaError

    from devote.simulator.trials import run_trial

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
