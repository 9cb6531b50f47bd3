import json

from devote.kernels.registry import ALGORITHMS
from devote.problems import PROBLEMS


def test_algorithms_names_all_with_their_sources(devote):
    listed = json.loads(devote("algorithms", "--json").out)
    assert [row["name"] for row in listed] == list(ALGORITHMS)
    assert all(row["summary"] and row["source"] for row in listed)
    table = devote("algorithms", "--seed", 3).out
    assert all(name in table for name in ALGORITHMS)
    assert "radius=union or active" in table


def test_problems_names_all_with_their_sources(devote):
    listed = json.loads(devote("problems", "--json").out)
    assert [row["name"] for row in listed] == list(PROBLEMS)
    assert all(row["summary"] and row["source"] for row in listed)
    assert "section 5.1" in devote("problems").out
