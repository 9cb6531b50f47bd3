import re

import pytest

from devote.cli.main import COMMANDS, load


def test_help_lists_every_command(devote):
    ran = devote("--help")
    assert ran.code == 0
    assert all(name in ran.out for name in COMMANDS)


def _leaves(command):
    inner = getattr(command, "commands", None)
    if not inner:
        return [command]
    return [leaf for child in inner.values() for leaf in _leaves(child)]


def commands(name):
    """The command of that name, or all those below it."""
    return _leaves(load(name))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(devote, name):
    ran = devote(name, "--help")
    assert ran.code == 0
    assert f"devote {name}" in ran.out
    assert "--install-completion" not in ran.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_has_examples(name):
    for command in commands(name):
        assert "Example" in command.help
        assert f"devote {name}" in command.help


RUNS_UNTIL_STOPPED = {"serve"}  # it answers nothing
DRAWS_NOTHING = {"serve", "verify", "schemes", "algorithms", "problems"}
DRAWS_NOTHING |= {"experiments", "invites", "revoke", "token", "backup", "restore"}
DRAWS_NOTHING |= {"certify", "peers", "migrate"}


def options_of(command):
    return {option for parameter in command.params for option in parameter.opts}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_json_and_what_draws_takes_a_seed(name):
    for command in commands(name):
        assert ("--json" in options_of(command)) == (name not in RUNS_UNTIL_STOPPED)
        assert ("--seed" in options_of(command)) == (name not in DRAWS_NOTHING)


def test_four_commands_share_one_block_of_options():
    block = {"--scheme", "--set", "--algorithm", "--option", "--means", "--problem", "--activity"}
    block |= {"--players", "--epsilon", "--eta", "--delta", "--horizon"}
    for name in ("simulate", "watch", "plan", "audit"):
        for command in commands(name):
            assert block <= options_of(command)


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
    monkeypatch.setattr("devote.cli.options.get_problem", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        devote("simulate")


def test_a_missing_extra_is_named(devote, monkeypatch):
    missing = ModuleNotFoundError("No module named 'numpy'", name="numpy")

    def without_numpy(*_):
        raise missing

    monkeypatch.setattr("devote.cli.options.get_problem", without_numpy)
    ran = devote("simulate")
    assert ran.code == 2
    assert ran.err == (
        "devote: This needs numpy, which is not installed. Install it: pip install 'devote[sim]' "
        "(in a checkout: pip install -e '.[sim]')\n"
    )
