"""What runs is what the functions say now: each version of the code is compiled for itself."""

import importlib
import os
import subprocess
import sys
import types

import pytest

from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.rules import SUBROUTINES, get_algorithm, ugapec
from devote.rules.state import best_mean
from devote.simulator import Scenario, loop, run_trial
from devote.simulator.compiling import Linker, of_event_loop, unchanged
from devote.simulator.parts import PARTS
from devote.simulator.run import Run

RULE = """
from devote.rules import COUNT, Algorithm, register
from devote.rules.state import best_mean, in_turn, keep_only, add, least_pulled
from {name}_help import ENOUGH, enough

def choose(rule, state, u):
    return least_pulled(state)

def observe(rule, state, arm, reward, out):
    add(state, arm, reward)
    if state.ints[COUNT] == 1 or not enough(state.pulls[least_pulled(state)]):
        return 0
    return keep_only(state, best_mean(state), out)

ALGORITHM = register(Algorithm("{name}", "", "", choose, observe), replace=True)
"""
HELP = """
ENOUGH = 10

def enough(pulls):
    return pulls >= {enough}
"""


def key(algorithm="ugapec", scheme="jury"):
    given = of_event_loop(get_algorithm(algorithm), PARTS[scheme])
    return Linker(unchanged, given).link(loop.loop)[1]


def test_each_subroutine_and_scheme_has_a_key_of_its_own():
    pairs = [(algorithm, scheme) for algorithm in SUBROUTINES for scheme in PARTS]
    assert len({key(*pair) for pair in pairs}) == len(pairs)


@pytest.mark.parametrize(
    ("module", "name", "value"), [(ugapec, "C", 0.6), (ugapec, "mean", best_mean)]
)
def test_another_constant_or_function_under_a_name_is_noticed(monkeypatch, module, name, value):
    before = key()
    monkeypatch.setattr(module, name, value)
    assert key() != before


def test_comments_docstrings_and_places_change_nothing():
    texts = (
        "def f(x):\n    '''One.'''\n    return x + 1",
        "\n\n# more\ndef f(x):\n    '''Two.'''\n    return x + 1",
        "def f(x):\n    '''One.'''\n    return x + 2",
    )
    keys = []
    for text in texts:
        namespace = {"__name__": "anywhere"}
        exec(text, namespace)
        keys.append(Linker(unchanged).link(namespace["f"])[1])
    assert keys[0] == keys[1] != keys[2]


@pytest.fixture
def rule_in_files(tmp_path, monkeypatch):
    """A rule and its helper in two files; ``pulls()`` is how many a lone player makes."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    name = f"edited_{os.getpid()}"
    helper = tmp_path / f"{name}_help.py"
    rule = tmp_path / f"{name}.py"
    helper.write_text(HELP.format(enough=100))
    rule.write_text(RULE.format(name=name))
    importlib.invalidate_caches()
    module = importlib.import_module(name)

    def pulls():
        spec = ExperimentSpec(arms=2, algorithm=name, scheme="isolated")
        scenario = Scenario(spec, Problem("two", (0.9, 0.1)), 1, engine="event")
        return run_trial(scenario, seed=0, trial=0).samples_until_all_know

    yield types.SimpleNamespace(module=module, helper=helper, rule=rule, pulls=pulls, name=name)
    for loaded in (name, f"{name}_help"):
        sys.modules.pop(loaded, None)
    from devote.rules.algorithm import ALGORITHMS

    ALGORITHMS.pop(name, None)


def test_an_edited_rule_is_the_rule_that_runs(rule_in_files):
    """Reloaded, with an edited helper, patched in place as autoreload does, or defined again."""
    made = rule_in_files
    assert made.pulls() == 200
    helper = sys.modules[f"{made.name}_help"]
    made.helper.write_text(HELP.format(enough=300))
    importlib.reload(helper)
    importlib.reload(made.module)
    assert made.pulls() == 600
    namespace = {}
    exec("def enough(pulls):\n    return pulls >= 50", namespace)
    made.module.enough.__code__ = namespace["enough"].__code__
    assert made.pulls() == 100
    made.module.enough = compile_threshold(20)
    assert made.pulls() == 40


def test_a_run_goes_on_with_the_rule_that_it_began_with(rule_in_files):
    made = rule_in_files
    spec = ExperimentSpec(arms=2, algorithm=made.name, scheme="isolated")
    run = Run(Scenario(spec, Problem("two", (0.9, 0.1)), 1, engine="event"))
    run.advance(50)
    made.module.enough = compile_threshold(300)
    while not run.over:
        run.advance()
    assert run.samples == 200
    assert made.pulls() == 600


def compile_threshold(limit):
    """A function with a constant in its closure."""

    def enough(pulls):
        return pulls >= limit

    return enough


def test_without_a_compiler_the_same_trials_are_made():
    code = """
from devote.problems import PROBLEMS
from devote.protocol import ExperimentSpec
from devote.simulator import Scenario, run_trial
spec = ExperimentSpec(arms=10, epsilon=0.5, scheme={"quorum": 2})
for engine in ("event", "passes"):
    print(run_trial(Scenario(spec, PROBLEMS["1"], 4, engine=engine), seed=2, trial=0))
"""
    printed = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "NUMBA_DISABLE_JIT": off},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for off in "01"
    ]
    assert printed[0].startswith("Trial(")
    assert printed[0] == printed[1]


def test_nothing_of_numba_is_replaced():
    """Its functions and classes before and after every engine has run: the same objects."""
    code = """
import pkgutil, sys, importlib
import numba, numba.core, numba.np, numba.cpython
import numba.np.arrayobj, numba.np.arraymath, numba.np.linalg

def inventory():
    found = {}
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] not in ("numba", "numpy", "llvmlite"):
            continue
        for key, value in list(vars(module).items()):
            if isinstance(value, type):
                found |= {
                    (name, key, k): v for k, v in vars(value).items() if callable(v)
                }
            if callable(value):
                found[name, key] = value
    return found

numba.njit(lambda x: x + 1)(1)
before = inventory()
from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.simulator import Scenario, run_trial
from devote.simulator.answers import simulate_answers
from devote.simulator.jurors import simulate_jury
for engine in ("event", "passes", "cuda"):
    spec = ExperimentSpec(arms=2, epsilon=0.9, scheme={"quorum": 2})
    run_trial(Scenario(spec, Problem("two", (0.9, 0.1)), 3, engine=engine), seed=2, trial=0)
simulate_answers(ExperimentSpec(arms=2, scheme="survey"), (0.9, 0.1), runs=1)
simulate_jury(ExperimentSpec(arms=2, scheme="jury"), (0.9, 0.1), 100, runs=1)
after = inventory()
changed = [key for key in before if after.get(key) is not before[key]]
assert not changed, changed
"""
    env = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=env, check=True)
