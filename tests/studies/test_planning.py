"""The two pictures of a command's own sweep: a plan's, and what eta buys."""

import pytest

from devote.problems import Problem
from devote.protocol import ExperimentSpec, SpecError
from devote.simulator import ResultError, Scenario
from devote.studies.sweeps import (
    EtaSweep,
    PlanSweep,
    draw_eta,
    draw_plan,
    eta_scenarios,
    sweep_eta,
    sweep_plan,
)

SPEC = ExperimentSpec(arms=3)
TOY = Problem("toy", [0.9, 0.1, 0.1])


def test_a_sweep_leaves_out_what_cannot_work():
    swept = sweep_plan(Scenario(SPEC, TOY, 40), "eta", trials=1, workers=1)
    assert 0.9 in swept.values
    assert 0.95 not in swept.values  # 58 votes of 40 players


def test_a_picture_is_drawn_from_a_saved_sweep(tmp_path, monkeypatch):
    base = Scenario(SPEC, Problem("tied", [0.7, 0.7, 0.1]), 32)
    file = sweep_plan(base, "players", trials=2, workers=1).save(tmp_path / "sweep.json")
    monkeypatch.setattr("devote.studies.sweeps.run_sweep", None)
    picture = draw_plan(PlanSweep.load(file), tmp_path / "sweep.png")
    assert picture.read_bytes().startswith(b"\x89PNG")
    vector = draw_plan(PlanSweep.load(file), tmp_path / "sweep.svg")
    assert "some runs without one answer" in vector.read_text(encoding="utf-8")


def test_a_truncated_sweep_is_refused(tmp_path):
    base = Scenario(SPEC, TOY, 28)
    file = sweep_plan(base, "players", trials=1, workers=1).save(tmp_path / "s.json")
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(ResultError, match=r"s\.json is not a whole sweep"):
        PlanSweep.load(file)


def test_an_unknown_axis_is_refused_with_the_nearest():
    with pytest.raises(SpecError, match="Did you mean 'epsilon'"):
        sweep_plan(Scenario(SPEC, TOY, 40), "epsilom")


def test_what_eta_buys_is_swept_saved_and_drawn(tmp_path):
    swept = sweep_eta(etas=(0.1, 0.5), players=(16, 32), runs=10)
    assert [(p["n_players"], p["eta"], p["quorum"]) for p in swept.points] == [
        (16, 0.1, 1),
        (16, 0.5, 4),
        (32, 0.1, 1),
        (32, 0.5, 4),
    ]
    file = swept.save(tmp_path / "eta.json")
    assert EtaSweep.load(file) == swept
    pictures = draw_eta(swept, tmp_path / "eta.svg")
    assert [path.suffix for path in pictures] == [".svg", ".pdf", ".png"]


def test_an_eta_whose_quorum_is_larger_than_the_fleet_is_left_out():
    assert [s.spec.eta for s in eta_scenarios((0.5, 0.9), (16,))] == [0.5]
