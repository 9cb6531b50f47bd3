"""The one file of a device: whole or refused in words, locked, durable where it must be."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys

import pytest
from tests.device.worlds import ME, SPEC, play_until_vote, set_up

from devote.boards.database import (
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreMismatch,
    StoreReadOnly,
)
from devote.device.core import Core
from devote.device.store import LAYOUT, Store


@pytest.fixture
def path(tmp_path):
    store = set_up(tmp_path / "device.db")
    store.close()
    return tmp_path / "device.db"


def edit(path, statement, *values):
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement, values)
    connection.close()


def test_what_was_set_up_is_loaded(path):
    store = Store.open(path)
    record = store.load()
    store.close()
    assert (record.spec, record.players) == (SPEC, 3)
    assert record.identity.voter == ME.voter
    assert record.pending_at is None


def test_the_private_key_is_readable_by_its_owner_only_and_never_shown(path):
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    store = Store.open(path)
    record = store.load()
    store.close()
    assert repr(ME.to_private_bytes()) not in repr(record)


def test_what_is_deleted_is_overwritten(path):
    """So that noise and rewards are gone wherever on a page they were."""
    store = Store.open(path)
    with store.database.read() as db:
        assert db.execute("PRAGMA secure_delete").fetchone() == (1,)
    store.close()


def test_two_processes_cannot_share_a_store(path):
    code = (
        "import sys; from devote.device.store import Store\n"
        "store = Store.open(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout.readline() == "open\n"
        with pytest.raises(StoreBusy, match="use another file"):
            Store.open(path)
        other.kill()
    Store.open(path).close()


@pytest.mark.parametrize(
    ("make", "error", "why"),
    [
        (lambda p: p.write_bytes(b"not a database" * 500), StoreCorrupt, "is not a SQLite file"),
        (lambda p: edit(p, "CREATE TABLE recipes (name TEXT)"), StoreCorrupt, "not a device store"),
        (lambda p: p.mkdir(), StoreReadOnly, "cannot be opened"),
    ],
    ids=["no database", "another kind", "a folder"],
)
def test_a_file_that_is_no_device_store_is_refused_and_left_alone(tmp_path, make, error, why):
    path = tmp_path / "other.db"
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(error, match=why):
        Store.open(path)
    assert (path.read_bytes() if path.is_file() else b"") == before


def test_a_store_of_another_version_is_refused(path):
    edit(path, f"PRAGMA user_version = {LAYOUT.version + 1}")
    with pytest.raises(StoreMismatch, match="Use the version of devote that wrote it"):
        Store.open(path)


def test_a_damaged_file_is_refused(path):
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(StoreCorrupt, match="damaged"):
        Store.open(path)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("player", "{"),
        ("player", "[]"),
        ("player", '{"version": 1}'),
        ("player", '{"version": 9}'),
        ("spec", "{}"),
        ("spec", SPEC.with_(eta=0.5).to_json()),
    ],
)
def test_contents_that_do_not_decode_are_refused_without_quoting_them(path, column, value):
    edit(path, f"UPDATE device SET {column} = ?", value)
    store = Store.open(path)
    with pytest.raises(StoreError) as caught:
        Core(store)
    store.close()
    assert value not in str(caught.value) or value in "[]{}"


@pytest.mark.parametrize("name", ["device.db", "."])
def test_a_store_that_cannot_be_written_is_refused(path, monkeypatch, name):
    # Pretended, because a superuser, as in a container, may write everything.
    locked = str((path.parent / name).resolve())
    monkeypatch.setattr(os, "access", lambda p, mode: os.path.realpath(p) != locked)
    with pytest.raises(StoreReadOnly, match="writable"):
        Store.open(path)


def test_on_a_full_disk_the_step_has_not_happened_and_can_be_made_again(path, monkeypatch):
    store = Store.open(path)
    core = Core(store)
    arm = core.choose(0.5)
    with store.database.read() as db:
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {pages}")
        db.execute("PRAGMA cache_spill = 0")
    before = core.record.player.to_dict()
    save = store.save

    def save_more(record, change):
        record.plays += " " * 100_000
        save(record, change)

    monkeypatch.setattr(store, "save", save_more)
    with pytest.raises(StoreFull, match="Make room"):
        core.reward(1.0)
    monkeypatch.undo()
    assert core.record.player.to_dict() == before
    assert any("disk is full" in reason for reason in core.status().degraded)
    assert core.choose() == arm
    core.reward(1.0)
    assert not core.status().degraded
    core.close()


def test_a_closed_store_says_so(path):
    store = Store.open(path)
    core = Core(store)
    core.close()
    with pytest.raises(StoreError, match="is closed"):
        core.choose()


def test_only_a_step_that_fills_the_outbox_waits_for_the_disk(path):
    store = Store.open(path)
    core = Core(store)
    seen = []
    with store.database.read() as db:
        db.set_trace_callback(seen.append)
    core.choose(0.1)
    core.reward(1.0)
    assert not any("synchronous=FULL" in statement for statement in seen)
    seen.clear()
    play_until_vote(core)
    (mode,) = db.execute("PRAGMA synchronous").fetchone()
    assert mode == 2
    last = max(i for i, s in enumerate(seen) if "synchronous=FULL" in s)
    assert any("INSERT INTO outbox" in statement for statement in seen[last:])
    db.set_trace_callback(None)
    core.close()


def test_a_copy_of_the_file_and_its_log_taken_after_any_step_goes_on_from_there(tmp_path):
    store = set_up(tmp_path / "device.db")
    core = Core(store)
    copies = tmp_path / "copies"
    copies.mkdir()
    for step in range(60):
        if core.record.player.pending is None:
            core.choose(step * 0.618 % 1.0)
        else:
            core.reward(1.0 if core.record.player.pending == 0 else 0.0)
        if step % 3 == 0:
            for suffix in ("", "-wal"):
                if os.path.exists(f"{store.path}{suffix}"):
                    shutil.copy(f"{store.path}{suffix}", copies / f"{step}.db{suffix}")
            restored = Core(Store.open(copies / f"{step}.db"))
            assert restored.record.player.to_dict() == core.record.player.to_dict()
            assert restored.waiting == core.waiting
            restored.close()
    assert core.waiting
    core.close()


def test_a_store_whose_process_died_before_it_had_a_log_can_be_opened(tmp_path):
    """The tables are committed before the file is switched to a write-ahead log."""

    connection = sqlite3.connect(tmp_path / "device.db")
    connection.executescript(LAYOUT.tables)
    connection.execute(f"PRAGMA application_id={LAYOUT.application}")
    connection.execute(f"PRAGMA user_version={LAYOUT.version}")
    connection.close()
    store = Store.open(tmp_path / "device.db")
    assert not store.has_joined
    store.close()
