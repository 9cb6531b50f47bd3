"""Every block of Python and every command of the pages runs, and prints what the page says."""

import re

import pytest
from scripts import survey_limits
from tests.docs.markdown import PAGES, ROOT
from tests.docs.notebook import blocks_of, expected_of, prints, run_pages

from devote.cli.main import COMMANDS

TOP = {words.split()[0] for words in COMMANDS}
DOCS = ROOT / "docs"
NOTEBOOKS = [
    DOCS / f"{name}.md"
    for name in (
        *("tour", "schemes", "planner"),
        *("simulate", "guide", "your_own_scheme", "survey"),
    )
]
ELSEWHERE = {
    "README.md": "test_readme.py",
    "CONTRIBUTING.md": "test_readme.py",
    "browser.md": "test_browser_guide.py",
    "cluster.md": "test_cluster_guide.py",
    "fleet.md": "test_fleet_guide.py",
    "operate.md": "test_fleet_guide.py",
    "verify.md": "test_fleet_guide.py",
    "serverless.md": "test_serverless.py",
}
"""Pages that need a server or a device, and the tests that run their blocks."""


def test_every_page_prints_what_it_says(tmp_path):
    """All pages in one test: they share a process, which compiles each rule once."""
    for page, printed in run_pages(NOTEBOOKS, tmp_path).items():
        for expected, block in zip(expected_of(page), printed, strict=True):
            assert expected is None or prints(expected, block), f"{page.name}: {block}"
    for picture in ("guide/comparison.png", "simulate/arms_left.png", "simulate/sweep.png"):
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")


def test_the_survey_shows_what_its_command_measures():
    assert survey_limits.table() in (DOCS / "survey.md").read_text(encoding="utf-8")


def test_a_page_has_at_most_1500_words_but_for_proofs_and_the_wire():
    words = {page.stem: len(page.read_text(encoding="utf-8").split()) for page in PAGES}
    assert {name for name, count in words.items() if count > 1500} <= {"proofs", "wire"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_block_is_left_out(page):
    runs = [body for name, language, body, _ in blocks_of(page) if language in ("python", "sh")]
    if runs and page not in NOTEBOOKS:
        assert (DOCS.parent / "tests/docs" / ELSEWHERE[page.name]).exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_are_only_shown_exist(page):
    """Blocks without a language: servers, installations and output, which no test can run here."""
    text = page.read_text(encoding="utf-8")
    bare = [
        body for word, body in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S) if not word
    ]
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    for block in bare:
        assert not re.search(r"^(from|import) ", block, flags=re.M), "Python runs in a test"
        assert set(re.findall(r"^devote ([a-z]\w*)", block, flags=re.M)) <= TOP
        assert set(re.findall(r"^make ([a-z]+)", block, flags=re.M)) <= targets
