"""Is a subroutine one? Everything that engines and devices rely on, checked in seconds.

In the manner of scikit-learn's ``check_estimator``: the first fault is raised, with the file and
line that it comes from and what to do about it. A rule plays random problems on lists that check
every access, loses arms from outside meanwhile, and must do the same on lists, on arrays and
compiled. Compiled code checks no index: a write past the words that a rule asked for goes into
another player's memory. A whole number in an array stays one, whatever is written.
"""

import dis
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import FunctionType
from typing import Any

from devote.problems import Problem
from devote.protocol import ExperimentSpec
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
from devote.simulator.trial import Trial

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
            play(found, n_arms, seed, watched_state(found, n_arms))
    check_last_arm(found)
    check_votes(found)
    for n_arms in SIZES:
        check_repeats(found, n_arms)
    if compiled:
        check_compiled(found)


_passed: set[tuple[object, object, bool]] = set()
"""The code of the rules that have passed, and whether they must vote."""


def check_first(algorithm: Algorithm, *, must_vote: bool) -> None:
    """Play some pulls on checked buffers before a rule runs: compiled code checks no index.

    A rule that keeps all arms where one always pays and the others never do would run for ever
    without a horizon: it ``must_vote``. Rules of this package are left out, and so is code that has
    passed before.
    """
    code = algorithm.choose.__code__, algorithm.observe.__code__, must_vote
    if algorithm.observe.__module__.startswith("devote.") or code in _passed:
        return
    for n_arms in (2, 5):
        play(algorithm, n_arms, 0, watched_state(algorithm, n_arms))
    if must_vote:
        check_votes(algorithm)
    _passed.add(code)


class Broken(Exception):
    """A rule has been broken: what, and what to do about it."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.what, self.remedy = what, remedy


class Watched(list[Any]):
    """One buffer of a state, which checks every access by a rule."""

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
        writer = str(sys._getframe(1).f_globals.get("__name__"))
        if self.name == "ints" and index == COUNT and not writer.startswith("devote."):
            raise Broken(
                f"word {COUNT} of ints is written, and it is the number of remaining arms.",
                "Use words from 1 on for your own, and take arms out with drop(state, arm).",
            )
        super().__setitem__(index, value)


def watched_state(algorithm: Algorithm, n_arms: int) -> State:
    """A fresh state of checked lists."""
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
        file, line = function.__code__.co_filename, 0
        step = error.__traceback__
        while step is not None:
            if step.tb_frame.f_code.co_filename == file:
                line = step.tb_lineno
            step = step.tb_next
        if isinstance(error, Broken):
            raise fault(function, error.what, error.remedy, line) from None
        what = f"{function.__name__} raised {type(error).__name__}: {error}."
        raise fault(function, what, ALLOWED, line) from error


def check_functions(algorithm: Algorithm) -> None:
    """Both functions take what they are given, and all they call can be compiled."""
    from devote.simulator.compiling import Linker, unchanged

    linker = Linker(unchanged)
    for function, given in (
        (algorithm.choose, "rule, state, u"),
        (algorithm.observe, "rule, state, arm, reward, out"),
    ):
        if not isinstance(function, FunctionType):
            raise AlgorithmError(f"{function!r} is not a plain function.\nWrite it with def.")
        found, takes = function.__code__.co_argcount, given.count(",") + 1
        if found != takes:
            raise fault(
                function,
                f"{function.__name__} takes {found} arguments, not {takes}.",
                f"Write def {function.__name__}({given}).",
            )
        linker.link(function)
        _check_powers(function)
    words = algorithm.n_ints(3)
    if not isinstance(words, int) or words < 1:
        raise fault(
            algorithm.observe,
            f"n_ints gives {words!r} words for 3 arms.",
            "Give at least 1: word 0 of ints is the number of remaining arms.",
        )
    for function in linker.reached:
        _check_powers(function)


def _check_powers(function: Callable[..., Any]) -> None:
    """Refuse ``**`` in a function's bytecode."""
    for step in dis.get_instructions(function):
        if step.opname == "BINARY_OP" and step.argrepr in ("**", "**="):
            raise fault(
                function,
                f"{function.__name__} uses **, which compilers round in ways of their own.",
                "Multiply, or use math.sqrt or math.exp.",
                (step.positions and step.positions.lineno) or 0,
            )


def play(
    algorithm: Algorithm, n_arms: int, seed: int, state: State, out: Any = None
) -> list[tuple[int, list[int]]]:
    """Play a random problem: at each pull the arm that was played, and the arms that were dropped.

    Only arms that remain may be played, and what is dropped must be reported.
    """
    rng = Random(f"{seed}/{n_arms}")
    rule = algorithm.rule(n_arms=n_arms, epsilon=EPSILON, eta=ETA)
    out = Watched("out", [0] * n_arms) if out is None else out
    means = [rng.random() for _ in range(n_arms)]
    history = []
    for _ in range(PULLS):
        alive = alive_arms(state)
        if rng.random() < 0.01 and len(alive) > 1:  # others vote an arm out
            drop(state, rng.choice(sorted(alive)))
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
        is_count = hasattr(n_out, "__index__") and 0 <= n_out <= n_arms
        dropped = list(out)[:n_out] if is_count else None
        history.append((int(arm), [int(k) for k in dropped or ()]))
        if n_out == RESET and algorithm.endless:
            continue
        gone = alive - alive_arms(state)
        if dropped is None or sorted(dropped) != sorted(gone):
            shown = f"returned {n_out!r}" if dropped is None else f"wrote {dropped}"
            raise fault(
                algorithm.observe,
                f"observe {shown}, but the arms it took out are {sorted(gone)}.",
                "Write each arm that you drop to out[0], out[1], ... and return how many.",
            )
    return history


def alive_arms(state: State) -> set[int]:
    """The remaining arms."""
    return {k for k in range(len(state.alive)) if state.alive[k]}


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
    left = sorted(alive_arms(state))
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


def check_repeats(algorithm: Algorithm, n_arms: int) -> None:
    """Two runs on lists and one on arrays give the same history."""
    import numpy as np

    from devote.simulator.run import new_learners

    first, again = (play(algorithm, n_arms, 0, watched_state(algorithm, n_arms)) for _ in range(2))
    arrays = new_learners(algorithm, n_arms)
    start(arrays)
    with np.errstate(all="ignore"):
        on_arrays = play(algorithm, n_arms, 0, arrays, np.zeros(n_arms, np.int32))
    for other, what, remedy in (
        (again, "when it runs again", "Keep all memory in state, all chance in u."),
        (on_arrays, "on arrays than on lists", "Write whole numbers to ints. " + ALLOWED),
    ):
        for pull, (one, two) in enumerate(zip(first, other, strict=True)):
            if one != two:
                raise fault(
                    algorithm.observe,
                    f"pull {pull} does other things {what}: {two} instead of {one} "
                    "(the arm, and the arms dropped).",
                    remedy,
                )


def both_ways(scenario: Scenario, seed: int) -> tuple[Trial, Trial]:
    """The same trial compiled and by player objects."""
    from devote.simulator.players import run_players
    from devote.simulator.trials import run_trial

    given = scenario.spec, scenario.problem, scenario.n_players
    compiled = run_trial(scenario, seed=seed, trial=0, trace=True)
    return compiled, run_players(*given, seed=seed, horizon=scenario.horizon, trace=True)


def check_compiled(algorithm: Algorithm) -> None:
    """The engine compiles it, and gives what player objects give."""
    from numba.core.errors import NumbaError

    before = ALGORITHMS.get(algorithm.name)
    ALGORITHMS[algorithm.name] = algorithm
    try:
        how: dict[str, Any] = {"epsilon": EPSILON, "eta": ETA, "scheme": {"quorum": 3}}
        spec = ExperimentSpec(arms=3, algorithm=algorithm.name, **how)
        fast, slow = both_ways(Scenario(spec, Problem("check", (0.9, 0.5, 0.1)), 5, 2_000), 0)
    except NumbaError as error:
        text = str(error)
        own = Path(algorithm.observe.__code__.co_filename).name
        lines = re.findall(rf'File "(?:[^"]*[/\\])?{re.escape(own)}", line (\d+)', text)
        first = next((one.strip() for one in text.splitlines() if one.strip()), "")
        line = int(lines[-1]) if lines else 0
        raise fault(algorithm.observe, f"it cannot be compiled: {first}", ALLOWED, line) from error
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
