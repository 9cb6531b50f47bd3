"""``devote simulate``, ``sweep``, ``watch`` and the listings."""

import io
import json
import math
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from rich.console import Console

from devote.cli.lab import picture, watcher
from devote.problems import PROBLEMS, Problem
from devote.protocol import ExperimentSpec
from devote.protocol.scheme import SCHEMES
from devote.rules.algorithm import ALGORITHMS
from devote.simulator import Scenario, load_results, simulate
from devote.simulator.frames import frames

pytestmark = pytest.mark.usefixtures("shipped_schemes")
DEVOTE = Path(sys.executable).with_name("devote")
EASY = ("--means", ".9,.1", "--players", 32)
SMALL = ("simulate", *EASY, "--trials", 3)


def run(*arguments, **how):
    """The installed command, run as a user runs it."""
    return subprocess.run(
        [DEVOTE, *map(str, arguments)], capture_output=True, text=True, timeout=240, **how
    )


def test_simulate_prints_one_object_that_keeps_the_contract():
    ran = run("simulate", "--problem", 1, "--players", 32, "--trials", 3, "--seed", 1, "--json")
    assert (ran.returncode, ran.stderr, ran.stdout.count("\n")) == (0, "", 1)
    printed = json.loads(ran.stdout)
    assert (printed["spec"]["algorithm"], printed["spec"]["epsilon"]) == ("ser3", 0.25)
    assert printed["scheme"] == printed["spec"]["scheme"]["name"] == "decentralized"
    assert (printed["votes_needed"], printed["n_players"], printed["trials"]) == (28, 32, 3)
    for name in ("samples_until_all_know", "samples", "broadcasts", "deliveries", "conflicts"):
        spread = printed[name]
        assert set(spread) == {"mean", "std", "values"}
        assert all(isinstance(value, int) for value in spread["values"])
        assert math.isclose(spread["mean"], sum(spread["values"]) / 3)
    assert printed["broadcasts"]["values"] == [252, 252, 252]
    assert printed["deliveries"]["values"] == [252 * 31] * 3
    assert printed["status"] == {"agreed": 3, "stalled": 0, "unfinished": 0}
    assert printed["winners"] == [0, 0, 0]
    assert printed["epsilon_optimal"] == printed["holds_epsilon_optimal"] == 1.0
    pulls = sum(printed["samples_until_all_know"]["values"])
    assert math.isclose(printed["pulls_per_second"], pulls / printed["wall_seconds"])


def test_erratum_5_tied_arms_stall_and_the_answer_is_the_arms_left(devote):
    tied = ("simulate", "--means", ".7,.7,.1", "--players", 32, "--trials", 3)
    printed = devote(*tied, "--json").json
    assert printed["status"] == {"agreed": 0, "stalled": 3, "unfinished": 0}
    assert printed["winners"] == printed["winner_means"] == [None] * 3
    assert [sorted(arms) for arms in printed["shared"]] == [[0, 1]] * 3
    words = devote(*tied).words
    for part in ("still shared: arms 0, 1", "holds a good arm", "first arm is good"):
        assert part in words


def test_the_numbers_depend_on_the_seed_and_not_on_the_workers(devote):
    one, again, other, shared = (
        devote(*SMALL, "--json", *more).json["samples"]
        for more in (("--seed", 1), ("--seed", 1), ("--seed", 2), ("--seed", 1, "--workers", 2))
    )
    assert one == again == shared != other


def test_the_table_says_what_a_person_asks_first(devote):
    words = devote(*SMALL).words
    for part in (
        *("samples", "all know", "per device", "broadcasts", "deliveries", "conflicts", "3 of 3"),
        *("arm 0 won", "mean 0.9", "claimed bound", "proved bound", "pulls per second"),
    ):
        assert part in words


def test_options_reach_the_scenario(devote):
    def printed(*more):
        return devote(*SMALL, "--json", *more).json

    assert printed("--problem", 2)["problem"]["means"] == [0.9, 0.1]
    assert printed("--problem", 2)["problem"]["activity"] == "split:0.5,0.8"
    assert printed("--activity", "zipf:1.1")["problem"]["activity"] == "zipf:1.1"
    for rule, votes in (("paper", 28), ("ceil", 29), ("5", 5)):
        assert printed("--set", f"quorum={rule}")["votes_needed"] == votes
    assert printed("--option", "radius=active")["spec"]["options"] == {"radius": "active"}
    jury = printed(
        "--players", 60, "--scheme", "jury", "--set", "seat_after=10", "--set", "liars=1"
    )
    assert (jury["spec"]["scheme"]["seat_after"], jury["votes_needed"]) == (10, 11)
    assert jury["spec"]["eta"] == 0.2  # the scheme's own
    for scheme in ("isolated", "pooled"):
        assert printed("--scheme", scheme)["votes_needed"] is None
        assert devote(*SMALL, "--scheme", scheme).code == 0


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_horizon_too_small_for_any_trial_is_one_line_and_exit_code_2(devote, form):
    ran = devote(*SMALL, "--horizon", 100, *form)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "devote: 0 of 3 trials ended within --horizon 100 pulls. "
        "Raise --horizon, or leave --horizon out to run to the end.\n"
    )
    samples = devote(*SMALL, "--json").json["samples_until_all_know"]["values"]
    words = devote(*SMALL, "--horizon", min(samples)).words
    assert "1 of 3" in words
    assert f"the horizon of {min(samples):,} pulls came first" in words


def test_ser4_runs_to_its_horizon_and_the_winners_mean_is_that_at_the_end(devote):
    settings = ("--algorithm", "ser4", "--option", "phi=.0001", "--horizon", 180_000, "--trials", 3)
    printed = devote("simulate", "--problem", 4, *settings, "--json").json
    assert printed["samples_until_all_know"]["values"] == [180_000] * 3
    assert printed["resets"]["mean"] > 0
    won = {
        pair
        for pair in zip(printed["winners"], printed["winner_means"], strict=True)
        if pair[0] == 8
    }
    assert won == {(8, 0.8)}
    assert printed["problem"]["means"][8] != 0.8
    assert "mean 0.8 at the end" in devote("simulate", "--problem", 4, *settings).words


def test_save_keeps_every_trial(devote, tmp_path):
    file = tmp_path / "kept.jsonl"
    values = devote(*SMALL, "--save", file, "--json").json["samples_until_all_know"]["values"]
    [kept] = load_results(file)
    assert kept.samples_until_all_know.tolist() == values
    assert [path.name for path in tmp_path.iterdir()] == ["kept.jsonl"]


WATCHED = ("watch", "--means", ".9,.1,.1", "--players", 32)


def test_where_nobody_watches_each_event_is_a_line_or_an_object(devote):
    out = devote(*WATCHED).out
    assert out.count("votes against arm") == 56
    assert out.count("eliminated") == 2
    assert "(28/28)" in out
    assert out.splitlines()[-1].endswith("agreed: every player holds arm 0")
    rows = [json.loads(line) for line in devote(*WATCHED, "--json").out.splitlines()]
    assert [row["kind"] for row in rows].count("vote") == 56
    assert (rows[-1]["kind"], rows[-1]["winners"]) == ("end", [0])
    stalled = devote("watch", "--means", ".7,.7", "--players", 32).out
    assert "stalled: players are split over arms" in stalled.splitlines()[-1]
    slow = ("--scheme", "jury", "--algorithm", "ser3")  # so that all seats are claimed
    jury = devote("watch", "--means", ".9,.1", "--players", 60, *slow).out
    assert jury.count("claims a seat") == 29
    assert "picks arm 0 (10/10)" in jury


def test_it_is_the_run_that_simulate_would_make():
    spec, problem = ExperimentSpec(arms=3), Problem("toy", [0.9, 0.1, 0.1])
    result = simulate(spec, problem, 32, trials=1, trace=True)
    seen = list(frames(Scenario(spec, problem, 32), step=100))
    assert seen[-1].samples == result.samples_until_all_know[0]
    assert [event for frame in seen for event in frame.events] == list(result.traces[0])


def test_speed_limits_the_pulls_per_second(devote, monkeypatch):
    slept = []
    monkeypatch.setattr("devote.cli.lab.time.sleep", slept.append)
    monkeypatch.setattr("devote.cli.lab.time.monotonic", lambda: 0.0)
    devote(*WATCHED, "--speed", 2000, "--horizon", 1000)
    assert len(slept) == 9


@pytest.mark.parametrize("scheme", ["decentralized", "isolated", "jury"])
def test_the_screen_shows_arms_votes_and_players_done(scheme):
    spec = ExperimentSpec(arms=3, scheme=scheme)
    scenario = Scenario(spec, Problem("toy", [0.9, 0.1, 0.1]), 32)
    out = io.StringIO()
    with watcher(scenario, Console(file=out, force_terminal=True, width=100)) as show:
        for frame in frames(scenario, step=500):
            show(frame)
    assert "players down to one arm" in out.getvalue()
    assert "every player holds arm 0" in out.getvalue()


def test_the_screen_shows_an_arm_that_remains_but_is_not_asked_about():
    spec = ExperimentSpec(arms=4, epsilon=0.2, scheme={"name": "survey", "privacy": 4.0})
    scenario = Scenario(spec, Problem("toy", [0.9, 0.1, 0.5, 0.8]), 900)
    waits = [frame for frame in frames(scenario, step=10) if frame.asked != frame.shared]
    assert waits
    for frame in waits:
        out = io.StringIO()
        Console(file=out, width=100).print(picture(scenario, frame))
        n_waiting = sum(frame.shared) - sum(frame.asked)
        assert out.getvalue().count("not asked about now") == n_waiting > 0


@pytest.mark.parametrize(
    ("name", "known", "shown"),
    [
        ("algorithms", ALGORITHMS, "--option radius=union"),
        ("schemes", SCHEMES, "--set seats=29"),
        ("problems", PROBLEMS, "section 5.1"),
    ],
)
def test_listings_name_all_with_their_sources_and_what_can_be_set(devote, name, known, shown):
    listed = devote(name, "--json").json
    assert [row["name"] for row in listed] == list(known)
    for row in listed:
        assert row["summary"]
        assert row["source"] or name == "schemes"
        if name == "schemes":
            parameters = [item["name"] for item in row["parameters"]]
            assert parameters == [field.name for field in fields(known[row["name"]])]
            assert all(item["meaning"] for item in row["parameters"])
    table = devote(name).out
    assert all(one in table for one in known)
    assert shown in table


GRID = 'problem = "1"\nn_players = [32]\nalgorithm = "ser3"\neta = [0.5, 0.9]\ntrials = 1\n'
FOUND = ("--means", ".9,.4,.2", "--epsilon", ".3", "--trials", 1, "--seconds", 0.2)
PRINTED = {
    "simulate": ("--players", 32, "--trials", 2),
    "sweep": ("grid.toml", "--workers", 1),
    "plan": ("--players", 2_000_000, *FOUND),
    "plan --scheme": ("decentralized", *FOUND),
    "plan --sweep": ("players", "--means", ".9,.1", "--players", 64, "--trials", 1, "--workers", 1),
    "audit correctness": ("--worst-case", "--players", 29, "--precision", ".2", "--workers", 1),
    "audit privacy": ("--players", 32, "--runs", 200, "--workers", 1),
    **dict.fromkeys(("schemes", "algorithms", "problems"), ()),
}


def names_of(value):
    """Every key of a JSON value, however deep."""
    if isinstance(value, dict):
        yield from value
    for one in value.values() if isinstance(value, dict) else value:
        if isinstance(one, dict | list):
            yield from names_of(one)


@pytest.mark.parametrize("name", PRINTED)
def test_a_pipe_gets_80_columns_and_json_one_name_for_the_players(
    devote, tmp_path, monkeypatch, name
):
    monkeypatch.chdir(tmp_path)
    Path("grid.toml").write_text(GRID)
    ran = devote(*name.split(), *PRINTED[name])
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert len(lines) > 2
    assert max(map(len, lines)) <= 80
    assert "…" not in ran.out
    assert "\x1b" not in ran.out
    names = set(names_of(devote(*name.split(), *PRINTED[name], "--json").json))
    assert not names & {"players", "N", "num_players", "devices", "n_devices"}


def test_no_colour_where_none_is_wanted(devote, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in devote("schemes").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", devote(*SMALL).out)


@pytest.mark.parametrize("arguments", [("--help",), ("problems",), ("problems", "--json")])
def test_a_reader_that_leaves_early_is_no_error(arguments):
    read, write = os.pipe()
    os.close(read)
    command = [DEVOTE, *arguments]
    ran = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, timeout=120)
    os.close(write)
    assert (ran.returncode, ran.stderr) == (141, "")


@pytest.mark.parametrize("arguments", [("--help",), ("simulate", "--help"), ("plan", "--help")])
def test_help_imports_nothing_heavy(arguments):
    command = [sys.executable, "-X", "importtime", "-m", "devote.cli.main", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    imported = {
        line.rpartition("|")[2].strip().partition(".")[0] for line in ran.stderr.split("\n")
    }
    heavy = {"numpy", "numba", "scipy", "matplotlib", "starlette", "httpx", "distributed"}
    assert "devote" in imported
    assert not imported & heavy
