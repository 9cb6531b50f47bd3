"""Pages: links lead somewhere, blocks run and print what is said, scripts of examples/ run."""

import re
import subprocess
import sys

import pytest
from scripts import survey_limits
from tests.docs.markdown import (
    DOCS,
    PAGES,
    ROOT,
    anchors_of,
    blocks_of,
    links_of,
    prose_of,
    text_of,
)
from tests.docs.notebook import cells_of, prints, run_pages

from devote.cli.main import COMMANDS

TOP = {words.split()[0] for words in COMMANDS}
NOTEBOOKS = [
    DOCS / f"{name}.md"
    for name in (
        *("tour", "schemes", "planner", "simulate", "guide"),
        *("your_own_scheme", "survey"),
    )
]
GUIDES = (
    *("browser.md", "cluster.md", "fleet.md", "openfeature.md", "operate.md", "segments.md"),
    *("serverless.md", "start.md", "take_part.md", "verify.md"),
)
"""Pages that need a server or a device: ``test_guides.py``, and ``test_packages.py`` for one."""
EXAMPLES = {
    "first_steps": (["samples in the first run"], ["arms_left.png", "trials.csv"]),
    "your_own_clicks": (["<Log of 5,000 events, 3 arms>", "answers {'blue'}"], ["clicks.csv"]),
    "a_sweep": (["kept: 6 runs", "64 players, eta 0.9"], ["sweep.png", "sweep.csv"]),
}
ARCHITECTURE = text_of(DOCS / "architecture.md")
WALKS = re.findall(r"^\d+\. `([^`]+)`: (.*)$", ARCHITECTURE, re.MULTILINE)
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@each_page
def test_every_link_leads_to_a_file_and_a_heading(page):
    for file, anchor in links_of(page):
        assert file.exists(), file.relative_to(ROOT)
        if anchor:
            assert anchor in anchors_of(file), f"{file.name}#{anchor}"


@each_page
def test_a_list_has_an_empty_line_before_it(page):
    """Code hosts do not need one; the site would make one paragraph of it."""
    text = prose_of(page)
    joined = re.findall(r"^(?![-*|>#\s]|\d+\.).*\S\n(?:[-*] |\d+\. ).*$", text, flags=re.M)
    assert joined == []


def test_a_page_has_at_most_1500_words_but_for_proofs_and_the_wire():
    words = {page.stem: len(text_of(page).split()) for page in PAGES}
    assert {name for name, count in words.items() if count > 1500} <= {"proofs", "wire"}


def test_every_page_prints_what_it_says(tmp_path):
    """All pages in one test: they share a process, which compiles each rule once."""
    for page, printed in run_pages(NOTEBOOKS, tmp_path).items():
        for (_, expected, _), output in zip(cells_of(page), printed, strict=True):
            assert expected is None or prints(expected, output), f"{page.name}: {output}"
    for picture in ("guide/comparison.png", "simulate/arms_left.png", "simulate/sweep.png"):
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")


def test_the_survey_shows_what_its_command_measures():
    assert survey_limits.table() in text_of(DOCS / "survey.md")


@each_page
def test_no_block_is_left_out(page):
    runs = any(language in ("python", "sh") for _, language, _, _ in blocks_of(page))
    elsewhere = (*GUIDES, "README.md", "CONTRIBUTING.md")
    assert not runs or page in NOTEBOOKS or page.name in elsewhere


@each_page
def test_commands_that_are_only_shown_exist(page):
    """Blocks without a language: servers, installations and output, which no test can run here."""
    targets = set(re.findall(r"^([a-z]+):", text_of(ROOT / "Makefile"), flags=re.M))
    for _, language, block, _ in blocks_of(page):
        if not language:
            assert not re.search(r"^(from|import) ", block, flags=re.M), "Python runs in a test"
            assert set(re.findall(r"^devote ([a-z]\w*)", block, flags=re.M)) <= TOP
            assert set(re.findall(r"^make ([a-z]+)", block, flags=re.M)) <= targets


def test_every_script_is_tested():
    assert {path.stem for path in (ROOT / "examples").glob("*.py")} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_script_runs(name, tmp_path):
    script = ROOT / "examples" / f"{name}.py"
    assert text_of(script).startswith("# %% [markdown]\n# # ")
    command = [sys.executable, "-W", "error", str(script)]
    ran = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False
    )
    assert ran.returncode == 0, ran.stderr
    words, files = EXAMPLES[name]
    assert all(word in ran.stdout for word in words), ran.stdout
    assert all((tmp_path / file).stat().st_size > 100 for file in files)


@pytest.mark.parametrize(("place", "words"), WALKS)
def test_a_step_of_a_walk_of_the_architecture_is_where_it_says(place, words):
    path = ROOT / "src/devote" / place
    files = path.rglob("*.py") if path.is_dir() else [path]
    source = "\n".join(text_of(file) for file in files)
    for name in re.findall(r"`([A-Za-z_]+)`", words):
        assert re.search(rf"\b(def|class) {name}\b", source), name


def test_the_picture_of_the_layers_has_every_package_and_no_other():
    picture = set(re.findall(r"\b([a-z]+)/", ARCHITECTURE.split("```")[1]))
    assert picture == {path.parent.name for path in (ROOT / "src/devote").glob("*/__init__.py")}
