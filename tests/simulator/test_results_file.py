"""The append-only file of a sweep: what it keeps, tolerates and refuses."""

import json
import subprocess
import sys

import pytest
from tests.simulator.rule_files import write_rule
from tests.simulator.sweeps import assert_same_results, small_cells, trials_in

from devote.simulator import Result, ResultError, Results, load_results, run_sweep, simulate
from devote.simulator.block import Block
from devote.simulator.results_file import LONG, ResultsFile
from devote.simulator.trials import run_chunk

CELLS = small_cells()[:2]


def sweep(path, **changes):
    return run_sweep(**{"scenarios": CELLS, "trials": 3, "workers": 1, "results": path, **changes})


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sweep.jsonl"
    sweep(path)
    return path


@pytest.fixture(scope="module")
def expected():
    return run_sweep(CELLS, trials=3, workers=1)


def test_loaded_results_are_the_ones_that_were_run(file, expected):
    assert_same_results(load_results(file), expected)


def test_a_line_per_block_each_json_and_the_file_says_what_it_is(file, expected):
    head, one, other, *lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert head["kind"] == "devote results"
    assert [line["scenario"] for line in (one, other)] == [cell.to_dict() for cell in CELLS]
    assert {"devote", "numba", "numpy", "python"} == set(head["versions"])
    assert trials_in(file) == [(cell, trial) for cell in range(2) for trial in range(3)]
    for line in lines:
        samples = expected[line["cell"]].samples[line["trial"]]
        assert line["samples"] == samples.tolist()


def test_a_finished_sweep_is_read_not_run(file, expected, monkeypatch):
    monkeypatch.setattr("devote.simulator.sweep.local_executor", None)
    calls = []
    again = sweep(file, progress=lambda *call: calls.append(call))
    assert_same_results(again, expected)
    assert calls == [(6, 6, "")]


@pytest.mark.parametrize("keep", range(0, 1_000, 37))
def test_wherever_a_file_is_cut_off_the_sweep_goes_on_to_the_same_results(file, expected, keep):
    """Cut inside the header, between lines, within a line: as a kill in mid-write leaves it."""
    content = file.read_bytes()
    cut = len(content) * keep // 1_000
    file.write_bytes(content[:cut])
    assert_same_results(sweep(file), expected)
    assert_same_results(load_results(file), expected)
    whole = content[:cut].rfind(b"\n") + 1
    assert file.read_bytes()[:whole] == content[:whole]
    assert trials_in(file) == [(cell, trial) for cell in range(2) for trial in range(3)]


def test_a_cut_off_file_is_not_taken_for_a_whole_one(file):
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ResultError, match=r"holds [345] of 6 trials\.\nRun the same sweep again"):
        load_results(file)


def test_damage_in_the_middle_is_refused_and_nothing_is_changed(file):
    content = file.read_bytes()
    begin = content.index(b'"samples":[') + len(b'"samples":[')
    digit = b"1" if content[begin : begin + 1] != b"1" else b"2"
    damaged = content[:begin] + digit + content[begin + 1 :]
    file.write_bytes(damaged)
    for read in (sweep, load_results):
        with pytest.raises(ResultError, match="damaged at line 4"):
            read(file)
    assert file.read_bytes() == damaged


@pytest.mark.parametrize(
    ("content", "line"),
    [(b"hello\n", 1), (b"hello", 1), (b'{"kind":"devote results"}\n', 1), (b"\n\n", 1), (b"\0", 1)],
)
def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path, content, line):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    for read in (sweep, load_results):
        with pytest.raises(ResultError, match=f"damaged at line {line}"):
            read(path)
    assert path.read_bytes() == content


def test_a_file_of_another_seed_is_refused(file):
    content = file.read_bytes()
    with pytest.raises(ResultError, match=r"another sweep: its seed is 0, not 1\.\nName another"):
        sweep(file, seed=1)
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    "changes",
    [{"trials": 2}, {"scenarios": CELLS[:1]}, {"scenarios": CELLS[::-1]}, {"scenarios": []}],
)
def test_less_than_the_file_holds_is_read_and_changes_nothing(file, changes, monkeypatch):
    content = file.read_bytes()
    monkeypatch.setattr("devote.simulator.sweep.local_executor", None)
    read = sweep(file, **changes)
    assert file.read_bytes() == content
    monkeypatch.undo()
    assert read == run_sweep(**{"scenarios": CELLS, "trials": 3, "workers": 1, **changes})


def test_a_sweep_grows_by_trials_and_by_cells_and_runs_only_what_is_new(file):
    more = small_cells()[:4]
    asked = [
        {"trials": 5},
        {"scenarios": more, "trials": 2},
        {"scenarios": more[::-1], "trials": 6},
    ]
    for changes, missing in zip(asked, [4, 4, 10], strict=True):
        before = file.read_bytes()
        calls = []
        grown = sweep(file, progress=lambda *call, calls=calls: calls.append(call), **changes)
        assert calls[-1][0] - calls[0][0] == missing
        assert file.read_bytes().startswith(before)
        assert grown == run_sweep(**{"scenarios": CELLS, "trials": 3, "workers": 1, **changes})
    assert load_results(file) == run_sweep(more, trials=6, workers=1)


@pytest.mark.parametrize("keep", range(0, 1_000, 91))
def test_a_sweep_cut_off_while_it_grew_goes_on(file, keep):
    before = file.stat().st_size
    sweep(file, scenarios=small_cells()[:3], trials=4)
    content = file.read_bytes()
    cut = before + (len(content) - before) * keep // 1_000
    file.write_bytes(content[:cut])
    assert sweep(file, scenarios=small_cells()[:3], trials=4) == run_sweep(
        small_cells()[:3], trials=4, workers=1
    )
    assert trials_in(file) == [(cell, trial) for cell in range(3) for trial in range(4)]


def test_a_partial_file_is_loaded_as_far_as_it_goes(file, expected):
    file.unlink()
    keeping = ResultsFile(file, CELLS, [3, 3], 0)
    for cell, trial in [(0, 0), (0, 2), (1, 0), (1, 1)]:
        keeping.add(cell, [trial], run_chunk(CELLS[cell], [trial], 0))
    keeping.close()
    with pytest.raises(ResultError, match=r"holds 4 of 6 trials\.\n.*partial=True"):
        load_results(file)
    partial = load_results(file, partial=True)
    assert [result.trials for result in partial] == [1, 2]
    for result, whole in zip(partial, expected, strict=True):
        assert result.samples.tolist() == whole.samples.tolist()[: result.trials]
        assert repr(result)
        assert result.summary().rows


def test_records_are_kept_and_trials_without_one_are_run_again(file):
    recorded = sweep(file, record=True)
    assert recorded == run_sweep(CELLS, trials=3, workers=1, record=True)
    assert load_results(file) == recorded
    assert recorded[0].curve("arms_left")[1].shape[0] == 3
    calls = []
    sweep(file, record=True, progress=lambda *call: calls.append(call))
    assert calls == [(6, 6, "")]


@pytest.mark.parametrize("keep", range(0, 1_000, 143))
def test_a_long_block_is_whole_or_run_again_and_damage_in_it_is_refused(tmp_path, keep):
    path, trials = tmp_path / "long.jsonl", range(LONG)
    [cell] = cells = CELLS[:1]
    some = run_chunk(cell, range(10), 0)
    block = Block.join([some] * (LONG // 10))
    keeping = ResultsFile(path, cells, [LONG], 0)
    begin = path.stat().st_size
    keeping.add(0, trials, block)
    keeping.close()
    [result] = load_results(path)
    assert result == Result.of(cell, block, seed=0)
    content = path.read_bytes()
    place = begin + (len(content) - begin) * keep // 1_000
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    with pytest.raises(ResultError, match="damaged at line 3"):
        load_results(path)
    path.write_bytes(content[:place])
    again = ResultsFile(path, cells, [LONG], 0)
    assert again.blocks(0) == []
    again.add(0, trials, block)
    again.close()
    assert path.read_bytes() == content
    assert load_results(path) == [result]
    assert sweep(path, scenarios=cells, trials=LONG) == [result]


@pytest.mark.parametrize("trace", [True, False])
def test_saved_results_are_loaded_as_they_were(tmp_path, trace):
    results = run_sweep(CELLS, trials=[2, 3], workers=1, trace=trace, record=trace)
    path = results.save(tmp_path / "results.jsonl")
    assert_same_results(load_results(path), results)
    assert load_results(results[1].save(path)) == [results[1]]
    assert list(tmp_path.iterdir()) == [path]
    assert sweep(path, trials=2, trace=trace, record=trace) == run_sweep(
        CELLS, trials=2, workers=1, trace=trace, record=trace
    )
    other = simulate(CELLS[0].spec, CELLS[0].problem, CELLS[0].n_players, trials=1, seed=1)
    with pytest.raises(ResultError, match=r"one seed, not \[0, 1\]\.\nSave one file for each"):
        Results([*results, other]).save(path)


def test_traces_are_kept_and_trials_without_one_are_run_again(file):
    assert sweep(file, trace=True) == run_sweep(CELLS, trials=3, workers=1, trace=True)
    assert load_results(file)[0].traces[0]


def test_numbers_are_read_without_the_rule_that_made_them(tmp_path):
    """In a process of its own, which has never imported the rule."""
    path = write_rule(tmp_path, "rule_of_another_day")
    file = tmp_path / "rule.jsonl"
    for text, asked in ((f"import_rules({str(path)!r})", "run"), ("", "read")):
        code = READ.format(first=text, run=asked == "run", file=str(file))
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        path.unlink(missing_ok=True)
    assert ran.stdout.split() == ["2", "rule_of_another_day", "[0]"]


READ = """
from devote import ExperimentSpec, Problem, load_results, simulate
from devote.rules import import_rules
from devote.rules.algorithm import ALGORITHMS
{first}
if {run}:
    spec = ExperimentSpec(
        arms=2, algorithm="rule_of_another_day", epsilon=0.5, scheme={{"quorum": 2}}
    )
    simulate(spec, Problem("easy", [0.9, 0.1]), 4, trials=2, results={file!r})
else:
    [result] = load_results({file!r})
    print(len(result.rows()), result.rows()[0]["algorithm"], sorted(set(result.answers)))
    assert "rule_of_another_day" not in ALGORITHMS
"""


def test_results_of_other_code_are_not_mixed_in(file, monkeypatch):
    monkeypatch.setattr("devote.simulator.results_file.code_key", lambda algorithm: "other")
    with pytest.raises(ResultError, match="code behind ser3 differs"):
        sweep(file)


def test_a_file_of_a_later_format_is_refused(file, monkeypatch):
    monkeypatch.setattr("devote.simulator.results_file.FORMAT", 1)
    with pytest.raises(ResultError, match="has format 5, not 1"):
        load_results(file)


def test_two_sweeps_cannot_write_to_one_file(file):
    held = ResultsFile(file, CELLS, [3, 3], 0)
    try:
        with pytest.raises(ResultError, match="Another sweep is writing"):
            sweep(file)
    finally:
        held.close()
    sweep(file)


def test_a_folder_that_is_not_there_or_a_missing_file_is_said_plainly(tmp_path):
    with pytest.raises(ResultError, match="cannot be written"):
        sweep(tmp_path / "nowhere" / "sweep.jsonl")
    with pytest.raises(ResultError, match="cannot be written"):
        sweep(tmp_path)
    with pytest.raises(ResultError, match="cannot be read"):
        load_results(tmp_path / "nowhere.jsonl")
    assert list(tmp_path.iterdir()) == []
