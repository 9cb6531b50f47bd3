"""``devote reproduce`` end to end on a tiny setting, and what it refuses."""

import json
import subprocess
import sys

import pytest

from devote.cli.main import main
from devote.studies import Settings, StudyError, parse_players, reproduce, studies
from devote.studies.reproduce import Reproduction

QUICK = ("problem-2", "mean-gap")
TINY = Settings(players=(32,), trials=2)


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Reproduction:
    return reproduce(QUICK, settings=TINY, out=tmp_path_factory.mktemp("out"), workers=1)


def test_it_writes_figures_claims_and_results(done):
    written = {p.relative_to(done.folder).as_posix() for p in done.folder.rglob("*") if p.is_file()}
    figures = {f"{name}.{suffix}" for name in QUICK for suffix in ("svg", "pdf", "png")}
    assert written >= {*figures, "claims.md", "claims.json", "results/trials.jsonl"}
    assert not [name for name in written if name.endswith(".partial")]


def test_both_tables_of_claims_say_the_same(done):
    document = json.loads((done.folder / "claims.json").read_text(encoding="utf-8"))
    text = (done.folder / "claims.md").read_text(encoding="utf-8")
    assert document["trials"] == 2
    assert document["n_players"] == [32]
    assert len(document["claims"]) == len(done.claims)
    full = text.partition("## In full")[2]
    rows = [line for line in full.splitlines() if line.startswith("| “")]
    for claim, row in zip(document["claims"], rows, strict=True):
        assert claim["quote"] in row
        assert f"**{claim['verdict']}**" in row
        assert row.count("|") - row.count("\\|") == 5


def test_verdicts_on_a_cut_range_of_players_are_marked(done):
    text = (done.folder / "claims.md").read_text(encoding="utf-8")
    assert "the paper's N = 64, 128, 256, 512, 1024 was not run" in text
    rows = {claim["name"]: claim["missing_n_players"] for claim in done.claims}
    assert rows["1-privacy-uneven"] == [64, 128, 256, 512, 1024]
    assert not rows["waits-for-rare-players"], "it is about 32 players"
    for claim in done.claims:
        (row,) = [r for r in text.partition("## In full")[0].splitlines() if claim["quote"] in r]
        cut = claim["missing_n_players"] and claim["verdict"] != "not measured"
        assert ("*(range cut)*" in row) == bool(cut)


def test_a_second_run_only_draws_the_very_same_files(done):
    calls = []
    files = ["claims.json", *(path.name for path in done.figures)]
    before = [(done.folder / name).read_bytes() for name in files]
    reproduce(
        QUICK,
        settings=TINY,
        out=done.folder,
        workers=1,
        progress=lambda finished, total, _: calls.append((finished, total)),
    )
    [(finished, total)] = calls
    assert finished == total, "one call, none per trial"
    assert [(done.folder / name).read_bytes() for name in files] == before


def test_results_of_another_run_are_refused(done):
    with pytest.raises(StudyError, match=r"holds another sweep.*\n(?s:.*)results"):
        reproduce(QUICK, settings=Settings(players=(32,), trials=2, seed=1), out=done.folder)


def test_an_unknown_figure_is_refused_with_the_nearest(tmp_path):
    with pytest.raises(StudyError, match="Did you mean 'problem-1'"):
        reproduce(["problem1"], out=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_without_what_drawing_takes_nothing_is_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert main(["reproduce", "--out", str(tmp_path / "new")]) == 2
    assert "This needs PIL, which is not installed." in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_to_know_what_studies_run_nothing_is_imported_to_draw_with():
    program = (
        "import sys; from devote.studies import studies; "
        "print(len(studies()), {'matplotlib', 'PIL'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == f"{len(studies())} set()\n", done.stderr


def test_a_folder_that_cannot_be_written_is_refused_before_any_work(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StudyError, match="cannot be written"):
        reproduce(out=tmp_path / "file")


@pytest.mark.parametrize("text", ["", "many", "32..", "64..32", "0..8", "32,x"])
def test_a_range_that_is_none_is_refused(text):
    with pytest.raises(StudyError):
        Settings(players=parse_players(text))
    with pytest.raises(StudyError, match="gives no interval"):
        Settings(trials=1)
    assert Settings(players=(32, 64, 128, 256, 512, 1024, 2048)).missing == ()


@pytest.mark.parametrize(
    "arguments",
    [
        ["problem-9"],
        ["--players", "lots"],
        ["--trials", "1"],
        ["--players", "16..64"],
        ["--workers", "none"],
    ],
)
def test_the_command_line_refuses_in_one_line_with_code_2(arguments, tmp_path, capsys):
    code = main(["reproduce", *arguments, "--out", str(tmp_path / "out")])
    assert code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "Traceback" not in error


def test_the_command_line_shows_the_verdicts_or_gives_json(done, capsys):
    arguments = ["--players", "32", "--trials", "2", "--workers", "1", "--out", str(done.folder)]
    assert main(["reproduce", *QUICK, *arguments]) == 0
    shown = capsys.readouterr().out
    assert "holds" in shown
    assert "(cut): the paper's N = 64, 128" in shown
    assert main(["reproduce", *QUICK, *arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["figures"] == [f"{n}.{s}" for n in QUICK for s in ("svg", "pdf", "png")]
    counted = [claim for claim in document["claims"] if not claim["uncounted"]]
    assert sum(document["verdicts"].values()) == len(counted) == len(document["claims"]) - 1
