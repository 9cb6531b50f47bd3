import re
import subprocess

import pytest

from devote.cli.main import COMMANDS, FAMILIES, GROUPS, help_of


def options_of(name):
    return {option.name for option in COMMANDS[name].options}


def test_help_lists_every_command_under_its_group(devote):
    ran = devote("--help")
    assert ran.code == 0
    listed = " ".join(GROUPS.values()).split()
    assert sorted(listed) == sorted({words.split()[0] for words in COMMANDS})
    assert all(re.search(f"^  {name} ", ran.out, re.MULTILINE) for name in listed)


@pytest.mark.parametrize("name", [*COMMANDS, *FAMILIES])
def test_every_command_has_help_and_an_example(devote, name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    ran = devote(*name.split(), "--help")
    assert (ran.code, ran.err) == (0, "")
    assert f"devote {name}" in ran.out
    if name in COMMANDS:
        assert f"\n    devote {name}" in ran.out.partition("\nexample")[2]
        assert all(one.is_argument or one.name in ran.out for one in COMMANDS[name].options)
        text, _, _ = ran.out.partition("\nexample")
        assert max(map(len, text.splitlines())) <= 100
        assert help_of(COMMANDS[name]).count("\n\nExample") == 1


RUNS_UNTIL_STOPPED = {"serve"}  # it answers nothing
DRAWS = {"simulate", "sweep", "plan", "reproduce", "watch", "demo", "device"}
DRAWS |= {"audit correctness", "audit privacy"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_json_and_what_draws_takes_a_seed(name):
    assert ("--json" in options_of(name)) == (name not in RUNS_UNTIL_STOPPED)
    assert ("--seed" in options_of(name)) == (name in DRAWS)


def test_five_commands_share_one_block_of_options():
    block = {"--scheme", "--set", "--algorithm", "--option", "--means", "--problem", "--activity"}
    block |= {"--players", "--epsilon", "--eta", "--delta", "--horizon"}
    for name in ("simulate", "watch", "plan", "audit correctness", "audit privacy"):
        assert block <= options_of(name)


@pytest.mark.parametrize("words", [(), ("experiments",)])
def test_nothing_given_shows_the_help(devote, words):
    ran = devote(*words)
    assert (ran.code, ran.err) == (2, "")
    assert "usage: devote" in ran.out


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ("simulte", "No such command 'simulte'. Did you mean 'simulate'? See devote --help."),
        ("experiments lst", "Did you mean 'experiments list'?"),
        ("simulate --player 3", "Did you mean '--players'? See devote simulate --help."),
        ("experiments end banner", "required: WHEN. See devote experiments end --help."),
        ("schemes extra", "No such argument extra."),
    ],
)
def test_what_does_not_exist_gets_the_nearest(devote, words, remedy):
    ran = devote(*words.split())
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert remedy in ran.err


def test_a_value_may_begin_with_a_dash(devote):
    assert "There is no token" in devote("token", "remove", "--token-file", "-x", "abc").err
    assert "means[0]=-0.1 must be in [0, 1]" in devote("simulate", "--means", "-.1,.4").err


def test_version(devote):
    assert re.fullmatch(r"devote \d+\.\d+\.\d+\n", devote("--version").out)


def test_bash_completes_commands_options_and_files(devote, tmp_path):
    script = tmp_path / "completion"
    script.write_text(devote("--show-completion").out)

    def complete(*words):
        code = (
            f'. {script}; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _devote; echo ${{COMPREPLY[*]}}'
        )
        run = ["bash", "-c", code, "bash", "devote", *words]
        return subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()

    assert complete("sim") == ["simulate"]
    assert complete("experiments", "ex") == ["export"]
    assert complete("experiments", "export", "--o") == ["--output"]
    assert complete("simulate", "--players", "3", "--tr") == ["--trials"]


def test_traceback_shows_where_an_error_came_from(devote):
    ran = devote("--traceback", "simulate", "--means", ".7,x")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("Traceback")
    assert "place 2" in ran.err


def test_a_fault_of_the_program_is_not_hidden(devote, monkeypatch):
    monkeypatch.setattr("devote.problems.get_problem", lambda *_: 1 / 0)
    ran = devote("simulate")
    assert ran.code == 1
    assert "ZeroDivisionError" in ran.err


def test_a_missing_extra_is_named(devote, monkeypatch):
    missing = ModuleNotFoundError("No module named 'numpy'", name="numpy")

    def without_numpy(*_):
        raise missing

    monkeypatch.setattr("devote.problems.get_problem", without_numpy)
    ran = devote("simulate")
    assert ran.code == 2
    assert ran.err == (
        "devote: This needs numpy, which is not installed. Install it: pip install 'devote[sim]' "
        "(in a checkout: pip install -e '.[sim]')\n"
    )
