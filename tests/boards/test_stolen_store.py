"""Nothing in the files of a store links an invite to a key, and only their owner can read them."""

import random
import shutil
import sqlite3

import pytest
from tests.boards.local import here
from tests.boards.thief import links, stolen
from tests.server.live import SPEC, enrol, identity, open_store

from devote.boards.board import Outcome
from devote.boards.identity import hash_of

DEVICES = 120


def enrolled_store(path, devices=DEVICES, seed=0):
    """A store whose devices have enrolled by invite in an order of their own, and who came how."""
    came_with = {}
    with open_store(path) as store:
        store.create(here(SPEC, enrolment="invite"))
        invites = store.invite("banner", devices + 20)
        random.Random(seed).shuffle(invites)
        for number, invite in zip(range(1, devices + 1), invites, strict=False):
            voter = identity(number)
            assert enrol(store, voter, invite=invite).outcome is Outcome.ACCEPTED
            came_with[voter.voter] = hash_of(invite)
        copy = path.with_name("stolen.db")
        for suffix in stolen(path):
            shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
    return copy, came_with


def test_a_thief_of_all_files_links_no_more_invites_than_by_guessing(tmp_path):
    """Of 120 pairs a guess gets 1 right on average.

    The thief has ten ways of guessing. That one of them gets 11 or more right has a probability of
    at most 10 * 1e-8.
    """
    copy, came_with = enrolled_store(tmp_path / "x.db")
    assert links(copy, came_with) < 11


def test_the_log_of_the_file_is_empty_after_an_enrolment(tmp_path):
    with open_store(tmp_path / "x.db") as store:
        store.create(here(SPEC, enrolment="invite"))
        (invite,) = store.invite("banner", 1)
        assert enrol(store, identity(1), invite=invite).outcome is Outcome.ACCEPTED
        assert stolen(tmp_path / "x.db")["-wal"] == b""
        content = stolen(tmp_path / "x.db")[""]
        assert content.count(bytes.fromhex(identity(1).voter)) == 1


def test_the_files_of_a_store_are_the_same_to_the_byte_in_whatever_order_devices_enrolled(tmp_path):
    """However many: with 400 the blocks have been doubled several times."""
    invites = [f"invite {n}" for n in range(400)]
    files = []
    with open_store(tmp_path / "new.db") as store:
        store.create(here(SPEC, enrolment="invite"))  # which draws the key that signs snapshots
    for seed in range(3):
        path = shutil.copy(tmp_path / "new.db", tmp_path / f"{seed}.db")
        pairs = list(zip(range(1, 401), random.Random(seed).sample(invites, 400), strict=True))
        random.Random(-seed).shuffle(pairs)
        with open_store(path) as store:
            store.add_invites("banner", [(hash_of(text), None) for text in invites])
            for number, invite in pairs:
                voter = identity(number)
                assert enrol(store, voter, invite=invite).outcome is Outcome.ACCEPTED
            assert store.voters("banner") == sorted(identity(n).voter for n in range(1, 401))
        content = bytearray(path.read_bytes())
        for at in (24, 92):  # how often the file was written
            content[at : at + 4] = bytes(4)
        files.append(bytes(content))
    assert files[0] == files[1] == files[2]


def test_an_open_reader_stalls_no_enrolment_and_keeps_no_pair_once_it_has_left(
    tmp_path, monkeypatch
):
    """The server would wait for an hour, if it waited."""
    monkeypatch.setattr("devote.boards.database.PATIENCE", 3_600.0)
    path = tmp_path / "x.db"
    with open_store(path) as store:
        store.create(here(SPEC, enrolment="invite"))
        invites = store.invite("banner", 3)
        reader = sqlite3.connect(path)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM experiments").fetchone()
        for number, invite in enumerate(invites[:2], start=1):
            assert enrol(store, identity(number), invite=invite).outcome is Outcome.ACCEPTED
        assert stolen(path)["-wal"] != b""
        reader.rollback()
        reader.close()
        store.check_writable()
        assert stolen(path)["-wal"] == b""


def test_a_store_that_kept_the_order_would_be_found_out(tmp_path):
    """There the thief finds nearly all of them: so the tests above would notice."""
    path, came_with = enrolled_store(tmp_path / "x.db")
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE voters")
        db.execute("DROP TABLE invites")
        db.execute("CREATE TABLE voters (voter BLOB)")
        db.execute("CREATE TABLE invites (hash TEXT)")
        for voter, hashed in came_with.items():
            db.execute("INSERT INTO voters VALUES (?)", (bytes.fromhex(voter),))
            db.execute("INSERT INTO invites VALUES (?)", (hashed,))
    db.close()
    assert links(path, came_with) > 100


@pytest.mark.parametrize("is_old", [False, True])
def test_only_the_owner_can_read_the_store_and_its_log(tmp_path, is_old):
    path = tmp_path / "x.db"
    if is_old:
        with open_store(path):
            pass
        path.chmod(0o644)
    with open_store(path) as store:
        store.create(here(SPEC))
        modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    assert set(modes) == {"x.db", "x.db-wal", "x.db-shm"}
    assert set(modes.values()) == {0o600}
