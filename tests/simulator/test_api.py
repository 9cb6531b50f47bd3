"""What ``devote`` offers: complete, importable with the extras that are there, with signatures."""

import inspect
import subprocess
import sys

import pytest

import devote
from devote import ExperimentSpec, Problem, grid, simulate

STAR = """
import sys
sys.modules.update({name: None for name in ("httpx", "cryptography", "matplotlib", "rich")})
from devote import *
print(simulate(ExperimentSpec(arms=2, epsilon=0.5, scheme=Survey()), Problem("p", [0.9, 0.1]), 600))
assert "Device" not in dir()
"""


def test_everything_is_listed_and_can_be_asked_for():
    assert set(devote.__all__) <= set(dir(devote))
    for name in devote.__all__:
        assert getattr(devote, name) is not None
        assert not inspect.ismodule(getattr(devote, name))
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        devote.simulat  # noqa: B018


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("simulate", ["spec", "problem", "n_players", "trials"]),
        ("run_sweep", ["scenarios", "trials", "seed"]),
        ("compare", ["first", "second", "column"]),
        ("load_results", ["path", "partial"]),
        ("check_algorithm", ["algorithm"]),
        ("run_players", ["spec", "problem", "n_players"]),
    ],
)
def test_functions_have_their_signatures(name, first):
    function = getattr(devote, name)
    assert inspect.isfunction(function)
    assert list(inspect.signature(function).parameters)[: len(first)] == first


def test_everything_is_imported_by_a_star_with_the_extra_of_the_simulator_alone():
    ran = subprocess.run([sys.executable, "-c", STAR], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("<Result survey betting epsilon=0.5, problem p, 600 players")


@pytest.mark.parametrize("problem", ["1", Problem("toy", [0.9, 0.1]), {"means": [0.9, 0.1]}])
def test_simulate_takes_the_problems_that_a_grid_takes(problem):
    [cell] = grid(problem=problem, n_players=32, epsilon=0.5)
    found = simulate(cell.spec, problem, 32, trials=1)
    assert found.scenario == cell
    assert simulate(ExperimentSpec(arms=10), "1", 64, trials=1).trials == 1
