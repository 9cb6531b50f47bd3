"""``devote certify``, ``devote peers``, ``devote device gossip://``: one line on bad input."""

import json

import pytest
from tests.gossip.fleets import ISSUER, SPEC, prepare

from devote.cli.main import main
from devote.gossip.votes import VoteSet
from devote.theory import split_possible

TOML = f'name = "banner"\narms = ["a", "b", "c"]\nissuer = "{ISSUER.voter}"\n'


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "banner.toml").write_text(TOML)
    (tmp_path / "issuer.key").write_text((b"i" * 32).hex())
    return tmp_path


@pytest.fixture
def message(capsys):
    def run(*arguments: object) -> str:
        assert main([str(word) for word in arguments]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.count("\n") == 1
        return printed.err

    return run


def test_a_key_is_made_once_and_readable_by_its_owner_only(here, capsys):
    assert main(["certify", "key", "--out", "mine.key"]) == 0
    first = capsys.readouterr().out
    assert main(["certify", "key", "--out", "mine.key"]) == 0
    assert capsys.readouterr().out == first
    assert (here / "mine.key").stat().st_mode & 0o077 == 0


def test_keys_are_certified_in_bulk_offline_and_keep_their_numbers(here, capsys):
    assert main(["certify", "request", "banner.toml", "1.db", "2.db", "3.db"]) == 0
    keys = capsys.readouterr().out.split()
    (here / "keys.txt").write_text("\n".join(keys[:2]))
    assert main(["certify", "issue", "banner.toml", "--from", "keys.txt"]) == 0
    assert capsys.readouterr().out.split() == ["tickets/1.json", "tickets/2.json"]
    assert main(["certify", "issue", "banner.toml", keys[2], keys[0], "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["tickets"] == ["tickets/3.json", "tickets/1.json"]
    assert main(["certify", "request", "banner.toml", "1.db"]) == 0
    assert capsys.readouterr().out.split() == keys[:1]


def test_no_number_is_given_twice_whatever_tickets_are_called(here, capsys, message):
    assert main(["certify", "request", "banner.toml", "1.db", "2.db", "3.db"]) == 0
    keys = capsys.readouterr().out.split()
    assert main(["certify", "issue", "banner.toml", *keys[:2]]) == 0
    assert "2 certificates, 3 options" in capsys.readouterr().err
    (here / "tickets" / "2.json").rename(here / "tickets" / "kitchen.json")
    assert main(["certify", "issue", "banner.toml", keys[2]]) == 0
    assert capsys.readouterr().out.split() == ["tickets/3.json"]
    message("certify", "issue", "banner.toml", ISSUER.voter, "0" * 64)
    assert not (here / "tickets" / "4.json").exists()
    (here / "tickets" / "3.json").write_text("{")
    printed = message("certify", "issue", "banner.toml", keys[2])
    assert "tickets/3.json: The ticket is malformed" in printed


def test_how_many_may_lie_is_said_with_the_certificates(here, capsys):
    (here / "banner.toml").write_text(TOML + "[scheme]\nquorum = 8\n")
    assert main(["certify", "request", "banner.toml", *(f"{n}.db" for n in range(10))]) == 0
    keys = capsys.readouterr().out.split()
    assert main(["certify", "issue", "banner.toml", *keys]) == 0
    assert "never decide differently, if at most 3 of the devices lie" in capsys.readouterr().err
    assert main(["certify", "issue", "banner.toml", *keys[:7], "--out", "few"]) == 0
    assert "nothing can be decided before 8 devices are certified" in capsys.readouterr().err
    assert not split_possible(10, 8, 3, liars=3)
    assert split_possible(10, 8, 3, liars=4)


def test_a_revocation_of_which_nobody_hears_says_so(here, capsys):
    assert main(["certify", "revoke", "banner.toml", "7"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "signed: 7\n"
    assert "no device has it yet" in printed.err
    silent = ["certify", "revoke", "banner.toml", "7", "--tell", "127.0.0.1:9"]
    assert main(silent) != 0
    assert "does not answer" in capsys.readouterr().err


def test_what_cannot_be_certified_is_refused_in_one_line(here, message):
    assert "No key was given" in message("certify", "issue", "banner.toml")
    assert "cannot be certified" in message("certify", "issue", "banner.toml", "0" * 64)
    assert "is not there" in message("certify", "issue", "banner.toml", "aa", "--key", "no.key")
    (here / "other.key").write_text((b"j" * 32).hex())
    key = message("certify", "issue", "banner.toml", ISSUER.voter, "--key", "other.key")
    assert "names the issuer" in key
    (here / "bad.key").write_text("secret")
    assert "not a private key" in message(
        "certify", "issue", "banner.toml", "aa", "--key", "bad.key"
    )
    (here / "plain.toml").write_text(
        TOML.replace("issuer", "name_of_issuer")[: TOML.find("issuer")]
    )
    assert "names no issuer" in message("certify", "request", "plain.toml", "x.db")
    assert not (here / "x.db").exists()
    (here / "jury.toml").write_text(TOML + '[scheme]\nname = "jury"\n')
    assert "jury cannot do without a server" in message("certify", "request", "jury.toml", "x.db")
    assert "not the number" in message("certify", "revoke", "banner.toml", "0")


def test_a_device_is_told_in_one_line_what_is_wrong_with_its_ticket(here, message):
    ticket = prepare(here / "a.db", 1)
    (here / "1.json").write_text(ticket)
    (here / "2.json").write_text(ticket.replace('"number": 1', '"number": 2'))
    other = prepare(here / "b.db", 2, SPEC.with_(epsilon=0.5))
    (here / "3.json").write_text(other)
    device = ("device", "gossip:///banner", "--means", "1,0,0", "--pulls", "1", "--store")
    assert "not from the issuer" in message(*device, "a.db", "--invite", "2.json")
    assert "has not joined" in message(*device, "new.db")
    assert "Have this key certified" in message(*device, "new.db", "--invite", "1.json")
    assert "another" in message(*device, "a.db", "--invite", "3.json")
    assert "malformed" in message(*device, "a.db", "--invite", "{}")
    assert "for experiment 'banner'" in message("device", "gossip:///other", "--invite", "1.json")
    assert "is not a setting" in message(
        *device, "a.db", "--invite", "1.json", "--gossip", "port=1"
    )
    assert "needs an address" in message(*device, "a.db", "--invite", "1.json", "--page")
    assert "need a gossip:// address" in message(
        "device", "http://127.0.0.1:9/experiments/x", "--page"
    )


def test_a_revoked_device_is_told_so(here, message):
    from tests.gossip.fleets import revocation

    ticket = prepare(here / "a.db", 1)
    votes = VoteSet(here / "a.db", SPEC)
    votes.take([revocation(1)])
    votes.close()
    printed = message(
        "device", "gossip:///banner", "--store", "a.db", "--invite", ticket, "--pulls", 1
    )
    assert "Certificate 1 was revoked" in printed


def test_peers_are_listed_added_removed_and_asked(here, capsys, message):
    prepare(here / "a.db", 1)
    assert "has not joined" in message("peers", "list", "--store", "a.db")
    VoteSet(here / "a.db", SPEC).close()
    for words in (["add", "127.0.0.1:9"], ["add", "127.0.0.1:8"], ["remove", "127.0.0.1:8"]):
        assert main(["peers", *words, "--store", "a.db"]) == 0
    assert "is not an address" in message("peers", "add", "here", "--store", "a.db")
    capsys.readouterr()
    assert main(["peers", "list", "--store", "a.db", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["address"], found["source"]) == ("127.0.0.1:9", "operator")
    assert main(["peers", "health", "--store", "a.db", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["state"] == "silent"
