"""``devote serve --config``, and the commands for the token and for backups."""

import json
from pathlib import Path

import pytest
from tests.boards.local import here
from tests.server.live import SPEC, open_store

from devote.server import serve as serving


@pytest.fixture
def served(devote, tmp_path, monkeypatch):
    """What ``devote serve`` would run a server with."""
    monkeypatch.chdir(tmp_path)
    calls = []

    def run(store, **options):
        calls.append({"store": store.database.path, **options})
        store.close()

    monkeypatch.setattr(serving, "run_server", run)
    monkeypatch.setattr(serving, "check_address", lambda host, port: None)

    def serve(*words):
        ran = devote("serve", *words)
        assert ran.code == 0, ran.err
        return calls[-1]

    return serve


CONFIG = """
store = "votes.db"
host = "0.0.0.0"
port = 9000
token-file = "secret"

[limits]
streams = 7
heartbeat = 2.5
"""


def test_a_file_says_what_the_command_line_does_not(served):
    Path("devote.toml").write_text(CONFIG)
    got = served("--config", "devote.toml", "--port", 9001, "--limit", "heartbeat=3")
    assert (got["store"], got["host"], got["port"]) == ("votes.db", "0.0.0.0", 9001)
    settings = got["settings"]
    assert (settings.streams, settings.heartbeat, settings.token_file) == (7, 3.0, Path("secret"))
    got = served("--port", 9002, "--config", "devote.toml")
    assert (got["port"], got["settings"].heartbeat) == (9002, 2.5)
    assert served()["port"] == 8600


def test_an_empty_file_changes_nothing(served):
    Path("devote.toml").write_text("")
    got = served("--config", "devote.toml")
    assert (got["port"], got["settings"].streams) == (8600, 5000)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("prot = 1", "has a key 'prot' that is not known. Did you mean 'port'? Use: store, host"),
        ("[limit]\nstreams = 1", "Did you mean 'limits'?"),
        ("[limits]\nstrems = 1", "Did you mean 'streams'?"),
        ("[limits]\ntoken = 1", "has a key 'token' that is not known"),
        ("[limits]\nstreams = 'x'", "streams = 'x' is not a number"),
        ("[limits]\nstreams = true", "streams = True is not a number"),
        ("[limits]\nbody = 0", "must be above 0"),
        ("limits = 3", "limits must be a table"),
        ("config = 'x'", "has a key 'config' that is not known"),
        ("port = '8600'", "port = '8600' is not a whole number"),
        ("port = true", "port = True is not a whole number"),
        ("port = 99999", "'99999' must be from 1 to 65535"),
        ("host = 3", "host = 3 is not a text"),
        ("store = ", "is not TOML"),
        ("certificate = 'c.pem'", "one is missing"),
        ("[server]\nport = 1", "has a key 'server' that is not known"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused_in_one_line(
    devote, tmp_path, monkeypatch, text, says
):
    monkeypatch.chdir(tmp_path)
    Path("devote.toml").write_text(text)
    ran = devote("serve", "--config", "devote.toml")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert says in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["devote.toml"], "nothing half made"


def test_a_file_that_is_not_there_is_named(devote, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = devote("serve", "--config", "nowhere.toml")
    assert (ran.code, "nowhere.toml" in ran.err, ran.err.count("\n")) == (2, True, 1)


def test_a_token_is_rotated(devote, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = devote("token", "rotate")
    assert (ran.code, ran.out) == (2, "")
    assert "There is no token in devote-server.db.token" in ran.err
    Path("devote-server.db.token").write_text("the-token-before\n")
    ran = devote("token", "rotate")
    assert ran.code == 0
    assert "the old one is no longer good" in ran.out
    token = Path("devote-server.db.token").read_text().strip()
    assert len(token) > 30
    assert token not in ran.out


def test_a_backup_is_made_and_restored(devote, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open_store("devote-server.db") as store:
        store.create(here(SPEC))
        told = json.loads(devote("backup", "monday.db", "--json").out)
        assert told["bytes"] == Path("monday.db").stat().st_size
        ran = devote("restore", "monday.db")
        assert (ran.code, "Stop its server first" in ran.err) == (2, True)
    assert "set aside" not in devote("restore", "monday.db", "--store", "new.db").out
    said = devote("restore", "monday.db").out
    assert said == (
        "devote-server.db holds what monday.db does. What was there is now "
        "devote-server.db.replaced.\n"
    )
    for words in (("backup", "monday.db"), ("backup", "no/x"), ("backup", "x", "--store", "y")):
        ran = devote(*words)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
