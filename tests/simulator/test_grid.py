"""Grids of scenarios, from Python and from a file, and the command that runs them."""

import json
import os
import pty
import signal
import subprocess
import sys

import pytest

from devote import grid, load_results
from devote.cli.main import main
from devote.errors import DevoteError
from devote.problems import Problem
from devote.simulator import SweepError
from devote.simulator.grids import read_sweep

FILE = """
problem = { means = [0.9, 0.6, 0.1] }
n_players = [8, 12]
epsilon = 0.5
scheme = [{ name = "decentralized", quorum = 3 }, "pooled"]
trials = 3
seed = 7
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(FILE)
    return path


def test_a_list_is_an_axis_and_the_last_one_runs_fastest():
    cells = grid(
        problem=[Problem("toy", [0.9, 0.1]), "1"],
        n_players=[32, 64],
        activity="zipf:1.1",
        options={"radius": "active"},
    )
    assert [(cell.problem.name, cell.n_players) for cell in cells] == [
        ("toy", 32),
        ("toy", 64),
        ("1", 32),
        ("1", 64),
    ]
    assert {cell.problem.activity.spec for cell in cells} == {"zipf:1.1"}
    assert {cell.spec.n_arms for cell in cells[:2]} == {2}
    assert cells[0].spec.options["radius"] == "active"
    both = grid(problem="1", n_players=32, engine=["event", "passes"])
    assert [cell.runs_on for cell in both] == ["event", "passes"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"problem": "1", "players": 3}, r"'players' is not part of a grid\.\n.*n_players"),
        ({"problem": "1"}, r"no n_players\.\nGive one"),
        ({"n_players": 3}, r"no problem\.\nGive one"),
        ({"problem": "1", "n_players": []}, r"n_players is an empty list\.\nGive"),
        ({"problem": "9", "n_players": 3}, r"problem '9' is not in the catalogue"),
        ({"problem": "1", "n_players": [64, 3]}, r"28 votes.*but there are 3"),
    ],
)
def test_what_is_no_grid_is_said(given, message):
    with pytest.raises(DevoteError, match=message):
        grid(**given)


def test_a_sweep_file_is_read(file):
    asked = read_sweep(file)
    assert (asked.trials, asked.seed, len(asked.cells)) == (3, 7, 4)
    assert [cell.scheme.name for cell in asked.cells] == ["decentralized", "pooled"] * 2
    file.write_text("trials = ")
    with pytest.raises(SweepError, match=r"grid\.toml is not TOML: .*\nWrite lines such as"):
        read_sweep(file)
    with pytest.raises(SweepError, match=r"cannot be read.*\nName a TOML file"):
        read_sweep(file.with_name("no.toml"))


def test_the_command_runs_the_grid_grows_it_and_tells_it_in_80_columns(file, capsys, monkeypatch):
    assert main(["sweep", str(file), "--workers", "1"]) == 0
    out = capsys.readouterr().out
    heads = "scheme parameters n_players trials samples ± messages good"
    assert out.splitlines()[0].split() == heads.split()
    assert max(map(len, out.splitlines()[:5])) <= 80
    kept = file.with_suffix(".jsonl")
    assert [one.trials for one in load_results(kept)] == [3] * 4
    before = kept.read_bytes()
    csv = file.with_suffix(".csv")
    arguments = ["sweep", str(file), "--trials", "4", "--workers", "1", "--csv", str(csv), "--json"]
    assert main(arguments) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(one["scheme"], one["n_players"], one["trials"]) for one in told["cells"]] == [
        ("decentralized", 8, 4),
        ("pooled", 8, 4),
        ("decentralized", 12, 4),
        ("pooled", 12, 4),
    ]
    assert kept.read_bytes().startswith(before)
    assert len(csv.read_text().splitlines()) == 17


@pytest.mark.slow
def test_ctrl_c_in_a_terminal_says_how_to_go_on_and_the_table_was_live(tmp_path):
    path = tmp_path / "long.toml"
    path.write_text('problem = "1"\nn_players = [32, 1024]\nscheme = "isolated"\ntrials = 100000\n')
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "devote.cli.main", "sweep", str(path), "--workers", "1"],
        stdout=subprocess.PIPE,
        stderr=follower,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    os.close(follower)
    said = b""
    while b"32" not in said.partition(b"trials")[2]:
        said += os.read(leader, 4096)
    while path.with_suffix(".jsonl").read_bytes().count(b"\n") < 5:
        said += os.read(leader, 4096)
    process.send_signal(signal.SIGINT)
    try:
        while chunk := os.read(leader, 4096):
            said += chunk
    except OSError:  # the other end is closed
        pass
    process.communicate(timeout=60)
    os.close(leader)
    assert process.returncode == 130
    assert b"kept in long.jsonl. Run the same again to go on from there." in b" ".join(said.split())
