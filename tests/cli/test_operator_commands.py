"""An operator's day at the terminal, against a real server."""

import io
import json
import stat
import sys
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

from devote.page import add_page
from devote.server import Settings, create_app


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
def operate(devote, server, tmp_path, monkeypatch):
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("devote-server.db.token").write_text(TOKEN + "\n")
    return lambda *words: devote(*words, "--server", server)


def is_bad(ran, remedy):
    assert (ran.code, ran.out) == (2, "")
    assert remedy in ran.err
    assert ran.err.splitlines()[-1].startswith("devote: ")


def test_the_list_tells_how_experiments_stand_and_what_came_of_them(operate):
    table = operate("experiments", "list").out
    for word in ("banner", "open", "2 of 5", "6", "0", "2 used"):
        assert word in table
    (item,) = json.loads(operate("experiments", "list", "--json").out)
    assert (item["messages"], item["answer"], item["invites"]["used"]) == (6, ["0"], 2)
    Path("devote-server.db.token").unlink()
    (public,) = json.loads(operate("experiments", "list", "--json").out)
    assert public == {k: v for k, v in item.items() if k not in ("invites", "revoked")}
    assert "invites" not in operate("experiments", "list").out


def test_close_reopen_end_and_archive_say_how_it_stands_now(operate, store):
    assert operate("experiments", "close", "banner").out == "banner is closed.\n"
    assert store.post("banner", vote(identity(1), 0)).cause == "closed"
    assert operate("experiments", "reopen", "banner").out == "banner is open.\n"
    said = operate("experiments", "end", "banner", "2099-01-31").out
    assert said == "banner is open until 2099-01-31 00:00 UTC.\n"
    told = json.loads(operate("experiments", "end", "banner", "never", "--json").out)
    assert told == {"name": "banner", "state": "open", "ends": None}
    assert operate("experiments", "archive", "banner").out == "banner is archived.\n"
    assert json.loads(operate("experiments", "list", "--json").out) == []
    (item,) = json.loads(operate("experiments", "list", "--all", "--json").out)
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
    for line in Path("banner.jsonl").read_text().splitlines():
        json.loads(line)
    told = json.loads(operate("experiments", "export", "banner", "--output", "x", "--json").out)
    assert (told["messages"], told["ok"]) == (6, True)


def test_delete_asks_for_the_name(operate, store, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("yes\n"))
    ran = operate("experiments", "delete", "banner")
    assert (ran.code, store.get("banner").enrolled) == (2, 2)
    assert "6 messages of 2 devices for good" in ran.err
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert operate("experiments", "delete", "banner").code == 2
    monkeypatch.setattr(sys, "stdin", io.StringIO("banner\n"))
    assert operate("experiments", "delete", "banner").out == "banner is deleted.\n"
    is_bad(operate("experiments", "delete", "banner", "--yes"), "was deleted by its operator")
    is_bad(operate("experiments", "close", "banner"), "was deleted by its operator")
    assert operate("experiments", "list", "--json").out == "[]\n"


def test_ten_thousand_and_more_invites_go_to_a_file_of_ones_own(operate, store):
    ran = operate("invites", "banner", "--count", 12_000, "--output", "invites.txt")
    assert ran.out == "invites.txt: 12,000 invites.\n"
    lines = Path("invites.txt").read_text().split()
    assert len(set(lines)) == 12_000
    assert invites(store) == (12_002, 2)
    assert stat.S_IMODE(Path("invites.txt").stat().st_mode) == 0o600
    is_bad(operate("invites", "banner", "--output", "invites.txt"), "is there already")
    assert invites(store) == (12_002, 2), "no invites that nobody has"
    ran = operate("revoke", "banner", "--invites", "invites.txt")
    assert ran.out == "0 devices and 12,000 invites are revoked.\n"
    assert invites(store) == (2, 2)


def test_a_link_joins_a_device_and_keeps_the_invite_behind_the_hash(operate, devote, server):
    (link,) = operate("invites", "banner", "--links").out.split()
    address, _, invite = link.partition("#invite=")
    assert address == f"{server}/experiments/banner"
    words = ("--means", ".9,.1,.1,.1", "--pulls", 1)
    assert devote("device", link, "--store", "a.db", *words).code == 0
    is_bad(devote("device", link, "--store", "b.db", *words), "used already, expired")
    assert devote("device", address, "--store", "a.db", *words).code == 0, (
        "the invite is not stored"
    )
    page = "https://shop.example/play?from=mail"
    (link,) = operate("invites", "banner", "--link-to", page).out.split()
    assert link.startswith(f"{page}#invite=")
    ran = operate("revoke", "banner", "--invite", link, "--invite", invite)
    assert ran.out.startswith("0 devices and 1 invites are revoked. 1 were not there")


def test_invites_with_an_expiry_and_a_revoked_device(operate, store):
    operate("invites", "banner", "--expires", "30d")
    ran = operate("revoke", "banner", "--device", identity(1).voter)
    assert ran.out == "1 devices and 0 invites are revoked.\n"
    table = operate("experiments", "list").out
    assert "1 revoked" in table
    assert "2 used, 1 open" in table
    assert operate("revoke", "banner", "--all-invites").out == (
        "0 devices and 1 invites are revoked.\n"
    )


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ("experiments close nothing", "There is no experiment 'nothing'"),
        ("experiments close banner --token-file none", "none is not there. Give --token-file"),
        ("experiments list --all --token-file none", "none is not there. Give --token-file"),
        ("experiments end banner tomorrow", "Write a date such as 2027-01-31"),
        ("experiments end banner 2020-01-01", "has passed"),
        ("experiments export nothing", "There is no experiment 'nothing'"),
        ("experiments export banner --output no/x", "there is no folder"),
        ("experiments delete nothing --yes", "There is no experiment 'nothing'"),
        ("invites banner --expires 2020-01-01", "has passed"),
        ("invites banner --expires soon", "is not a moment"),
        ("invites banner --link-to http://x/#y", "has a # already"),
        ("invites banner --output no/x", "there is no folder"),
        ("revoke banner", "nothing to revoke"),
        ("revoke banner --invites none.txt", "none.txt"),
        ("revoke nothing --device abc", "There is no experiment 'nothing'"),
    ],
)
def test_bad_input(operate, words, remedy):
    is_bad(operate(*words.split()), remedy)
    assert {path.name for path in Path().iterdir()} == {"devote-server.db.token"}
