"""Trials on a GPU: those of the CPU, and a clear line where there is none."""

import os
import subprocess
import sys

import pytest

from devote.cli.main import main
from devote.problems import PROBLEMS
from devote.protocol import ExperimentSpec, SpecError
from devote.simulator import Scenario, gpu, run_sweep, run_trial, simulate
from devote.simulator.errors import SweepError

SPEC = ExperimentSpec(arms=10)


def test_kernels_in_the_simulator_make_the_trials_of_the_cpu():
    """Every scheme, uneven activity, stalls, horizons, resets and changing rewards."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.simulator.cuda_in_simulator"],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        timeout=280,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert len(lines) == 12
    assert [line for line in lines if not line.endswith(": equal")] == []


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(gpu, "why_no_device", lambda: "there is no NVIDIA GPU")


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("command", ["simulate", "reproduce problem-1", "audit correctness"])
def test_without_a_gpu_there_is_one_line_and_no_work(command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([*command.split(), "--engine", "cuda"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "engine='cuda' cannot run here: there is no NVIDIA GPU. Use engine passes" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_gpu")
def test_a_sweep_without_a_gpu_makes_no_file(tmp_path):
    cell = Scenario(SPEC, PROBLEMS["1"], 64, engine="cuda")
    with pytest.raises(SpecError, match="no NVIDIA GPU"):
        run_sweep([cell], trials=2, results=tmp_path / "x.jsonl")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SpecError, match="no NVIDIA GPU"):
        simulate(SPEC, PROBLEMS["1"], 64, trials=1, engine="cuda")


def test_a_gpu_keeps_no_trace():
    cell = Scenario(SPEC, PROBLEMS["1"], 64, engine="cuda")
    with pytest.raises(SpecError, match="keeps neither a trace nor a record"):
        run_trial(cell, seed=0, trial=0, trace=True)


def test_more_players_than_a_gpu_holds_are_refused(monkeypatch):
    monkeypatch.setattr(gpu, "why_no_device", lambda: "")
    monkeypatch.setattr(gpu, "free_bytes", lambda: 2**30)
    large = Scenario(SPEC, PROBLEMS["1"], 10_000_000, engine="cuda")
    with pytest.raises(SweepError, match="GiB of the GPU's memory"):
        next(gpu.run_on_device(large, 0, [0]))
