"""The engine on a GPU: the CPU's runs to the last vote, and a clear line where there is none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from devote.cli.main import main
from devote.problems import PROBLEMS, Problem
from devote.protocol import ExperimentSpec, SpecError
from devote.schemes import make_scheme
from devote.simulate import Scenario, run_sweep, run_trial, simulate
from devote.simulate.engine.gpu import run as gpu_run
from devote.simulate.engine.gpu import target
from devote.simulate.errors import SweepError
from devote.studies.reproduce import with_engine

HERE = Path(__file__).parent
SPEC = ExperimentSpec(arms=10)


def test_kernels_in_the_simulator_make_the_runs_of_the_cpu():
    """Every scheme, a horizon, uneven activity, changing rewards, and any number of threads."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", HERE / "cuda_in_simulator.py"],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        timeout=280,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert len(lines) == 24
    assert [line for line in lines if not line.endswith(": equal")] == []


def test_loops_are_marked_where_they_branch_back_and_nowhere_else():
    code = """define void @"f"() {
entry:
  br label %"B4"
B4:
  br i1 %x, label %"B8", label %"B9"
B8:
  br label %"B4"
B9:
  ret void
}
define void @"g"() {
B8:
  br i1 %y, label %"B4", label %"B8"
B4:
  ret void
}"""
    mended = target._rolled(code).splitlines()
    marked = {line.strip(): line.rpartition(" ")[2] for line in mended if "!llvm.loop !" in line}
    assert [line.partition(", !llvm")[0] for line in marked] == [
        'br label %"B4"',
        'br i1 %y, label %"B4", label %"B8"',
    ]
    [one, other] = marked.values()
    assert one != other
    assert mended[-3:] == [
        f'!{target.LOOPS - 1} = !{{!"llvm.loop.unroll.disable"}}',
        f"{one} = distinct !{{{one}, !{target.LOOPS - 1}}}",
        f"{other} = distinct !{{{other}, !{target.LOOPS - 1}}}",
    ]
    plain = [line.partition(", !llvm.loop")[0] for line in mended[:-3]]
    assert plain == code.splitlines()


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(target, "why_no_device", lambda: "there is no NVIDIA GPU")


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("command", ["simulate", "reproduce problem-1", "audit correctness"])
def test_without_a_gpu_there_is_one_line_and_no_work(command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([*command.split(), "--engine", "cuda"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "engine='cuda' cannot run here: there is no NVIDIA GPU. Use engine clocks" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_gpu")
def test_a_sweep_without_a_gpu_makes_no_file(tmp_path):
    cell = Scenario(SPEC, PROBLEMS["1"], 64, engine="cuda")
    with pytest.raises(SpecError, match="no NVIDIA GPU"):
        run_sweep([cell], trials=2, results=tmp_path / "x.jsonl")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SpecError, match="no NVIDIA GPU"):
        simulate(SPEC, PROBLEMS["1"], 64, trials=1, engine="cuda")


def test_a_gpu_keeps_no_trace_and_no_log():
    cell = Scenario(SPEC, PROBLEMS["1"], 64, engine="cuda")
    with pytest.raises(SpecError, match="keeps neither a trace nor a record"):
        run_trial(cell, seed=0, trial=0, trace=True)
    survey = SPEC.with_(scheme=make_scheme("survey"), eta=SPEC.delta)
    with pytest.raises(SpecError, match="log of messages"):
        Scenario(survey, PROBLEMS["1"], 4096, engine="cuda")
    assert with_engine(Scenario(survey, PROBLEMS["1"], 4096), "cuda").runs_on == "event"


def test_more_players_than_a_gpu_holds_are_refused(monkeypatch):
    monkeypatch.setattr(gpu_run, "free_bytes", lambda: 2**30)
    drifting = Problem("drifting", (0.9, 0.1), drift=(0.0, -1e-6))
    for problem, arms in ((PROBLEMS["1"], 10), (drifting, 2)):
        large = Scenario(ExperimentSpec(arms=arms), problem, 10_000_000, engine="cuda")
        with pytest.raises(SweepError, match="GiB of the GPU's memory"):
            gpu_run.trials_at_once(large, gpu_run.room())
    small = Scenario(SPEC, PROBLEMS["1"], 64, engine="cuda")
    assert gpu_run.trials_at_once(small, gpu_run.room()) > 1000
