"""The guide is a notebook: its blocks run in one session, and print what it says they print."""

from pathlib import Path

from tests.docs.notebook import run_page

GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"


def test_the_guide_runs_and_prints_what_it_says(tmp_path):
    printed, expected = run_page(GUIDE, tmp_path)
    assert expected
    assert printed == expected
    assert (tmp_path / "comparison.png").read_bytes().startswith(b"\x89PNG")
