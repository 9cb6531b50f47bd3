"""docs/architecture.md names folders, files and names that are there."""

import re

import pytest
from tests.docs.markdown import DOCS, ROOT, text_of

TEXT = text_of(DOCS / "architecture.md")
ROWS = re.findall(r"^(\d+)\. `([^`]+)`: (.*)$", TEXT, re.MULTILINE)


@pytest.mark.parametrize(("number", "place", "words"), ROWS)
def test_a_step_of_a_walk_is_where_it_says(number, place, words):
    path = ROOT / "src/devote" / place
    files = path.rglob("*.py") if path.is_dir() else [path]
    source = "\n".join(text_of(file) for file in files)
    for name in re.findall(r"`([A-Za-z_]+)`", words):
        assert re.search(rf"\b(def|class) {name}\b", source), name


def test_the_picture_has_every_package_and_no_other():
    picture = set(re.findall(r"\b([a-z]+)/", TEXT.split("```")[1]))
    assert picture == {path.parent.name for path in (ROOT / "src/devote").glob("*/__init__.py")}
