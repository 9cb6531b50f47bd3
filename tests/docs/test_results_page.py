"""The page on results, sweeps, rules and data runs, and prints what it says it prints."""

from pathlib import Path

from tests.docs.notebook import files_of, run_page

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_on_results_runs_and_prints_what_it_says(tmp_path):
    printed, expected = run_page(DOCS / "results.md", tmp_path, files_of(DOCS / "guide.md"))
    assert printed == expected
    assert len((tmp_path / "sweep.csv").read_text().splitlines()) == 1 + 96
    assert len((tmp_path / "grid.csv").read_text().splitlines()) == 1 + 20
    assert (tmp_path / "sweep.png").read_bytes().startswith(b"\x89PNG")
