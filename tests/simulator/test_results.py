"""Results as a person reads them: in short, as a summary, a table, curves and pictures."""

import csv
import dataclasses
import sys
from itertools import takewhile
from types import SimpleNamespace

import numpy as np
import pytest
from tests.simulator.settings import PROBLEMS, both, small_setting
from tests.simulator.sweeps import small_cells

from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.simulator import (
    NeverEnds,
    ResultError,
    Results,
    Scenario,
    compare,
    grid,
    run_sweep,
    run_trial,
    simulate,
)
from devote.simulator.plots import PICTURES
from devote.simulator.results import TABLES
from devote.simulator.trial import checkpoints
from devote.theory import clopper_pearson

SPEC = ExperimentSpec(arms=["a", "b", "c"], epsilon=0.5, scheme={"quorum": 3})
TOY = Problem("toy", (0.9, 0.6, 0.1))


@pytest.fixture(scope="module")
def result():
    return simulate(SPEC, TOY, 8, trials=6, seed=2, record=True)


@pytest.fixture(scope="module")
def results():
    return run_sweep(small_cells(), trials=4, workers=1)


def test_recording_changes_no_number(result):
    plain = simulate(SPEC, TOY, 8, trials=6, seed=2)
    assert plain != result
    assert dataclasses.replace(result, records=(None,) * 6) == plain


def test_results_are_equal_if_their_numbers_are_whatever_made_them(result):
    again = simulate(SPEC, TOY, 8, trials=6, seed=2, record=True)
    assert result == dataclasses.replace(again, versions={"python": "4"})
    assert result != simulate(SPEC, TOY, 8, trials=5, seed=2, record=True)
    assert result != dataclasses.replace(again, samples=again.samples + 1)
    assert result != "a result"
    with pytest.raises(TypeError, match="unhashable"):
        hash(result)


def test_workers_give_the_same_records(result):
    assert simulate(SPEC, TOY, 8, trials=6, seed=2, record=True, workers=2) == result


@pytest.mark.parametrize("scheme", ["decentralized", "isolated", "pooled"])
@pytest.mark.parametrize("problem", ["plain", "switches", "groups", "samples"])
def test_the_engine_and_the_players_record_the_same(scheme, problem):
    setting = small_setting("ser3", scheme, PROBLEMS[problem])
    engine, players = both(setting, record=True)
    assert engine.record is not None
    assert engine == players


def test_pulls_per_arm_and_per_player_add_up_to_the_samples(result):
    for counted in (result.pulls_per_arm, result.pulls_per_player):
        np.testing.assert_array_equal(counted.sum(axis=1), result.samples_until_all_know)
    assert result.pulls_per_arm.shape == (6, 3)
    assert result.pulls_per_player.shape == (6, 8)


def test_a_curve_ends_where_its_trial_ended(result):
    for name in ("suboptimal_plays", "broadcasts"):
        at, values = result.curve(name)
        assert at[-1] == result.samples_until_all_know.max()
        np.testing.assert_array_equal(values[:, -1], getattr(result, name))
        assert (np.diff(values, axis=1) >= 0).all()
    at, left = result.curve("arms_left")
    assert set(left[:, 0]) == {3}
    assert set(left[:, -1]) == {1}
    # At a checkpoint the curve is what a run with that horizon comes to.
    j = len(at) // 2
    cut = run_trial(Scenario(SPEC, TOY, 8, int(at[j])), seed=2, trial=1)
    assert result.curve("broadcasts")[1][1, j] == cut.broadcasts
    assert result.curve("suboptimal_plays")[1][1, j] == cut.suboptimal_plays


def test_checkpoints_are_few():
    assert len(list(takewhile(lambda at: at <= 10**9, checkpoints()))) < 240


def test_what_was_not_recorded_is_said(results):
    for ask in (
        lambda: results[0].curve("arms_left"),
        lambda: results[0].rows("arms"),
        lambda: results[0].plot("pulls_per_player"),
    ):
        with pytest.raises(ResultError, match=r"not recorded\.\nRun it again with record=True"):
            ask()


def test_the_repr_is_one_short_line(result):
    label = "decentralized quorum=3 ser3 epsilon=0.5, problem toy, 8 players"
    assert repr(result).startswith(f"<Result {label}: 6 trials, ")
    assert len(repr(result).splitlines()) == 1


def test_the_summary_names_its_intervals(result):
    summary = result.summary()
    samples = summary["samples"]
    assert (samples.interval, samples.trials) == ("Student t", 6)
    # By hand: the t quantile of 5 degrees of freedom is 2.5706.
    half = 2.5706 * result.samples.std(ddof=1) / 6**0.5
    assert samples.value == result.samples.mean()
    assert samples.high - samples.value == pytest.approx(half, rel=1e-4)
    good = summary["good answers"]
    assert good.interval == "Clopper-Pearson"
    assert (good.low, good.high) == clopper_pearson(int(result.epsilon_optimal.sum()), 6)
    assert samples.value <= summary["samples until all know"].value
    text = repr(summary)
    assert all(word in text for word in ("95 % interval", "Student t", "Clopper-Pearson"))
    assert max(map(len, text.splitlines())) <= 100
    assert summary.to_dict()["rows"][0]["name"] == "samples"


def test_one_trial_has_no_interval_of_a_mean():
    row = simulate(SPEC, TOY, 8, trials=1).summary()["broadcasts"]
    assert (row.low, row.high) == (None, None)


def test_rows_hold_plain_values_and_no_sentinels(result, results):
    rows = [*result.rows(), *results.rows()]
    for row in rows:
        assert {type(value) for value in row.values()} <= {str, int, float, bool, type(None)}
    assert rows[0]["answer"] in ("a", "b", "c", None)
    assert {row["samples"] for row in rows} & {-1} == set()
    for of, n in zip(TABLES, (6, 6 * len(result.curve("arms_left")[0]), 18, 48, 6), strict=True):
        assert len(result.rows(of)) == n
    with pytest.raises(ResultError, match="no table of 'votes'"):
        result.rows("votes")


def test_without_pandas_a_dataframe_is_its_rows(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert result.to_dataframe() == result.rows()


def test_with_pandas_the_rows_become_a_dataframe(result, results, monkeypatch):
    made = SimpleNamespace(DataFrame=lambda rows: ("frame", rows))
    monkeypatch.setitem(sys.modules, "pandas", made)
    assert result.to_dataframe("curves") == ("frame", result.rows("curves"))
    assert results.to_dataframe() == ("frame", results.rows())


def test_a_real_dataframe_has_a_row_per_trial(results):
    pandas = pytest.importorskip("pandas")
    frame = results.to_dataframe()
    assert isinstance(frame, pandas.DataFrame)
    means = frame.groupby(["scheme", "n_players"])["samples"].mean()
    for one in results:
        assert means[one.scenario.scheme.name, one.n_players] == one.samples.mean()


def test_a_csv_file_gives_the_rows_back(results, tmp_path):
    path = results.to_csv(tmp_path / "sweep.csv")
    with path.open(newline="") as file:
        read = list(csv.DictReader(file))
    shown = [{k: "" if v is None else str(v) for k, v in row.items()} for row in results.rows()]
    assert read == shown


def test_the_repr_of_a_sweep_is_a_table(results):
    lines = repr(results).splitlines()
    assert len(lines) == 1 + len(results)
    assert "95 % interval" in lines[0]


def test_every_picture_is_drawn_into_axes(result, results, tmp_path):
    from matplotlib.axes import Axes

    for what in PICTURES:
        axes = result.plot(what)
        assert isinstance(axes, Axes)
        assert axes.get_xlabel()
        assert axes.get_ylabel()
        assert result.plot(what, ax=axes) is axes
    axes = results.plot("samples", by="scheme")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "decentralized",
        "isolated",
        "pooled",
    ]
    axes.figure.savefig(tmp_path / "sweep.png")
    for wrong in (lambda: result.plot("votes"), lambda: results.plot("votes")):
        with pytest.raises(ResultError, match=r"'votes'\.\nUse one of: "):
            wrong()


VARYING = {
    "eta": {"eta": [0.5, 0.9]},
    "delta": {"delta": [0.05, 0.2]},
    "epsilon": {"epsilon": [0.4, 0.5]},
    "parameters": {"scheme": [{"quorum": 3}, {"quorum": 4}]},
    "options": {"options": [{}, {"radius": "active"}]},
    "activity": {"activity": ["uniform", "zipf:1.1"]},
    "horizon": {"horizon": [40, 50]},
}


@pytest.mark.parametrize("name", VARYING)
def test_tables_labels_and_pictures_show_whatever_varies(name):
    given = {"epsilon": 0.5, "scheme": {"quorum": 3}} | VARYING[name]
    found = run_sweep(grid(problem=TOY, n_players=8, **given), trials=2, workers=1)
    assert len({one.scenario.label for one in found}) == 2
    head, *lines = repr(found).splitlines()
    assert head.split()[0] == name
    assert len({line.split("  ")[0] for line in lines}) == 2
    with pytest.raises(ResultError, match=rf"differ in {name} would be drawn as one point\.\nName"):
        found.plot("broadcasts")
    axes = found.plot("broadcasts", by=["algorithm", name])
    assert len(axes.get_legend().get_texts()) == 2
    assert axes.get_legend().get_title().get_text() == f"algorithm, {name}"


def test_problems_of_one_name_are_not_drawn_as_one_point():
    problems = [{"means": [0.9, 0.1]}, {"means": [0.8, 0.1]}]
    cells = grid(problem=problems, n_players=8, epsilon=0.5, scheme={"quorum": 3})
    with pytest.raises(ResultError, match="differ in their problems would be drawn"):
        run_sweep(cells, trials=2, workers=1).plot()


def test_samples_are_those_to_the_decision_everywhere(result):
    to_decision = result.samples.mean()
    assert to_decision < result.samples_until_all_know.mean()
    assert result.summary()["samples"].value == to_decision
    assert compare(result, result).mean_first == to_decision
    assert np.mean([row["samples"] for row in result.rows()]) == to_decision
    [line] = Results([result]).plot().containers
    assert line[0].get_ydata().tolist() == [to_decision]
    assert f"{to_decision:,.0f} samples each" in repr(result)


def test_samples_of_trials_without_a_decision_are_left_out():
    cut = simulate(SPEC, TOY, 8, trials=3, horizon=20)
    assert cut.status_counts()["unfinished"] == 3
    assert [row["samples"] for row in cut.rows()] == [None] * 3
    assert repr(cut).endswith("3 unfinished>")
    assert "samples" not in {row.name for row in cut.summary().rows}
    assert repr(Results([cut])).splitlines()[1].split()[2] == "-"


def test_a_trial_that_goes_on_for_ever_is_ended_clearly(monkeypatch):
    monkeypatch.setattr("devote.simulator.scenario.PATIENCE", 1.0)
    slow = SPEC.with_(epsilon=0.01)
    equal = Problem("equal", (0.5, 0.5, 0.5))
    message = r"made [\d,]+ pulls, .*\nCheck the rule .*'ser3'.*give a horizon"
    with pytest.raises(NeverEnds, match=message):
        simulate(slow, equal, 4, trials=1)
    with pytest.raises(NeverEnds, match=message):
        simulate(slow, equal, 4, trials=1, record=True)
    assert simulate(slow, equal, 4, trials=1, horizon=100).status == ("unfinished",)
