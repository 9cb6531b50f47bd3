"""The fault run, many times; and that it sees the bugs it is there for.

Janus's way: every message is unique by construction, so a loss or a double count proves itself.
``python -m tests.device.fault_run 100000`` is the longer target.
"""

from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from functools import cache

import pytest
from tests.device.crashing_store import Crash, Disk
from tests.device.fault_run import Fleet, fault_run

from devote.boards.board import Outcome
from devote.boards.database import Database
from devote.device import steps
from devote.device.core import Core
from devote.device.steps import Bookmark, Change
from devote.device.store import Store
from devote.schemes import Jury
from devote.schemes.jury.tally import Verdict

RUNS = 2_000
CHUNK = 50


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, RUNS, CHUNK))
def test_nothing_is_lost_or_counted_twice_and_every_run_ends_agreed_or_stalled(first):
    for seed in range(first, first + CHUNK):
        fault_run(seed)


def test_a_few_fault_runs_see_every_kind_of_fault_and_both_endings():
    happened = sum((fault_run(seed) for seed in range(13, 22)), fault_run(12))
    for kind in ("crash within a commit", "failed to sync", "synced", "agreed", "stalled"):
        assert happened[kind] > 0
    for kind in ("LateReward", "RepeatedReward"):
        assert happened[kind] > 0
    assert happened["votes amid faults"] > 20


def _runs_fail(seeds):
    for seed in seeds:
        try:
            fault_run(seed)
        except AssertionError:
            return True
        except Crash:
            continue  # while all healed, where nobody starts a device again
    return False


def test_the_fault_run_sees_a_vote_that_is_sent_before_it_is_on_disk(monkeypatch):
    committed = Disk.committed

    def never_synced(self, content, durable, entry):
        committed(self, content, False if self.states else durable, entry)

    monkeypatch.setattr(Disk, "committed", never_synced)
    assert _runs_fail(range(40))


def test_the_fault_run_sees_an_outbox_that_is_not_kept(monkeypatch):
    load = Store.load

    def forgetful(self):
        with self.database.write() as connection:
            connection.execute("DELETE FROM outbox WHERE delivery = 'waiting'")
        return load(self)

    monkeypatch.setattr(Store, "load", forgetful)
    assert _runs_fail(range(40))


def test_the_fault_run_sees_a_vote_taken_for_sent_when_no_answer_came(monkeypatch):
    waiting = Core.waiting.fget

    def sent_at_once(self):
        envelopes = waiting(self)
        for envelope in envelopes:
            self.change(steps.settle, envelope, Outcome.ACCEPTED)
        return envelopes

    monkeypatch.setattr(Core, "waiting", property(sent_at_once))
    monkeypatch.setattr(steps, "_wait_again", lambda record, *lost: [])
    assert _runs_fail(range(40))


def test_the_fault_run_sees_a_reward_counted_in_two_steps(monkeypatch):
    save = Store.save

    def in_two_steps(self, record, change):
        if not (change.outbox and change.sends):
            return save(self, record, change)
        save(self, record, change._replace(outbox=()))
        if len(self.database.disk.log) % 5 == 0:
            raise Crash  # as may happen between any two commits
        return save(self, record, Change(outbox=change.outbox))

    monkeypatch.setattr(Store, "save", in_two_steps)
    assert _runs_fail(range(40))


def test_the_fault_run_sees_a_device_that_does_not_commit(monkeypatch):
    write = Database.write

    @contextmanager
    def lost(self, *, durable=True):
        with write(self, durable=durable) as connection:
            yield connection
            if connection.execute("SELECT cursor % 5 FROM device").fetchone() == (3,):
                connection.execute("ROLLBACK")
                connection.execute("BEGIN")

    def lost_one(self, statement, values):
        with lost(self, durable=False) as connection:
            connection.execute(statement, values)

    monkeypatch.setattr(Database, "write", lost)
    monkeypatch.setattr(Database, "write_one", lost_one)
    assert _runs_fail(range(40))


@cache
def _jury_seeds():
    """Those of the first 60 whose fleet has a jury."""
    return [seed for seed in range(60) if isinstance(Fleet(seed).spec.scheme, Jury)]


def test_some_fault_runs_have_a_jury_in_which_claims_are_refused_and_which_end_either_way():
    happened = sum((fault_run(seed) for seed in _jury_seeds()), Counter())
    for kind in ("refused", "agreed by a jury", "stalled by a jury"):
        assert happened[kind] > 0


def test_the_fault_run_sees_a_board_that_gives_a_seat_twice(monkeypatch):
    monkeypatch.setattr(Verdict, "_refusal", lambda self, message: None)
    assert _runs_fail(_jury_seeds())


def test_the_fault_run_sees_a_claim_that_counts_before_the_board_shows_it(monkeypatch):
    load = Store.load

    def too_soon(self):
        record = load(self)
        for message in record.outbox:
            record.player.receive(message)
        return record

    monkeypatch.setattr(Store, "load", too_soon)
    assert _runs_fail(_jury_seeds())


def test_the_fault_run_sees_messages_counted_as_they_come_and_not_in_their_order(monkeypatch):
    moved = Bookmark.moved

    def as_they_come(self, posted, end=None):
        bookmark, passed = moved(self, posted, end)
        return bookmark, passed[::-1]

    monkeypatch.setattr(Bookmark, "moved", as_they_come)
    assert _runs_fail(_jury_seeds())


def test_the_fault_run_sees_seats_of_a_board_that_was_put_back(monkeypatch):
    save = Store.save

    def keep_all(self, record, change):
        if change.rewind is not None:
            record.bookmark = replace(record.bookmark, complete=True)
            change = change._replace(rewind="keep")
        save(self, record, change)

    monkeypatch.setattr(Store, "save", keep_all)
    # In these the board is put back after claims, and others claim before those who had seats.
    assert _runs_fail([655, 297, 136])
