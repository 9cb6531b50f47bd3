"""The commands of a fleet: serve, experiments, invites and device."""

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


def is_bad(ran, remedy):
    assert ran.code == 2
    assert ran.out == ""
    assert remedy in ran.err
    assert "Traceback" not in ran.err
    assert ran.err.splitlines()[-1].startswith("devote: ")


@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        ("experiments open banner.toml", "token is not there. Give --token-file"),
        ("experiments open bad.toml --token-file token", "TOML"),
        ("experiments open banner.toml --token-file token --players 1", "at least 2 players"),
        ("experiments open banner.toml --token-file token --enrolment x", "must be open or invite"),
        ("invites banner --token-file token --server ftp://x", "Give one like http://"),
    ],
)
def test_bad_input_beside_a_specification_and_a_token(devote, here, command, remedy):
    Path("bad.toml").write_text("name = ")
    is_bad(devote(*command.split()), remedy)


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


@pytest.mark.parametrize(
    "words", ["", "--store banner.toml", "--limit pace=0", "--certificate token", "--store no/x.db"]
)
def test_a_server_that_cannot_start_announces_and_writes_nothing(devote, here, words):
    before = set(here.iterdir())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1] + bool(words)
        ran = devote("serve", "--port", port, *words.split())
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert words or "cannot be listened on" in ran.err
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
