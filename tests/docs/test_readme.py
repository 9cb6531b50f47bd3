"""What the README says is so: its links, its verdicts, and its example."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def glance(text: str) -> list[str]:
    """The rows of the table of verdicts."""
    return re.findall(r"^\| “.*\*\*.*\|$", text.split("## In full")[0], flags=re.MULTILINE)


def test_the_verdicts_are_those_of_the_reproduction():
    rows = glance((ROOT / "docs" / "claims.md").read_text())
    assert len(rows) >= 12
    assert glance(README) == rows


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_within_the_repository_leads_somewhere(page):
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text())
    missing = [t for t in targets if "://" not in t and not (page.parent / t).exists()]
    assert missing == []


def test_the_example_of_a_simulation_prints_what_its_comments_say(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = [b for b in re.findall(r"```python\n(.*?)```", README, re.S) if "simulate(" in b]
    exec(compile(block, "README.md", "exec"), {})
    samples, votes, status = capsys.readouterr().out.splitlines()
    assert 28_000 < float(samples) < 32_000
    assert float(votes) == 252
    assert status == "{'agreed': 20, 'stalled': 0, 'unfinished': 0}"
    assert (tmp_path / "run.npz").exists()
