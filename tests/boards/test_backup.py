"""A copy of a live store is whole, as of one moment, and can be put back."""

import os
import stat
import threading

import pytest
from tests.boards.local import here
from tests.server.live import SPEC, enrol, enrol_all, identity, open_store, vote

from devote.boards.backup import back_up, put_back
from devote.boards.board import ExperimentState
from devote.boards.database import StoreBusy, StoreCorrupt, StoreError

VOTERS = [identity(n) for n in range(1, 61)]


def test_a_copy_made_while_votes_come_has_all_that_was_acknowledged_before(tmp_path):
    """Each copy holds every vote acknowledged before it began, and an unbroken log."""
    with open_store(tmp_path / "server.db") as store:
        store.create(here(SPEC))
        enrol_all(store, VOTERS)
        acknowledged = []

        def post():
            for voter in VOTERS:
                acknowledged.append(store.post("banner", vote(voter)).number)

        posting = threading.Thread(target=post)
        posting.start()
        before = []
        for n in range(4):
            before.append(len(acknowledged))
            back_up(tmp_path / "server.db", tmp_path / f"copy-{n}.db")
        posting.join()
        rows = store.rows("banner")[1]
    for n, least in enumerate(before):
        with open_store(tmp_path / f"copy-{n}.db") as copy:
            last, kept = copy.rows("banner")
            assert last >= least
            assert kept == rows[:last]
            assert copy.tally("banner").number == last
            assert len(copy.voters("banner")) == len(VOTERS)


def test_a_copy_is_its_owners_only_and_leaves_nothing_behind(tmp_path):
    with open_store(tmp_path / "server.db") as store:
        store.create(here(SPEC))
        assert back_up(tmp_path / "server.db", tmp_path / "copy.db") > 0
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"server.db", "copy.db"}
    with pytest.raises(StoreError, match="is there already"):
        back_up(tmp_path / "server.db", tmp_path / "copy.db")


def test_what_was_deleted_is_not_in_a_copy(tmp_path):
    with open_store(tmp_path / "server.db") as store:
        store.create(here(SPEC, "invite"))
        (invite,) = store.invite("banner", 1)
        enrol(store, VOTERS[0], invite=invite)
        with store.database.write() as db:
            db.execute("DELETE FROM voters")  # without overwriting it in the file
        back_up(tmp_path / "server.db", tmp_path / "copy.db")
    assert bytes.fromhex(VOTERS[0].voter) not in (tmp_path / "copy.db").read_bytes()


def test_a_copy_is_put_back_and_the_store_before_it_set_aside(tmp_path):
    path, copy = tmp_path / "server.db", tmp_path / "copy.db"
    with open_store(path) as store:
        store.create(here(SPEC))
        enrol_all(store, VOTERS)
        store.post("banner", vote(VOTERS[0]))
        store.change("banner", state="closed")
        back_up(path, copy)
        store.change("banner", state="open")
        store.post("banner", vote(VOTERS[1]))
        with pytest.raises(StoreBusy, match="Stop its server first"):
            put_back(copy, path)
    assert put_back(copy, path) == tmp_path / "server.db.replaced"
    with open_store(path) as store:
        assert store.rows("banner")[0] == 1
        assert store.standing("banner") == ExperimentState("closed")
    with open_store(tmp_path / "server.db.replaced") as store:
        assert store.rows("banner")[0] == 2
    with pytest.raises(StoreError, match="from an earlier restore"):
        put_back(copy, path)
    assert put_back(copy, tmp_path / "new.db") is None


def test_a_copy_is_put_in_the_place_of_a_store_killed_with_its_log(tmp_path):
    """The write-ahead log of another store beside a restored file would destroy it."""
    path, copy = tmp_path / "server.db", tmp_path / "copy.db"
    child = os.fork()
    if child == 0:
        with open_store(path) as store:
            store.create(here(SPEC))
            back_up(path, copy)
            enrol(store, VOTERS[0])
            os._exit(0)
    os.waitpid(child, 0)
    assert (tmp_path / "server.db-wal").exists()
    put_back(copy, path)
    with open_store(path) as store:
        assert store.voters("banner") == []


def test_a_damaged_store_can_be_replaced(tmp_path):
    path, copy = tmp_path / "server.db", tmp_path / "copy.db"
    with open_store(path) as store:
        store.create(here(SPEC))
        back_up(path, copy)
    path.write_bytes(b"damaged" * 1000)
    put_back(copy, path)
    with open_store(path) as store:
        assert store.get("banner").spec == SPEC


@pytest.mark.parametrize(
    ("content", "error", "says"),
    [
        (None, StoreError, "There is no store"),
        (b"", StoreCorrupt, "is a database, but not a board store"),
        (b"no database at all" * 300, StoreCorrupt, "is not a SQLite file"),
    ],
)
def test_what_is_no_store_is_refused_and_nothing_is_made(tmp_path, content, error, says):
    path = tmp_path / "x.db"
    if content is not None:
        path.write_bytes(content)
    before = {p.name for p in tmp_path.iterdir()}
    with pytest.raises(error, match=says):
        back_up(path, tmp_path / "copy.db")
    assert {p.name for p in tmp_path.iterdir()} == before
    with pytest.raises(StoreError):
        put_back(path, tmp_path / "server.db")
    assert {p.name for p in tmp_path.iterdir()} == before
