"""The append-only file of a sweep: what it keeps, tolerates and refuses."""

import json
import subprocess
import sys

import pytest
from tests.simulator.rule_files import write_rule
from tests.simulator.sweeps import assert_same_results, small_cells, trials_in

from devote.simulator import ResultError, Results, load_results, run_sweep, simulate
from devote.simulator.results_file import ResultsFile
from devote.simulator.trials import run_chunk

CELLS = small_cells()[:2]


def sweep(path=None, **changes):
    return run_sweep(**{"scenarios": CELLS, "trials": 3, "workers": 1, "results": path, **changes})


def run_calls(path, **changes):
    """The results of a sweep, and how many trials were finished at its begin and end."""
    calls = []
    found = sweep(path, progress=lambda *call: calls.append(call[0]), **changes)
    return found, (calls[0], calls[-1])


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sweep.jsonl"
    sweep(path)
    return path


@pytest.fixture(scope="module")
def expected():
    return sweep()


def test_the_file_says_what_it_is_and_holds_a_line_per_block(file, expected):
    head, one, other, *_ = [json.loads(line) for line in file.read_text().splitlines()]
    assert head["kind"] == "devote results"
    assert {"devote", "numba", "numpy", "python"} == set(head["versions"])
    assert [line["scenario"] for line in (one, other)] == [cell.to_dict() for cell in CELLS]
    assert trials_in(file) == [(cell, trial) for cell in range(2) for trial in range(3)]
    assert_same_results(load_results(file), expected)


@pytest.mark.parametrize("keep", range(0, 1_001, 40))
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


@pytest.mark.parametrize("part", range(0, 10))
def test_damage_in_the_middle_is_refused_and_nothing_is_changed(file, part):
    content = file.read_bytes()
    begin = content.index(b'{"cell":0,"trial"')
    place = begin + (len(content) - 2 - begin) * part // 10
    damaged = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
    file.write_bytes(damaged)
    for read in (sweep, load_results):
        with pytest.raises(ResultError, match=r"damaged at line \d+, or is not"):
            read(file)
    assert file.read_bytes() == damaged


@pytest.mark.parametrize(
    "content", [b"hello\n", b"hello", b'{"kind":"devote results"}\n', b"\n\n", b"\0"]
)
def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    for read in (sweep, load_results):
        with pytest.raises(ResultError, match="damaged at line 1"):
            read(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "changes",
    [{}, {"trials": 2}, {"scenarios": CELLS[:1]}, {"scenarios": CELLS[::-1]}, {"scenarios": []}],
)
def test_what_the_file_holds_is_read_and_not_run(file, changes, monkeypatch):
    content = file.read_bytes()
    monkeypatch.setattr("devote.simulator.sweep.local_executor", None)
    read, (begin, end) = run_calls(file, **changes)
    assert begin == end == sum(result.trials for result in read)
    assert file.read_bytes() == content
    monkeypatch.undo()
    assert read == sweep(**changes)


def test_a_sweep_grows_by_trials_and_by_cells_and_runs_only_what_is_new(file):
    more = small_cells()[:4]
    asked = [
        {"trials": 5},
        {"scenarios": more, "trials": 2},
        {"scenarios": more[::-1], "trials": 6},
    ]
    for changes, missing in zip(asked, [4, 4, 10], strict=True):
        before = file.read_bytes()
        grown, (begin, end) = run_calls(file, **changes)
        assert end - begin == missing
        assert file.read_bytes().startswith(before)
        assert grown == sweep(**changes)
    assert load_results(file) == sweep(scenarios=more, trials=6)


def test_a_partial_file_is_loaded_as_far_as_it_goes(file, expected):
    file.unlink()
    keeping = ResultsFile(file, CELLS, [3, 3], 0)
    for cell, trial in [(0, 0), (0, 2), (1, 0), (1, 1)]:
        keeping.add(cell, [trial], run_chunk(CELLS[cell], [trial], 0))
    with pytest.raises(ResultError, match="Another sweep is writing"):
        sweep(file)
    keeping.close()
    with pytest.raises(ResultError, match=r"holds 4 of 6 trials\.\n.*partial=True"):
        load_results(file)
    partial = load_results(file, partial=True)
    assert [result.trials for result in partial] == [1, 2]
    for result, whole in zip(partial, expected, strict=True):
        assert result.samples.tolist() == whole.samples.tolist()[: result.trials]
        assert result.summary().rows


@pytest.mark.parametrize("keep", ["record", "trace"])
def test_records_and_traces_are_kept_and_trials_without_one_are_run_again(file, keep):
    found = sweep(file, **{keep: True})
    assert found == sweep(**{keep: True})
    assert load_results(file) == found
    assert run_calls(file, **{keep: True})[1] == (6, 6)


@pytest.mark.parametrize("trace", [True, False])
def test_saved_results_are_loaded_as_they_were(tmp_path, trace):
    results = sweep(trials=[2, 3], trace=trace, record=trace)
    path = results.save(tmp_path / "results.jsonl")
    assert_same_results(load_results(path), results)
    assert load_results(results[1].save(path)) == [results[1]]
    assert list(tmp_path.iterdir()) == [path]
    kept = {"trials": 2, "trace": trace, "record": trace}
    assert sweep(path, **kept) == sweep(**kept)
    other = simulate(CELLS[0].spec, CELLS[0].problem, CELLS[0].n_players, trials=1, seed=1)
    with pytest.raises(ResultError, match=r"one seed, not \[0, 1\]\.\nSave one file for each"):
        Results([*results, other]).save(path)


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
    simulate(spec, Problem("easy", [0.9, 0.1]), 4, trials=2).save({file!r})
else:
    [result] = load_results({file!r})
    print(len(result.rows()), result.rows()[0]["algorithm"], sorted(set(result.answers)))
    assert "rule_of_another_day" not in ALGORITHMS
"""


@pytest.mark.parametrize(
    ("part", "changed", "changes", "message"),
    [
        (None, None, {"seed": 1}, r"another sweep: its seed is 0, not 1\.\nName another"),
        ("code_key", lambda algorithm: "other", {}, "code behind ser3 differs"),
        ("FORMAT", 1, {}, r"has format \d, not 1"),
    ],
)
def test_a_file_of_another_seed_code_or_format_is_refused(
    file, monkeypatch, part, changed, changes, message
):
    content = file.read_bytes()
    if part:
        monkeypatch.setattr(f"devote.simulator.results_file.{part}", changed)
    with pytest.raises(ResultError, match=message):
        sweep(file, **changes)
    assert file.read_bytes() == content


def test_a_folder_that_is_not_there_or_a_missing_file_is_said_plainly(tmp_path):
    for path in (tmp_path / "nowhere" / "sweep.jsonl", tmp_path):
        with pytest.raises(ResultError, match="cannot be written"):
            sweep(path)
    with pytest.raises(ResultError, match="cannot be read"):
        load_results(tmp_path / "nowhere.jsonl")
    assert list(tmp_path.iterdir()) == []
