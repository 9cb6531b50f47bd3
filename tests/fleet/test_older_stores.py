"""Device stores that older versions of devote have made: carried over, or refused untouched."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.fleet.fault_run import drive
from tests.fleet.worlds import PretendServer

from devote.boards.board import Outcome
from devote.boards.database import StoreMismatch
from devote.fleet import Device
from devote.fleet.core import DeviceCore
from devote.fleet.store import Store
from devote.fleet.sync import sync_once
from devote.fleet.tables import LAYOUT

DATA = Path(__file__).parents[1] / "data"
OLD = [
    ("version_1", "named", 0, 9),
    ("version_1", "named", 5, 9),
    ("version_1", "resets", 0, 11),
    ("version_1", "resets", 5, 11),
    ("version_2", "handles", 0, 11),
    ("version_2", "handles", 1, 11),
]


def facts_of(version, name, number):
    index = {0: 0, 1: 1, 5: 5}[number]
    return json.loads((DATA / version / "facts.json").read_text())[name][index]


@pytest.fixture
def copy(tmp_path):
    def copied(version, name, number):
        source = DATA / version / f"device-{name}-{number}.sqlite"
        return Path(shutil.copy(source, tmp_path / "device.db"))

    return copied


@pytest.mark.parametrize(("version", "name", "number", "read"), OLD)
def test_an_older_store_goes_on_where_it_was(copy, version, name, number, read):
    path = copy(version, name, number)
    facts = facts_of(version, name, number)
    for _ in range(2):  # carried over, and then opened as what it is now
        core = DeviceCore(Store.open(path))
        status, pending = core.status(), core.pending()
        assert status.voter == facts["voter"]
        assert status.state == facts["status"]
        assert list(status.answer) == facts["answer"]
        assert list(status.shared) == facts["shared"]
        assert list(status.remaining) == facts["remaining"]
        assert len(status.sent) == facts["sent"]
        assert len(status.waiting) == facts.get("waiting", 0)
        assert (None if pending is None else int(pending)) == facts["pending"]
        if facts.get("play"):
            assert pending.play == facts["play"]
        assert core.bookmark.number == read
        assert core.bookmark.complete
        assert core.store.load().enrolled
        core.close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (LAYOUT.version,)
    connection.close()


@pytest.mark.parametrize(("version", "name", "number", "read"), OLD)
def test_an_older_store_is_played_on(copy, version, name, number, read):
    core = DeviceCore(Store.open(copy(version, name, number)))
    before = core._player.activations
    for _ in range(20):
        choice = core.choose()
        core.reward(1.0 if choice == 0 else 0.0, choice)
    assert core._player.activations == before + 20  # a play that waits is shown again: one too
    core.close()


def test_an_older_store_and_an_empty_board_end_with_all_its_messages_there(copy):
    core = DeviceCore(Store.open(copy("version_1", "resets", 5)))
    board = PretendServer(core.spec, 6, enrolled=None)
    sent = set(core.status().sent)
    for _ in range(2):
        assert drive(sync_once(core, board))
    assert sent <= {posted.envelope.message for posted in board.now().posted}
    assert not core.status().waiting
    core.close()


def test_what_was_denied_in_version_2_is_refused_and_offered_again(copy):
    core = DeviceCore(Store.open(copy("version_2", "handles", 1)))
    assert "refuses a message" in core.status().degraded[0]
    (waiting,) = core.waiting
    core.settle(waiting, Outcome.ACCEPTED)
    assert not core.status().degraded
    core.close()


@pytest.mark.parametrize("number", [0, 5])
def test_a_store_of_the_first_jury_is_refused_and_left_untouched(copy, number):
    path = copy("version_1", "jury", number)
    before = path.read_bytes()
    with pytest.raises(StoreMismatch, match="first form of the jury, which is gone") as caught:
        Store.open(path)
    assert "'jury'" in str(caught.value)
    url = "http://127.0.0.1:9/experiments/jury"
    with pytest.raises(StoreMismatch, match="Open a new one"):
        Device.join(url, store=path, board=PretendServer())
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]
