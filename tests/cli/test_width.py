"""What commands print into a pipe: 80 columns, no colours, no number cut off."""

import json

import pytest

pytestmark = pytest.mark.usefixtures("shipped_schemes")

GRID = 'problem = "1"\nn_players = [32]\nalgorithm = "ser3"\neta = [0.5, 0.9]\ntrials = 1\n'
COMMANDS = {
    "simulate": ("--players", 32, "--trials", 2),
    "sweep": ("grid.toml", "--workers", 1),
    "plan": ("--players", 2_000_000, "--means", ".9,.4,.2", "--epsilon", ".3", "--trials", 1),
    "plan --scheme": ("decentralized", "--means", ".9,.4,.2", "--epsilon", ".3", "--trials", 1),
    "plan --sweep": ("players", "--means", ".9,.1", "--players", 64, "--trials", 1, "--workers", 1),
    "audit correctness": ("--worst-case", "--players", 29, "--precision", ".2", "--workers", 1),
    "audit privacy": ("--players", 32, "--runs", 200, "--workers", 1),
    "schemes": (),
    "algorithms": (),
    "problems": (),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_pipe_gets_80_columns_and_whole_numbers(devote, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.toml").write_text(GRID)
    ran = devote(*name.split(), *COMMANDS[name])
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert len(lines) > 2
    assert max(map(len, lines)) <= 80
    assert "…" not in ran.out
    assert "\x1b" not in ran.out


def test_a_sweep_of_a_plan_writes_nothing_unless_asked(devote, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = ("plan", "--sweep", "players", "--means", ".9,.1", "--players", 64, "--trials", 1)
    found = json.loads(devote(*asked, "--workers", 1, "--json").out)
    assert found["picture"] is found["data"] is None
    assert len(found["rows"]) == len(found["values"]) > 1
    assert list(tmp_path.iterdir()) == []
    devote(*asked, "--workers", 1, "--out", "plan.svg")
    assert {path.name for path in tmp_path.iterdir()} == {"plan.svg", "plan.json"}


def names_of(value):
    """Every key of a JSON value, however deep."""
    if isinstance(value, dict):
        yield from value
        for one in value.values():
            yield from names_of(one)
    elif isinstance(value, list):
        for one in value:
            yield from names_of(one)


@pytest.mark.parametrize(
    "name", [name for name in COMMANDS if name not in ("sweep", "audit privacy")]
)
def test_the_number_of_players_has_one_name_in_all_json(devote, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    names = set(names_of(json.loads(devote(*name.split(), *COMMANDS[name], "--json").out)))
    assert not names & {"players", "N", "num_players", "devices", "n_devices"}
    assert "n_players" in names or name in ("schemes", "algorithms", "problems")
