"""Kernels compile for an H200 as far as it goes without a driver: to the code that NVVM takes."""

from types import SimpleNamespace

import numpy as np
import pytest
from tests.simulator.settings import PROBLEMS, small_setting
from tests.simulator.test_passes import setting

from devote.problems import Problem
from devote.rules import State
from devote.simulator import Scenario, gpu
from devote.simulator.compiling import Linker, of_event_loop
from devote.simulator.passes import PLAYER, TRIAL
from devote.simulator.passes_run import new_mail, new_rows, of_passes
from devote.simulator.run import Run, new_setup

cuda = pytest.importorskip("numba.cuda")
H200 = (9, 0)
T, N = 2, 8


@pytest.fixture(autouse=True)
def like_an_h200(monkeypatch):
    """Functions that kernels call are compiled for the device at hand, of which this stands in."""
    from numba.cuda import dispatcher

    device = SimpleNamespace(compute_capability=H200)
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: device)
    monkeypatch.setattr(cuda, "to_device", lambda values: values)


def code_of(function, given, *arguments):
    """The kernel as NVVM takes it, for arguments of these types."""
    from numba import typeof, types
    from numba.cuda.compiler import compile_cuda

    linked, _ = Linker(gpu._device_function, given | gpu.ATOMIC).link(function)
    return compile_cuda(linked, types.void, tuple(map(typeof, arguments)), cc=H200)


@pytest.mark.parametrize("scheme", ["decentralized", "jury", "isolated"])
def test_kernels_of_passes_compile(scheme):
    scenario = setting("ser3", scheme, PROBLEMS["zipf"], N)
    given, k = of_passes(scenario), scenario.spec.n_arms
    setup = gpu._setup_to_device(new_setup(scenario)._replace(threshold=0, alias=0))
    alike = setup._replace(env=0, spans=0, good=0)
    rows, mail = new_rows(scenario, T * N), new_mail(T, 64)
    sorted_mail = mail.times, mail.slots
    trials, players = np.zeros(T, TRIAL), np.zeros((T * N, 2), PLAYER)
    shared, tally = np.ones((T, k), np.int8), np.zeros((T, k + 2), np.int64)
    sweep = gpu.sweep_kernel(k, rows.ints.shape[2], rows.floats.shape[2])
    totals = np.zeros((T, 3), np.int64)
    held, by_player = np.zeros((T, k), np.int8), np.zeros((2, T * N), np.int32)
    for kernel, arguments in (
        (sweep, (setup, trials, players, shared, rows, mail)),
        (gpu.decide_kernel, (alike, trials, tally, shared, mail, *sorted_mail, tally)),
        (gpu.gather_kernel, (trials, players, rows, N, totals, held, by_player)),
    ):
        assert code_of(kernel, given, *arguments).library.get_llvm_str()


SEGMENTS = {"name": "survey", "segments": ["old", "new"]}


@pytest.mark.parametrize("scheme", ["decentralized", "pooled", "survey", SEGMENTS], ids=str)
def test_the_kernel_of_the_event_loop_compiles(scheme):
    chosen = small_setting("ser4", "isolated", PROBLEMS["drift"], n_players=300)
    rule = "betting" if scheme is SEGMENTS else "ser3"
    spec = chosen.spec.with_(algorithm=rule, options={}, scheme=scheme, eta=0.2, delta=0.01)
    problem = Problem("drift", (0.9, 0.5, 0.1, 0.1), drift=(0, 1e-5, 0, 0))
    if scheme is SEGMENTS:
        problem = Problem("groups", groups=[problem.means] * 2, shares=(0.5, 0.5))
    scenario = Scenario(spec, problem, 300)
    run = Run(scenario)
    tables = type(run.tables)(*(np.stack([array] * T) for array in run.tables))
    learners = State(*(np.stack([array] * T) for array in run.learners))
    plain = tables._replace(groups=0, players=0)
    keys = np.zeros(T, np.uint64)
    compiled = code_of(
        gpu.pull_kernel,
        of_event_loop(scenario.algorithm, run.part),
        *(gpu._setup_to_device(run.setup), learners, tables.groups, tables.players, plain),
        *(keys, 9, 9),
    )
    assert compiled.library.get_llvm_str()
