"""Nothing in the files of a store links an invite to a key, and only their owner can read them."""

import random
import shutil
import sqlite3

import pytest
from tests.boards.local import here
from tests.boards.thief import links, places, stolen
from tests.server.live import SPEC, enrol, identity, open_store

from devote.boards.board import Outcome
from devote.boards.invites import hash_of

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
        assert [len(at) for at in places(content, {identity(1).voter}).values()] == [1]


def test_a_store_that_kept_the_order_would_be_found_out(tmp_path):
    """There the thief finds nearly all of them: so the test above would notice."""
    path = tmp_path / "x.db"
    _, came_with = enrolled_store(path)
    with sqlite3.connect(path) as db:
        db.execute("ALTER TABLE enrolled RENAME TO e")
        db.execute("ALTER TABLE invites RENAME TO i")
        db.execute("CREATE TABLE enrolled (experiment, voter, UNIQUE (experiment, voter))")
        db.execute("CREATE TABLE invites (experiment, hash, used, UNIQUE (experiment, hash))")
        for voter, hash_ in came_with.items():
            db.execute("INSERT INTO enrolled VALUES ('banner', ?)", (voter,))
            db.execute("INSERT INTO invites VALUES ('banner', ?, 1)", (hash_,))
        for table in ("e", "i"):
            db.execute(f"DROP TABLE {table}")
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
