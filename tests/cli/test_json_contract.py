"""The installed command, run as a user runs it."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

DEVOTE = Path(sys.executable).with_name("devote")
TIED = ".7,.7,.1,.1,.1,.1,.1,.1,.1,.1"


def devote(*arguments):
    return subprocess.run(
        [DEVOTE, *map(str, arguments)], capture_output=True, text=True, timeout=240, check=False
    )


def test_simulate_prints_one_object_that_keeps_the_contract():
    ran = devote("simulate", "--problem", 1, "--players", 32, "--trials", 3, "--seed", 1, "--json")
    assert ran.returncode == 0
    assert ran.stderr == ""
    assert ran.stdout.count("\n") == 1
    told = json.loads(ran.stdout)
    assert told["spec"]["algorithm"] == "ser3"
    assert told["spec"]["epsilon"] == 0.25
    assert told["scheme"] == told["spec"]["scheme"]["name"] == "decentralized"
    assert told["votes_needed"] == 28
    assert told["n_players"] == 32
    assert told["trials"] == 3
    for name in ("samples_until_all_know", "samples", "broadcasts", "deliveries", "conflicts"):
        spread = told[name]
        assert set(spread) == {"mean", "std", "values"}
        assert len(spread["values"]) == 3
        assert all(isinstance(value, int) for value in spread["values"])
        assert math.isclose(spread["mean"], sum(spread["values"]) / 3)
    assert told["broadcasts"]["values"] == [252, 252, 252]
    assert told["deliveries"]["values"] == [252 * 31] * 3
    assert told["status"] == {"agreed": 3, "stalled": 0, "unfinished": 0}
    assert told["winners"] == [0, 0, 0]
    assert told["epsilon_optimal"] == told["holds_epsilon_optimal"] == 1.0
    assert told["wall_seconds"] > 0
    assert math.isclose(
        told["pulls_per_second"],
        sum(told["samples_until_all_know"]["values"]) / told["wall_seconds"],
    )


def test_erratum_5_tied_arms_stall_and_the_answer_is_the_arms_left():
    command = ("simulate", "--problem", 1, "--players", 32, "--means", TIED, "--trials", 20)
    told = json.loads(devote(*command, "--json").stdout)
    assert told["status"] == {"agreed": 0, "stalled": 20, "unfinished": 0}
    assert told["endings"] == ["stalled"] * 20
    assert told["winners"] == told["winner_means"] == [None] * 20
    assert [sorted(arms) for arms in told["shared"]] == [[0, 1]] * 20
    assert told["epsilon_optimal"] == told["holds_epsilon_optimal"] == 1.0


def test_the_numbers_do_not_depend_on_the_number_of_workers():
    command = ("simulate", "--players", 32, "--trials", 4, "--json")
    one, two = (json.loads(devote(*command, "--workers", n).stdout) for n in (1, 2))
    assert one["samples_until_all_know"] == two["samples_until_all_know"]


def test_bad_input_is_one_line_on_stderr_and_exit_code_2():
    ran = devote("simulate", "--means", ".7,oops", "--json")
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.startswith("devote: ")
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [("--help",), ("problems",), ("problems", "--json")])
def test_a_reader_who_leaves_early_gets_no_traceback(arguments):
    read, write = os.pipe()
    os.close(read)
    with open(write, "wb") as nobody:
        ran = subprocess.run(
            [DEVOTE, *arguments], stdout=nobody, stderr=subprocess.PIPE, timeout=240, check=False
        )
    assert ran.returncode == 141
    assert ran.stderr == b""


def imported_by(*arguments):
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "devote.cli.main", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in ran.stderr.splitlines()}


@pytest.mark.parametrize("arguments", [("--help",), ("simulate", "--help"), ("plan", "--help")])
def test_help_imports_nothing_heavy(arguments):
    heavy = {"numpy", "numba", "scipy", "matplotlib", "starlette", "httpx", "distributed"}
    assert not imported_by(*arguments) & heavy


def test_help_takes_less_than_half_a_second_of_work():
    # Processor time, so that a busy machine does not matter; the best of three.
    code = (
        "import resource, sys; from devote.cli.main import main; main(['--help']);"
        "used = resource.getrusage(resource.RUSAGE_SELF);"
        "print(used.ru_utime + used.ru_stime, file=sys.stderr)"
    )
    times = [
        float(
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            ).stderr
        )
        for _ in range(3)
    ]
    assert min(times) < 0.5
