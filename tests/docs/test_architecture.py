"""The walks of docs/architecture.md name files and functions that are there, 25 or fewer."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/architecture.md").read_text()
ROWS = re.findall(r"^\| (\d+) \| `([^`]+)` \| (.*) \|$", TEXT, re.MULTILINE)


@pytest.mark.parametrize(("number", "file", "words"), ROWS)
def test_a_step_of_a_walk_is_where_it_says(number, file, words):
    source = (ROOT / "src/devote" / file).read_text()
    for name in re.findall(r"`([A-Za-z_.]+)`", words):
        assert re.search(rf"\b(def|class) {name.rpartition('.')[2]}\b", source), name


def test_a_reward_reaches_the_page_in_25_files():
    first_walk = [file for number, file, _ in ROWS[: [n for n, _, _ in ROWS].index("1", 1)]]
    assert len(first_walk) == len(set(first_walk)) <= 25


def test_every_layer_of_the_picture_exists():
    picture = TEXT.split("```")[1]
    for folder in re.findall(r"\b([a-z]+)/", picture):
        assert any((ROOT / "src/devote").rglob(f"{folder}/__init__.py")), folder
