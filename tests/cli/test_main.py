import importlib
import re

import pytest
from typer.main import get_command

from devote.cli.main import COMMANDS


def test_help_lists_every_command(devote):
    ran = devote("--help")
    assert ran.code == 0
    assert all(name in ran.out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(devote, name):
    ran = devote(name, "--help")
    assert ran.code == 0
    assert "Examples" in ran.out
    assert f"devote {name}" in ran.out


def _leaves(command):
    inner = getattr(command, "commands", None)
    if not inner:
        return [command]
    return [leaf for child in inner.values() for leaf in _leaves(child)]


@pytest.mark.parametrize("name", ["simulate", "plan", "watch", "algorithms", "problems"])
def test_every_command_takes_json_and_seed(name):
    module = importlib.import_module(f"devote.cli.{name}")
    for command in _leaves(get_command(module.app)):
        options = {option for parameter in command.params for option in parameter.opts}
        assert {"--json", "--seed"} <= options


def test_nothing_given_shows_the_help(devote):
    ran = devote()
    assert ran.code == 2
    assert "Commands" in ran.out
    assert ran.err == ""


def test_an_unknown_command_gets_the_nearest(devote):
    ran = devote("simulte")
    assert ran.code == 2
    assert ran.err == "devote: No such command 'simulte'. Did you mean 'simulate'?\n"


def test_an_unknown_option_gets_the_nearest(devote):
    ran = devote("simulate", "--player", "3")
    assert ran.code == 2
    assert "--players" in ran.err


def test_version(devote):
    assert re.fullmatch(r"devote \d+\.\d+\.\d+\n", devote("--version").out)


def test_traceback_shows_where_an_error_came_from(devote):
    with pytest.raises(ValueError, match="place 2"):
        devote("--traceback", "simulate", "--means", ".7,x")


def test_a_fault_of_the_program_is_not_hidden(devote, monkeypatch):
    monkeypatch.setattr("devote.cli.reading.read_problem", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        devote("simulate")
