import pytest

from devote.studies.planning.figure import draw_plan
from devote.studies.planning.sweep import PlanSweep, sweep_plan
from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.simulate import ResultError, Scenario

SPEC = ExperimentSpec(arms=3)
TOY = Problem("toy", [0.9, 0.1, 0.1])


def test_a_sweep_leaves_out_what_cannot_work():
    base = Scenario(SPEC, TOY, 40)
    swept = sweep_plan(base, "eta", trials=1, workers=1)
    assert 0.9 in swept.values
    assert 0.95 not in swept.values  # 58 votes of 40 players


def test_a_picture_is_drawn_from_a_saved_sweep(tmp_path, monkeypatch):
    base = Scenario(SPEC, Problem("tied", [0.7, 0.7, 0.1]), 32)
    file = sweep_plan(base, "players", trials=2, workers=1).save(tmp_path / "sweep.json")
    monkeypatch.setattr("devote.studies.planning.sweep.run_sweep", None)
    picture = draw_plan(PlanSweep.load(file), tmp_path / "sweep.png")
    assert picture.read_bytes().startswith(b"\x89PNG")
    vector = draw_plan(PlanSweep.load(file), tmp_path / "sweep.svg")
    assert "some runs without one answer" in vector.read_text(encoding="utf-8")


def test_a_truncated_sweep_is_refused(tmp_path):
    file = sweep_plan(Scenario(SPEC, TOY, 28), "players", trials=1, workers=1).save(tmp_path / "s.json")
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(ResultError, match=r"s\.json is not a whole sweep"):
        PlanSweep.load(file)
