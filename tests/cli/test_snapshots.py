"""Snapshots that a server signs: devices keep them, and with them anybody proves what was shown."""

import json
from contextlib import closing, contextmanager
from dataclasses import replace

import httpx
import pytest
from tests.boards.logs import NAME, fill, survey_answers, survey_spec
from tests.server.live import TOKEN, open_store, serving_in_thread

from devote.boards.board import SignedSnapshot
from devote.device import Device
from devote.device.store import SNAPSHOTS, Store
from devote.server import Settings, create_app

COUNT = 40


@contextmanager
def serving(store):
    with serving_in_thread(create_app(store, Settings(token=TOKEN, poll=0.01))) as address:
        yield f"{address}/experiments/{NAME}"


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "server.db") as store:
        fill(store, survey_spec(), survey_answers(COUNT), COUNT)
        yield store


def findings(ran):
    assert ran.err == ""
    return [found["text"] for found in json.loads(ran.out)["findings"]]


def line(store, signed):
    scope = store.scope(NAME)
    return f"{scope.board} {scope.fingerprint} {signed}\n"


def test_a_device_keeps_what_the_server_signs_and_hands_it_out(devote, store, tmp_path):
    """A server that later drops a message and numbers the rest anew is convicted by it."""
    path, file = tmp_path / "device.db", tmp_path / "snapshots.txt"
    with serving(store) as url:
        with Device.join(url, store=path) as device:
            assert device.sync()
            assert device.status().degraded == ()
        ran = devote("device", "snapshots", path)
        assert (ran.code, ran.err) == (0, "")
        file.write_text(ran.out)
        assert json.loads(devote("device", "snapshots", path, "--json").out)["experiment"] == NAME
        assert findings(devote("verify", url, "--snapshots", file, "--store", path, "--json")) == []
    with store.database.write() as db:
        db.execute("DELETE FROM messages WHERE number = 10")
        db.execute("UPDATE messages SET number = -number WHERE number > 10")
        db.execute("UPDATE messages SET number = -number - 1 WHERE number < 0")
    for envelope in survey_answers(3, first=COUNT + 1):
        store.admit_known(NAME, [envelope.message.voter])
        store.post(NAME, envelope)
    with serving(store) as url:
        assert findings(devote("verify", url, "--json")) == []
        text = " ".join(findings(devote("verify", url, "--snapshots", file, "--json")))
        assert "snapshots.txt gives as snapshot's head" in text


def test_a_tally_that_is_frozen_for_one_device_is_found_by_two(devote, store, tmp_path):
    """One has a later snapshot of fewer messages; each of the two was right at some time."""
    early = store.tally(NAME)
    file = tmp_path / "snapshots.txt"
    for envelope in survey_answers(10, first=COUNT + 1):
        store.admit_known(NAME, [envelope.message.voter])
        store.post(NAME, envelope)
    now = store.tally(NAME)
    file.write_text(line(store, early.signed) + line(store, now.signed))
    with serving(store) as url:
        assert findings(devote("verify", url, "--snapshots", file, "--json")) == []
        signer = store._signers[NAME]
        frozen = signer.sign_snapshot(early, early.signed.head, now.signed.at + 600)
        file.write_text(line(store, now.signed) + line(store, frozen))
        (text,) = findings(devote("verify", url, "--snapshots", file, "--json"))
    assert "has a snapshot of 40 messages" in text
    assert "has one of 50 that was signed before it: its tally was frozen" in text


def test_what_is_not_signed_with_the_key_of_the_experiment_proves_nothing(devote, store, tmp_path):
    signed, file = store.tally(NAME).signed, tmp_path / "snapshots.txt"
    with serving(store) as url:
        for other in (replace(signed, head="0" * 64), replace(signed, at=signed.at + 600)):
            file.write_text(line(store, other))
            ran = devote("verify", url, "--snapshots", file, "--json")
            assert "proves nothing" in findings(ran)[0]
        file.write_text("hello\n")
        ran = devote("verify", url, "--snapshots", file)
        assert ran.code == 2
        assert "no snapshot" in ran.err


def shows(device, said):
    """Whether a device's status says so, once the server has made another tally."""
    for _ in range(100):
        device.sync()
        if any(said in reason for reason in device.status().degraded):
            return True
    return False


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda signed: None, "not signed"),
        (lambda signed: replace(signed, head="0" * 64), "not signed"),
        (lambda signed: replace(signed, number=7), "not signed"),
    ],
)
def test_a_device_says_that_a_tally_is_not_signed(store, tmp_path, monkeypatch, change, said):
    honest = type(store).tally

    def tell(self, name):
        tally = honest(self, name)
        return replace(tally, signed=change(tally.signed))

    with serving(store) as url, Device.join(url, store=tmp_path / "device.db") as device:
        monkeypatch.setattr(type(store), "tally", tell)
        for envelope in survey_answers(1, first=COUNT + 1):
            store.admit_known(NAME, [envelope.message.voter])
            store.post(NAME, envelope)
        assert shows(device, said)


@pytest.mark.parametrize("hours", [-2, 2])
def test_a_device_says_that_a_tally_is_old_or_was_signed_for_later(
    store, tmp_path, monkeypatch, hours
):
    now = store.clock
    with serving(store) as url, Device.join(url, store=tmp_path / "device.db") as device:
        monkeypatch.setattr(store, "clock", lambda: now() + hours * 3_600)
        assert shows(device, "more than an hour old")


def test_an_answer_that_is_not_sent_again_has_a_snapshot_too(store):
    with serving(store) as url:
        first = httpx.get(f"{url}/tally")
        again = httpx.get(f"{url}/tally", headers={"If-None-Match": first.headers["ETag"]})
    assert (first.status_code, again.status_code) == (200, 304)
    for answer in (first, again):
        assert SignedSnapshot.parse(answer.headers["Devote-Snapshot"]).number == COUNT


def test_only_the_latest_snapshots_are_kept(tmp_path):
    with closing(Store.open(tmp_path / "device.db")) as kept:
        made = [SignedSnapshot(n, 600 * n, "0" * 64, "1" * 64, "2" * 128) for n in range(12)]
        for signed in (*made, made[-1]):
            kept.keep_snapshot(signed)
        assert kept.snapshots() == [str(signed) for signed in made[-SNAPSHOTS:]]
