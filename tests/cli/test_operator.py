"""An operator's day at the terminal: ``serve`` and the commands that call a server."""

import io
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from tests.boards.local import here
from tests.server.live import (
    SPEC,
    TOKEN,
    enrol,
    identity,
    invites,
    open_store,
    serving_in_thread,
    vote,
)

from devote.page.page import add_page
from devote.server import Settings, create_app
from devote.server import serve as serving

DEVOTE = Path(sys.executable).with_name("devote")


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "server.db") as store:
        store.create(here(SPEC, "invite", 5))
        for n in (1, 2):
            (invite,) = store.invite("banner", 1)
            enrol(store, identity(n), invite=invite)
            for arm in (1, 2, 3):
                store.post("banner", vote(identity(n), arm))
        yield store


@pytest.fixture
def server(store):
    app = create_app(store, Settings(token=TOKEN))
    add_page(app)
    with serving_in_thread(app) as address:
        yield address


@pytest.fixture
def folder(tmp_path, monkeypatch):
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def operate(devote, server, folder):
    Path("devote-server.db.token").write_text(TOKEN + "\n")
    return lambda *words: devote(*words, "--server", server)


def is_bad(ran, remedy):
    assert (ran.code, ran.out) == (2, "")
    assert remedy in ran.err
    assert ran.err.splitlines()[-1].startswith("devote: ")


def test_the_environment_says_which_server_and_token_to_every_operator_command(
    devote, server, folder, monkeypatch
):
    monkeypatch.setenv("DEVOTE_SERVER", server)
    monkeypatch.setenv("DEVOTE_TOKEN", TOKEN)
    Path("other.toml").write_text('name = "other"\narms = ["a", "b"]\n[scheme]\nquorum = 2\n')
    for words in (
        "experiments open other.toml",
        *(f"experiments {verb} other" for verb in ("close", "reopen", "archive")),
        *("experiments end other 30d", "experiments list --all", "experiments export banner"),
        *("invites banner", "revoke banner --all-invites", "experiments delete other --yes"),
    ):
        ran = devote(*words.split())
        assert ran.code == 0, (words, ran.err)
    is_bad(devote("invites", "banner", "--token-file", "none"), "none is not there")
    is_bad(devote("invites", "banner", "--server", "http://127.0.0.1:1"), "http://127.0.0.1:1")
    monkeypatch.setenv("DEVOTE_TOKEN", "wrong")
    is_bad(devote("invites", "banner"), "the file that `devote serve` named")


def test_an_experiment_is_opened_and_its_address_printed(operate, server):
    Path("other.toml").write_text('name = "other"\narms = ["a", "b"]\n[scheme]\nquorum = 2\n')
    address = f"{server}/experiments/other"
    assert operate("experiments", "open", "other.toml", "--players", 5).out == f"{address}\n"
    printed = operate("experiments", "open", "other.toml", "--players", 5, "--json").json
    assert (printed["address"], printed["enrolment"], printed["n_players"]) == (
        address,
        "invite",
        5,
    )
    fields = {"name": "third", "arms": ["a", "b"], "scheme": {"quorum": 2}}
    Path("third.json").write_text(json.dumps(fields))
    assert operate("experiments", "open", "third.json").out.endswith("/experiments/third\n")


def test_the_list_tells_how_experiments_stand_and_what_came_of_them(operate):
    table = operate("experiments", "list").out
    for word in ("banner", "open", "2 of 5", "6", "0", "2 used"):
        assert word in table
    (item,) = operate("experiments", "list", "--json").json
    assert (item["messages"], item["answer"], item["invites"]["used"]) == (6, ["0"], 2)
    Path("devote-server.db.token").unlink()
    (public,) = operate("experiments", "list", "--json").json
    assert public == {k: v for k, v in item.items() if k not in ("invites", "revoked")}
    assert "invites" not in operate("experiments", "list").out


def test_close_reopen_end_and_archive_say_how_it_stands_now(operate, store):
    assert operate("experiments", "close", "banner").out == "banner is closed.\n"
    assert store.post("banner", vote(identity(1), 0)).cause == "closed"
    assert operate("experiments", "reopen", "banner").out == "banner is open.\n"
    output = operate("experiments", "end", "banner", "2099-01-31").out
    assert output == "banner is open until 2099-01-31 00:00 UTC.\n"
    printed = operate("experiments", "end", "banner", "never", "--json").json
    assert printed == {"name": "banner", "state": "open", "ends": None, "delete_after": None}
    assert operate("experiments", "archive", "banner").out == "banner is archived.\n"
    assert operate("experiments", "list", "--json").json == []
    (item,) = operate("experiments", "list", "--all", "--json").json
    assert item["state"] == "archived"


def test_what_is_exported_is_verified_without_the_server_and_found_out_when_altered(
    operate, devote
):
    ran = operate("experiments", "export", "banner")
    assert ran.out == "banner.jsonl: 6 messages. Check it with `devote verify banner.jsonl`.\n"
    checked = devote("verify", "banner.jsonl")
    assert (checked.code, "All is well." in checked.out) == (0, True)
    is_bad(operate("experiments", "export", "banner"), "is there already")
    lines = Path("banner.jsonl").read_text().replace('"arm":3', '"arm":2')
    Path("altered.jsonl").write_text(lines)
    assert devote("verify", "altered.jsonl").code == 1
    printed = operate("experiments", "export", "banner", "--output", "x", "--json").json
    assert (printed["messages"], printed["ok"]) == (6, True)


def test_delete_asks_for_the_name(operate, store, monkeypatch):
    for typed in ("yes\n", ""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        ran = operate("experiments", "delete", "banner")
        assert (ran.code, store.get("banner").enrolled) == (2, 2)
        assert "6 messages of 2 devices for good" in ran.err
    monkeypatch.setattr(sys, "stdin", io.StringIO("banner\n"))
    assert operate("experiments", "delete", "banner").out == "banner is deleted.\n"
    is_bad(operate("experiments", "delete", "banner", "--yes"), "was deleted by its operator")
    assert operate("experiments", "list", "--json").out == "[]\n"


def test_ten_thousand_and_more_invites_go_to_a_file_of_ones_own(operate, store):
    assert len(set(operate("invites", "banner", "--count", 3).out.split())) == 3
    assert operate("revoke", "banner", "--all-invites").out.startswith("0 devices and 3 invites")
    ran = operate("invites", "banner", "--count", 12_000, "--output", "invites.txt")
    assert ran.out == "invites.txt: 12,000 invites.\n"
    assert len(set(Path("invites.txt").read_text().split())) == 12_000
    there = invites(store)
    assert stat.S_IMODE(Path("invites.txt").stat().st_mode) == 0o600
    is_bad(operate("invites", "banner", "--output", "invites.txt"), "is there already")
    assert invites(store) == there, "no invites that nobody has"
    ran = operate("revoke", "banner", "--invites", "invites.txt")
    assert ran.out == "0 devices and 12,000 invites are revoked.\n"


def test_a_link_joins_a_device_and_keeps_the_invite_behind_the_hash(operate, devote, server):
    (link,) = operate("invites", "banner", "--links").out.split()
    address, _, invite = link.partition("#invite=")
    assert address == f"{server}/experiments/banner"
    words = ("--means", ".9,.1,.1,.1", "--pulls", 1)
    assert devote("device", link, "--store", "a.db", *words).code == 0
    is_bad(devote("device", link, "--store", "b.db", *words), "used already, expired")
    assert not Path("b.db").exists()
    assert devote("device", address, "--store", "a.db", *words).code == 0
    is_bad(devote("device", address, "--store", "c.db"), "none was given")
    page = "https://shop.example/play?from=mail"
    (link,) = operate("invites", "banner", "--link-to", page).out.split()
    assert link.startswith(f"{page}#invite=")
    ran = operate("revoke", "banner", "--invite", link, "--invite", invite)
    assert ran.out.startswith("0 devices and 1 invites are revoked. 1 were not there")


def test_invites_with_an_expiry_and_a_revoked_device(operate):
    operate("invites", "banner", "--expires", "30d")
    ran = operate("revoke", "banner", "--device", identity(1).voter)
    assert ran.out == "1 devices and 0 invites are revoked.\n"
    table = operate("experiments", "list").out
    assert "1 revoked" in table
    assert "2 used, 1 open" in table


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ("experiments close nothing", "There is no experiment 'nothing'"),
        ("experiments list --all --token-file none", "none is not there. Give --token-file"),
        ("experiments end banner tomorrow", "Write a date such as 2027-01-31"),
        ("experiments end banner 2020-01-01", "has passed"),
        ("experiments export nothing", "There is no experiment 'nothing'"),
        ("experiments export banner --output no/x", "there is no folder"),
        ("experiments open bad.toml", "TOML"),
        ("experiments open two.toml --players 1", "at least 2 players"),
        ("experiments open two.toml --enrolment x", "must be open or invite"),
        ("invites banner --expires 2020-01-01", "has passed"),
        ("invites banner --expires soon", "is not a moment"),
        ("invites banner --link-to http://x/#y", "has a # already"),
        ("invites banner --output no/x", "there is no folder"),
        ("revoke banner", "nothing to revoke"),
        ("revoke banner --invites none.txt", "none.txt"),
    ],
)
def test_bad_input(operate, words, remedy):
    Path("bad.toml").write_text("name = ")
    Path("two.toml").write_text('name = "two"\narms = ["a", "b"]\n[scheme]\nquorum = 2\n')
    is_bad(operate(*words.split()), remedy)
    assert {path.suffix for path in Path().iterdir()} == {".token", ".toml"}


@pytest.mark.parametrize(
    "words", ["", "--store bad.db", "--limit pace=0", "--certificate bad.db", "--store no/x.db"]
)
def test_a_server_that_cannot_start_announces_and_writes_nothing(devote, folder, words):
    Path("bad.db").write_text("no store")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1] + bool(words)
        ran = devote("serve", "--port", port, *words.split())
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert words or "cannot be listened on" in ran.err
    assert [path.name for path in folder.iterdir()] == ["bad.db"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_serves_the_page_and_the_board_and_ends_well_on_a_signal(folder, number):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [DEVOTE, "serve", "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
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
        _, output = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    *printed, start, stop = output.splitlines()
    assert printed == [
        f"devote: the page is at http://127.0.0.1:{port}/",
        "devote: the operator's token is in devote-server.db.token",
    ]
    assert [json.loads(line)["event"] for line in (start, stop)] == ["start", "stop"]
    assert Path("devote-server.db.token").stat().st_mode & 0o077 == 0


@pytest.fixture
def served(devote, folder, monkeypatch):
    """What ``devote serve`` would run a server with."""
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
allow-origin = ["https://a.example"]

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
    assert settings.origins == ("https://a.example",)
    got = served("--allow-origin", "https://b.example", "--config", "devote.toml")
    assert (got["port"], got["settings"].heartbeat) == (9000, 2.5)
    assert got["settings"].origins == ("https://b.example",)
    Path("devote.toml").write_text("")
    assert served("--config", "devote.toml")["port"] == served()["port"] == 8600


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
        ("allow-origin = 'https://a.example'", "is not a list of texts"),
        ("store = ", "is not TOML"),
        ("certificate = 'c.pem'", "one is missing"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused_in_one_line(devote, folder, text, says):
    Path("devote.toml").write_text(text)
    ran = devote("serve", "--config", "devote.toml")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert says in ran.err
    assert [path.name for path in folder.iterdir()] == ["devote.toml"], "nothing half made"


def test_tokens_are_rotated_added_listed_and_removed(devote, folder):
    token = Path("devote-server.db.token")
    token.write_text("the-token-before\n")
    assert "the old one is no longer good" in devote("token", "rotate").out
    first = token.read_text().strip()
    assert len(first) > 30
    added = devote("token", "add", "--scope", "inviter", "--experiment", "banner").out.strip()
    listed = devote("token", "list").out
    assert re.search(f"^{re.escape(added[:4])}.*inviter", listed, re.MULTILINE)
    assert added not in listed
    assert devote("token", "remove", added[:8], "--json").json
    assert len(devote("token", "list", "--json").json) == 1
    is_bad(devote("token", "add"), "Use one of: ")
    is_bad(devote("token", "add", "--scope", "inviter"), "needs --experiment")


def test_a_backup_is_made_and_restored(devote, folder):
    with open_store("devote-server.db") as store:
        store.create(here(SPEC))
        printed = devote("backup", "monday.db", "--json").json
        assert printed["bytes"] == Path("monday.db").stat().st_size
        is_bad(devote("restore", "monday.db"), "Stop its server first")
    assert "set aside" not in devote("restore", "monday.db", "--store", "new.db").out
    output = devote("restore", "monday.db").out
    assert output == (
        "devote-server.db holds what monday.db does. What was there is now "
        "devote-server.db.replaced.\n"
    )
    for words in (("monday.db",), ("no/x",), ("x", "--store", "y")):
        ran = devote("backup", *words)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)


def test_an_option_is_withdrawn_and_a_log_for_the_operator_is_verified_with_a_token(
    operate, devote, server
):
    Path("tea.toml").write_text(
        'name = "tea"\narms = ["green", "black", "none"]\nscheme = "survey"'
    )
    options = ("--baseline", "none", "--log", "operator", "--ends", "30d", "--delete-after", "90d")
    assert operate("experiments", "open", "tea.toml", *options).code == 0
    text = operate("withdraw", "tea", "black").out
    assert "black is withdrawn from tea, as message 1." in text
    assert "at most 0.1 now (proved)" in text
    assert "withdrawn already" in operate("withdraw", "tea", "black").err
    listed = operate("experiments", "list").out
    assert "withdrawn: black" in " ".join(listed.split())
    printed = operate("experiments", "list", "--json").json
    (tea,) = [item for item in printed if item["name"] == "tea"]
    assert (tea["withdrawn"], tea["mismatch"], tea["baseline"]) == (["black"], False, "none")
    assert tea["delete_after"] > tea["ends"]
    url = f"{server}/experiments/tea"
    assert "needs the operator's token" in devote("verify", url).err
    printed = devote("verify", url, "--token-file", "devote-server.db.token", "--json").json
    assert (printed["ok"], printed["withdrawn"], printed["messages"]) == (True, ["black"], 1)
