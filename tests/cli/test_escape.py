"""Names and texts from elsewhere cannot move the cursor, paint, or reorder what is read."""

import io
import json
import re
from pathlib import Path

import pytest
from tests.boards.local import here
from tests.server.live import TOKEN, open_store, serving_in_thread

from devote.cli.fleet import ask, conclusion
from devote.cli.lab import picture
from devote.cli.plan import plan_panel
from devote.cli.render import CONTROLS, escape, show, show_json, table, words
from devote.demo.demonstration import Outcome
from devote.plan.plan import make_plan
from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.server import Settings, create_app
from devote.simulator import Scenario
from devote.simulator.frames import frames

PAINT = "\r\x1b[2K\x1b[32mAll is well.\x1b[0m"
"""Erases the line, and prints another verdict in green."""

HOSTILE = f"red{PAINT}\u202eneerg\u2066\x9b31m\x7f\x07"


def is_clean(text):
    """Only line breaks are left of all control characters."""
    return not CONTROLS.search(text.replace("\n", ""))


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0), 0x202E, 0x2066, 0x200F, 0xD800])
def test_every_control_character_is_written_out(code):
    shown = escape(f"a{chr(code)}b")
    assert is_clean(shown)
    assert re.fullmatch(r"a\\\w+b", shown)


def test_what_is_no_control_is_left():
    text = "naïve [bold]red[/bold] 東京 👩‍💻 \\x1b"
    assert escape(text) == text


def test_text_is_never_markup_and_a_style_stands_beside_it(capsys):
    show("[red]x[/red]", words(("[b]y[/b]", "green"), PAINT), table("l", ("[i]h",), [["[u]z"]]))
    out = capsys.readouterr().out
    assert is_clean(out)
    for part in ("[red]x[/red]", "[b]y[/b]", "[i]h", "[u]z", r"\r\x1b[2K\x1b[32mAll is well."):
        assert part in out


def test_json_has_no_control_characters(capsys):
    show_json({"name": HOSTILE})
    out = capsys.readouterr().out
    assert is_clean(out)
    assert json.loads(out) == {"name": HOSTILE}


@pytest.fixture
def server(tmp_path):
    """A server whose experiment has an arm of such a name."""
    spec = ExperimentSpec(arms=[HOSTILE, f"green{PAINT}"], name="banner", scheme={"quorum": 2})
    with open_store(tmp_path / "server.db") as store:
        store.create(here(spec))
        with serving_in_thread(create_app(store, Settings(token=TOKEN))) as address:
            yield address


def test_a_hostile_arm_name_shows_as_text_in_every_command_of_a_fleet(
    devote, server, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("DEVOTE_SERVER", server)
    monkeypatch.setenv("DEVOTE_TOKEN", TOKEN)
    url = f"{server}/experiments/banner"
    for n in range(3):
        played = devote("device", url, "--store", f"{n}.db", "--means", "1,0", "--pulls", 900)
        assert played.code == 0, played.err
    ran = {
        "device": played,
        "verify": devote("verify", url, "--save", "log.jsonl"),
        "saved": devote("verify", "log.jsonl"),
        "list": devote("experiments", "list"),
    }
    for name, one in ran.items():
        plain = re.sub(r"\x1b\[[0-9;]*m", "", one.out)  # the colours of the command itself
        assert is_clean(plain), name
        assert plain.replace("\n", "").count("\\x1b[2K") >= 1, name
        assert "\x1b[2K" not in one.out, name
        assert "\x1b[32mAll is well.\x1b[0m" not in one.out, name
    assert is_clean(devote("verify", url, "--json").out)


def test_a_hostile_name_in_an_error_or_an_argument_shows_as_text(devote, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x.toml").write_text('name = "x"\narms = ["a"]\n"\\u001b[2K" = 3\n')
    for given in (
        ("experiments", "open", "x.toml"),
        ("verify", f"{PAINT}.jsonl"),
        ("simulate", "--algorithm", HOSTILE),
        ("device", f"http://127.0.0.1:1/experiments/x{PAINT}"),
        (HOSTILE,),
        ("simulate", f"--{HOSTILE}"),
        ("--traceback", "plan", "--means", HOSTILE),
    ):
        ran = devote(*given)
        assert ran.code in (1, 2)
        assert is_clean(ran.err), given
        assert ran.out == ""


def test_a_hostile_name_in_a_plan_and_on_the_screens_shows_as_text(capsys):
    problem = Problem(HOSTILE, [0.9, 0.1], summary=HOSTILE)
    spec = ExperimentSpec(arms=2, epsilon=0.4)
    show(plan_panel(make_plan(spec, problem, 60, trials=1).to_dict()))
    scenario = Scenario(ExperimentSpec(arms=2), problem, 32)
    show(picture(scenario, next(iter(frames(scenario, step=10)))))
    experiment = here(spec.with_(arms=(HOSTILE, "b")), "invite", 60)
    tally = spec.scheme.tally(experiment.spec)
    outcome = Outcome(experiment, (0.9, 0.1), tally, 1.0, 10, (), 1, 2, 2, False)
    show(*conclusion(outcome))
    ask((HOSTILE, "b"), io.StringIO("1\n"), show)(0)
    out = capsys.readouterr().out
    assert is_clean(out)
    assert out.count("\\x1b[2K") >= 4
