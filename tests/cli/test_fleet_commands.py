"""The fleet's commands: serve, experiments, invites, device and demo."""

import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from tests.server.live import TOKEN, open_store, serving_in_thread

from devote.server import Settings, create_app

DEVOTE = Path(sys.executable).with_name("devote")
SPEC = 'name = "banner"\narms = ["red", "green", "blue"]\nepsilon = 1.0\n'
SPEC += "[scheme]\nquorum = 2\n"


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "server.db") as store:
        yield store


@pytest.fixture
def server(store):
    with serving_in_thread(create_app(store, Settings(token=TOKEN))) as address:
        yield address


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a specification and the operator's token, to work in."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("banner.toml").write_text(SPEC)
    Path("token").write_text(TOKEN + "\n")
    return folder


@pytest.fixture
def operate(devote, here, server):
    def run(*words):
        return devote(*words, "--server", server, "--token-file", "token")

    return run


def test_an_experiment_is_opened_listed_and_invited_to(operate, devote, server):
    ran = operate("experiments", "open", "banner.toml", "--players", 5)
    assert (ran.code, ran.out) == (0, f"{server}/experiments/banner\n")
    told = json.loads(operate("experiments", "open", "banner.toml", "--players", 5, "--json").out)
    assert told["address"] == f"{server}/experiments/banner"
    assert told["enrolment"] == "invite"
    listed = json.loads(devote("experiments", "list", "--server", server, "--json").out)
    assert [(item["name"], item["n_players"]) for item in listed] == [("banner", 5)]
    table = devote("experiments", "list", "--server", server).out
    assert "banner" in table
    assert "none yet" in table
    lines = operate("invites", "banner", "--count", 3).out.splitlines()
    assert len(set(lines)) == 3
    told = json.loads(operate("invites", "banner", "--json").out)
    assert (told["experiment"], len(told["invites"])) == ("banner", 1)


def test_a_json_specification_works_too(operate):
    fields = {"name": "other", "arms": ["a", "b"], "scheme": {"quorum": 2}}
    Path("other.json").write_text(json.dumps(fields))
    assert operate("experiments", "open", "other.json").out.endswith("/experiments/other\n")


def test_devices_with_made_up_users_find_the_answer(operate, devote, server):
    address = operate("experiments", "open", "banner.toml", "--enrolment", "open").out.strip()
    for n in range(3):
        words = ("device", address, "--store", f"{n}.db", "--means", ".9,.1,.1", "--seed", n)
        ran = devote(*words, "--pulls", 300, "--json")
        assert ran.code == 0
        told = json.loads(ran.out)
        assert told["waiting"] == 0
        assert told["degraded"] == []
    assert told["state"] == "agreed"
    assert told["answer"] == ["red"]
    again = devote("device", address, "--store", "0.db", "--means", ".9,.1,.1")
    assert again.code == 0
    assert "the answer: red" in again.out
    assert "banner: agreed, synced" in again.out


def test_a_device_of_a_survey_ends_when_its_answer_has_left(operate, devote, store):
    survey = '[scheme]\nname = "survey"\nreply_after = 1.0\n'
    Path("survey.toml").write_text(f'name = "button"\narms = ["red", "green"]\n{survey}')
    address = operate("experiments", "open", "survey.toml", "--enrolment", "open").out.strip()
    words = ("device", address, "--means", ".9,.1", "--pulls", 3, "--json")
    ran = devote(*words)
    assert "An answer leaves in 1 s" in ran.err
    told = json.loads(ran.out)
    assert (told["sent"], told["waiting"], told["state"]) == (1, 0, "open")
    assert store.numbers() == {"button": 1}
    assert "leaves" not in devote(*words).err
    assert store.numbers() == {"button": 1}


def test_a_person_plays_a_device_and_goes_on_later(operate, devote, monkeypatch):
    address = operate("experiments", "open", "banner.toml", "--enrolment", "open").out.strip()
    monkeypatch.setattr(sys, "stdin", io.StringIO("1\noops\n0\n\n"))
    ran = devote("device", address)
    assert ran.code == 0
    assert ran.out.count("? (0 to 1)") == 4
    assert "please" in ran.out
    assert "the answer: none yet" in ran.out
    monkeypatch.setattr(sys, "stdin", io.StringIO("1\n"))
    ran = devote("device", address, "--json")
    told = json.loads(ran.out)
    assert (told["state"], told["answer"]) == ("open", [])
    assert ran.err.count("? (0 to 1)") == 2


BAD = [
    ("demo --players 5", "Use at least 28 players"),
    ("demo --players 5 --scheme jury", "Use at least 29 players"),
    ("demo --means .7", "at least 2 arms"),
    ("demo --means .7,x", "'x' in place 2"),
    ("demo --means 1.5,.2", "must be in [0, 1]"),
    ("demo --scheme pooled", "Use one of: decentralized, jury"),
    ("demo --scheme jurry", "Did you mean 'jury'?"),
    ("demo --set seats=9", "not a parameter of decentralized, but of jury"),
    ("experiments list --server http://127.0.0.1:1", "`devote serve` runs there"),
    ("experiments list --server 127.0.0.1:1", "Give one like http://"),
    ("experiments list --server http://127.0.0.1:99999", "Give one like http://"),
    ("experiments open banner.toml", "devote-server.db.token is not there. Give --token-file"),
    ("experiments open nowhere.toml --token-file token", "nowhere.toml"),
    ("experiments open bad.toml --token-file token", "TOML"),
    ("experiments open banner.toml --token-file token --players 1", "Use at least 2 players"),
    ("experiments open banner.toml --token-file token --enrolment x", "must be open or invite"),
    (
        "experiments open banner.toml --token-file token --server http://127.0.0.1:1",
        "`devote serve` runs there",
    ),
    ("invites banner", "`devote serve` printed where it is"),
    ("invites banner --token-file token --server ftp://x", "Give one like http://"),
    ("invites banner --token-file token --count 0", "--count"),
    ("device nonsense", "Give one like http://"),
    ("device http://127.0.0.1:99999/experiments/x", "Give one like http://"),
    ("device http://127.0.0.1:1/experiments/x --means .7,x", "'x' in place 2"),
    ("serve --limit strems=3", "is not known"),
    ("serve --limit streams=x", "needs a number"),
    ("serve --port 99999", "--port"),
    ("serve --host nowhere.invalid", "cannot be listened on"),
    ("serve --certificate token", "one is missing"),
    ("serve --certificate nowhere.pem --key token", "nowhere.pem is not a file"),
    ("serve --store nowhere/x.db", "nowhere"),
]


def is_bad(ran, remedy):
    assert ran.code == 2
    assert ran.out == ""
    assert remedy in ran.err
    assert "Traceback" not in ran.err
    assert ran.err.splitlines()[-1].startswith("devote: ")


@pytest.mark.parametrize(("command", "remedy"), BAD)
def test_bad_input(devote, here, command, remedy):
    Path("bad.toml").write_text("name = ")
    is_bad(devote(*command.split()), remedy)


def test_the_first_join_needs_the_server(devote, here):
    ran = devote("device", "http://127.0.0.1:1/experiments/banner")
    is_bad(ran, "The first join needs the board")


def test_a_wrong_token_an_unknown_experiment_and_a_used_invite(operate, devote, server):
    Path("wrong").write_text("not-the-operators-token")
    words = ("experiments", "open", "banner.toml", "--server", server, "--token-file", "wrong")
    is_bad(devote(*words), "the file that `devote serve` named")
    is_bad(operate("invites", "nothing"), "There is no experiment 'nothing'")
    address = operate("experiments", "open", "banner.toml").out.strip()
    (invite,) = operate("invites", "banner").out.split()
    words = ("device", address, "--invite", invite, "--means", ".9,.1,.1", "--pulls", 1)
    assert devote(*words, "--store", "a.db").code == 0
    is_bad(
        devote(*words, "--store", "b.db"),
        "This invite is used already, expired, revoked or unknown",
    )
    is_bad(devote("device", address, "--store", "c.db"), "none was given")
    assert not Path("b.db").exists()
    is_bad(devote("device", f"{server}/experiments/nothing"), "There is no experiment")


def test_means_for_another_number_of_arms(operate, devote):
    address = operate("experiments", "open", "banner.toml", "--enrolment", "open").out.strip()
    is_bad(devote("device", address, "--means", ".9,.1"), "2 means were given")


def test_a_port_that_is_taken_is_refused_and_nothing_is_written(devote, here):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        before = set(here.iterdir())
        ran = devote("serve", "--port", taken.getsockname()[1])
    is_bad(ran, "cannot be listened on")
    assert ran.err.count("\n") == 1
    assert set(here.iterdir()) == before


@pytest.mark.parametrize(
    "words", ["--store banner.toml", "--limit pace=0", "--certificate token", "--store no/x.db"]
)
def test_a_server_that_cannot_start_announces_and_writes_nothing(devote, here, words):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    before = set(here.iterdir())
    ran = devote("serve", "--port", port, *words.split())
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert set(here.iterdir()) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_serves_the_page_and_the_board_and_ends_well_on_a_signal(here, number):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [DEVOTE, "serve", "--port", str(port)], stderr=subprocess.PIPE, text=True
    )
    try:
        until = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as page:
                    assert b"<html" in page.read().lower()
                break
            except OSError:
                assert process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.05)
        os.kill(process.pid, number)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    *told, start, stop = said.splitlines()
    assert told == [
        f"devote: the page is at http://127.0.0.1:{port}/",
        "devote: the operator's token is in devote-server.db.token",
    ]
    assert [json.loads(line)["event"] for line in (start, stop)] == ["start", "stop"]
    assert Path("devote-server.db.token").stat().st_mode & 0o077 == 0


@pytest.mark.slow
@pytest.mark.usefixtures("forked_programs")
@pytest.mark.parametrize("scheme", ["decentralized", "jury"])
def test_a_small_demo_finds_the_best_banner(devote, here, scheme):
    ran = devote("demo", "--players", 32, "--means", ".9,.1", "--scheme", scheme, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.count("\n") == 1
    told = json.loads(ran.out)
    assert (told["status"], told["answer"], told["n_players"]) == ("agreed", [0], 32)
    needed, arm = {"decentralized": (28, 1), "jury": (10, 0)}[scheme]
    assert told["counts"][arm] >= needed
    # A verdict may come before all seats are claimed, but each pick is a seated juror's.
    assert told["messages"] >= needed * (2 if scheme == "jury" else 1)
    assert told["pulls"] > told["messages"]
    assert (told["server_starts"], told["crowd_starts"]) == (1, 2)


@pytest.mark.slow
def test_a_demo_in_the_terminal_tells_the_story(here):
    """Its processes are started as commands here."""
    ran = subprocess.run(
        [DEVOTE, "demo", "--players", "30", "--means", ".9,.1"],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    for part in ("watch it at http://127.0.0.1:", "The answer: Banner 0", "eavesdropper"):
        assert part in ran.stdout
