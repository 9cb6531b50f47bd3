import json
from dataclasses import fields

from devote.problems import PROBLEMS
from devote.protocol.scheme import SCHEMES
from devote.rules.registry import ALGORITHMS


def test_algorithms_names_all_with_their_sources(devote):
    listed = json.loads(devote("algorithms", "--json").out)
    assert [row["name"] for row in listed] == list(ALGORITHMS)
    assert all(row["summary"] and row["source"] for row in listed)
    table = devote("algorithms").out
    assert all(name in table for name in ALGORITHMS)
    assert "radius=union" in table


def test_schemes_names_all_with_their_parameters(devote):
    listed = json.loads(devote("schemes", "--json").out)
    assert [row["name"] for row in listed] == list(SCHEMES)
    for row in listed:
        assert row["summary"]
        assert [item["name"] for item in row["parameters"]] == [
            field.name for field in fields(SCHEMES[row["name"]])
        ]
        assert all(item["meaning"] for item in row["parameters"])
    table = devote("schemes").out
    assert all(name in table for name in SCHEMES)
    assert "--set seats=29" in table
    assert "--set quorum=paper" in table


def test_problems_names_all_with_their_sources(devote):
    listed = json.loads(devote("problems", "--json").out)
    assert [row["name"] for row in listed] == list(PROBLEMS)
    assert all(row["summary"] and row["source"] for row in listed)
    assert "section 5.1" in devote("problems").out
