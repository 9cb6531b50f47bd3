"""The page of the site on the paper maps every numbered part of it, to names that exist."""

import ast
import functools
import importlib
import re
from pathlib import Path

import pytest
from scripts import paper_map

ROOT = Path(__file__).parents[2]
MAP = paper_map.page()

CODE = re.compile(r"`(devote[\w.]*):([\w.]+)`")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")

ROWS = {
    cells[0]: cells
    for line in MAP.splitlines()
    if line.startswith("| ") and not line.startswith("| part")
    for cells in [[cell.strip() for cell in line.strip("|").split("|")]]
}
PARTS = [
    *(f"Definition {i}" for i in range(1, 5)),
    *(f"Assumption {i}" for i in range(1, 5)),
    *(f"Property {i}" for i in range(1, 3)),
    *(f"Algorithm 1, line {i}" for i in range(1, 9)),
    *(f"Algorithm 2, line {i}" for i in range(1, 23)),
    *("Algorithm 2, inputs", "Algorithm 2, initialization", "Algorithm 2, output"),
    *("Theorem 1, messages", "Theorem 1, failure", "Theorem 1, end", "Theorem 1, privacy"),
    *("Theorem 2", "Theorem 3", "Theorem 4, messages", "Theorem 4, failure"),
    *("Theorem 4, samples", "Theorem 4, privacy", "Jury"),
    *("Corollary 1", "Corollary 2", "Remark 1"),
    *(f"Problem {i}" for i in range(1, 6)),
    *("Baseline 1-privacy", "Baseline 0-privacy"),
    *(f"Figure {i}" for i in range(4, 9)),
    *(f"Erratum {i}" for i in range(1, 23)),
]

MEASURED_BY = {
    "Definition 3": "devote.audit.privacy",
    "Theorem 1, privacy": "devote.audit.privacy",
    "Theorem 4, privacy": "devote.audit.privacy",
    "Erratum 8": "devote.audit.privacy",
    "Theorem 1, failure": "devote.audit.correctness",
    "Property 1": "devote.theory.vote",
    "Erratum 18": "devote.theory.vote",
}
"""Parts that are promises: what judges each, and not what makes it, is its code."""


@functools.cache
def functions_in(path):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def exists_in_code(module, name):
    try:
        target = importlib.import_module(module)
    except ModuleNotFoundError:
        return False
    for part in name.split("."):
        # A dataclass field without a default is no attribute, but is annotated.
        if not hasattr(target, part):
            return part in getattr(target, "__annotations__", {})
        target = getattr(target, part)
    return True


def exists_in_tests(path, name):
    return (ROOT / path).is_file() and name in functions_in(path)


@pytest.mark.parametrize("part", PARTS)
def test_every_numbered_part_of_the_paper_has_code_and_a_test(part):
    assert part in ROWS, f"{part} is missing from scripts/paper_map.toml"
    _, _, code, tests = ROWS[part]
    assert CODE.search(code), f"{part} names no code"
    assert TEST.search(tests), f"{part} names no test"


@pytest.mark.parametrize("part", MEASURED_BY)
def test_a_promise_points_at_what_judges_it(part):
    modules = [module for module, _ in CODE.findall(ROWS[part][2])]
    assert MEASURED_BY[part] in modules


@pytest.mark.parametrize("number", [16, 17, 20, 21])
def test_an_erratum_is_told_where_its_code_is(number):
    """``Differs from print:`` and the number, in a module that the erratum's row names."""
    modules = {module for module, _ in CODE.findall(ROWS[f"Erratum {number}"][2])}
    texts = [Path(importlib.import_module(module).__file__).read_text() for module in modules]
    pattern = re.compile(rf"Differs from print:[^\n]*\n?[^\n]*\n?[^\n]*\b{number}\)")
    assert any(pattern.search(text) for text in texts)


def test_no_row_is_without_code_or_test():
    for part, cells in ROWS.items():
        if set(part) != set("-"):
            assert len(cells) == 4, part
            assert CODE.search(cells[2]), part
            assert TEST.search(cells[3]), part


def test_every_name_in_the_map_exists():
    code, tests = CODE.findall(MAP), TEST.findall(MAP)
    assert len(code) >= len(PARTS)
    assert len(tests) >= len(PARTS)
    missing = [f"{module}:{name}" for module, name in code if not exists_in_code(module, name)]
    missing += [f"{path}::{name}" for path, name in tests if not exists_in_tests(path, name)]
    assert missing == []


def test_a_backticked_name_of_code_or_test_is_always_checked():
    """Nothing that looks like a name slips past the two patterns."""
    quoted = re.findall(r"`([^`]+)`", MAP)
    suspicious = [text for text in quoted if text.startswith("devote") or "::test" in text]
    unchecked = [
        text for text in suspicious if not any(p.fullmatch(f"`{text}`") for p in (CODE, TEST))
    ]
    assert unchecked == []


@pytest.mark.parametrize(
    ("module", "name"),
    [("devote.rules.votes", "no_such_thing"), ("devote.no_such_module", "quorum")],
)
def test_a_name_that_is_gone_is_noticed(module, name):
    assert not exists_in_code(module, name)
    assert not exists_in_tests("tests/paper/test_theorem_1.py", name)
    assert not exists_in_tests("tests/paper/test_no_such_file.py", name)
