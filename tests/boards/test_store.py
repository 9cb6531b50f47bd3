"""The file: refused clearly when it cannot be used, shared safely when it can."""

import asyncio
import multiprocessing
import sqlite3

import pytest
from tests.boards.local import here, scope
from tests.server.live import SPEC, enrol, enrolled, identity, open_store, vote

from devote.boards import database
from devote.boards.board import (
    BoardRefused,
    BoardUnavailable,
    Outcome,
    UnknownExperiment,
    UnreadableExperiment,
)
from devote.boards.database import (
    Database,
    Layout,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from devote.boards.identity import is_key
from devote.boards.sqlite import SqliteBoard
from devote.boards.store import SqliteStore
from devote.protocol import ExperimentSpec, SpecError
from devote.schemes import Claim, Jury, Pick, Reset


def test_a_read_only_file_is_read_and_nothing_is_written(tmp_path, monkeypatch):
    path = tmp_path / "x.db"
    with open_store(path) as store:
        store.create(here(SPEC))
    connect = sqlite3.connect
    monkeypatch.setattr(
        database.sqlite3,
        "connect",
        lambda path, **options: connect(f"file:{path}?mode=ro", **{**options, "uri": True}),
    )
    with open_store(path) as store:
        assert store.get("banner").spec == SPEC
        with pytest.raises(StoreReadOnly, match="cannot be written"):
            enrol(store, identity(1))


@pytest.mark.parametrize("place", ["nowhere/x.db", "."])
def test_a_path_that_cannot_be_a_file_is_refused(tmp_path, place):
    with pytest.raises(StoreReadOnly, match="cannot be opened"):
        SqliteStore(tmp_path / place)


def test_a_full_disk_takes_nothing_and_loses_nothing(tmp_path):
    with open_store(tmp_path / "x.db") as store:
        store.create(here(SPEC))
        with store.database.read() as db:
            (pages,) = db.execute("PRAGMA page_count").fetchone()
            db.execute(f"PRAGMA max_page_count={pages + 1}")
        given: list[str] = []

        def fill() -> None:
            for n in range(1, 500):
                enrol(store, identity(n))
                given.append(identity(n).voter)

        with pytest.raises(StoreFull, match="full"):
            fill()
        assert enrolled(store) == sorted(given)


def test_an_acknowledged_message_is_there_when_the_file_is_opened_again(tmp_path):
    for n in range(1, 4):
        with open_store(tmp_path / "x.db") as store:
            with store.database.read() as db:
                assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
                assert db.execute("PRAGMA synchronous").fetchone() == (2,)
            store.create(here(SPEC))
            enrol(store, identity(n))
            assert store.post("banner", vote(identity(n))).number == n
            assert store.post("banner", vote(identity(1))).outcome is Outcome.DUPLICATE


def test_the_one_vote_rule_is_a_constraint_of_the_file(tmp_path):
    with open_store(tmp_path / "x.db") as store:
        store.create(here(SPEC))
        enrol(store, identity(1))
        store.post("banner", vote(identity(1)))
        with pytest.raises(StoreError, match="UNIQUE"), store.database.write() as db:
            db.execute(
                "INSERT INTO messages SELECT experiment, 2, voter, message, signature FROM messages"
            )
        assert store.rows("banner")[0] == 1


JURY = ExperimentSpec(arms=3, name="jury", scheme=Jury(seats=2, liars=0), eta=0.1)
RESETTING = ExperimentSpec(
    arms=3, name="resets", scheme={"quorum": 2}, algorithm="ser4", options={"phi": 0.1}
)


def _claim(number: int):
    return identity(number).sign(Claim("jury", identity(number).voter), scope(JURY))


def _pick(number: int, arm: int):
    return identity(number).sign(Pick("jury", arm, identity(number).voter), scope(JURY))


def _reset(number: int, term: int):
    return identity(number).sign(Reset("resets", term, identity(number).voter), scope(RESETTING))


def _create(store: SqliteStore, *specs: ExperimentSpec) -> None:
    for spec in specs:
        store.create(here(spec))
        for number in (1, 2, 3):
            enrol(store, identity(number), spec.name)


def test_a_full_jury_and_a_far_term_are_refused_also_after_a_restart(tmp_path):
    with open_store(tmp_path / "x.db") as store:
        _create(store, JURY, RESETTING)
        for number in (1, 2):
            assert store.post("jury", _claim(number)).outcome is Outcome.ACCEPTED
        store.post("resets", _reset(1, 1))
    with open_store(tmp_path / "x.db") as store:
        late = store.post("jury", _claim(3))
        assert (late.outcome, late.reason) == (
            Outcome.REFUSED,
            "All 2 seats of the jury are taken.\nWait for the verdict.",
        )
        assert store.post("jury", _claim(1)).outcome is Outcome.DUPLICATE
        far = store.post("resets", _reset(2, 3))
        assert far.reason == ("term=3 was given, but the board is in term 1.\nOpen term 2 first.")
        assert store.post("resets", _reset(2, 2)).outcome is Outcome.ACCEPTED


def test_what_another_process_has_posted_counts_before_the_next_message_is_judged(tmp_path):
    with open_store(tmp_path / "x.db") as one, open_store(tmp_path / "x.db") as other:
        _create(one, JURY)
        assert one.post("jury", _claim(1)).outcome is Outcome.ACCEPTED
        assert other.post("jury", _claim(2)).outcome is Outcome.ACCEPTED
        assert "seats of the jury are taken" in one.post("jury", _claim(3)).reason
        assert one.post("jury", _pick(2, 0)).outcome is Outcome.ACCEPTED
        assert "picked another arm" in other.post("jury", _pick(2, 1)).reason


def test_a_message_whose_commit_failed_is_not_counted(tmp_path):
    with open_store(tmp_path / "x.db") as store:
        _create(store, JURY)
        store.post("jury", _claim(1))
        with store.database.write() as db:
            db.execute(
                "CREATE TRIGGER broken BEFORE INSERT ON messages"
                " BEGIN SELECT RAISE(ABORT, 'the disk is gone'); END"
            )
        with pytest.raises(StoreError, match="the disk is gone"):
            store.post("jury", _claim(2))
        with store.database.write() as db:
            db.execute("DROP TRIGGER broken")
        assert store.post("jury", _claim(3)).number == 2
        assert "seats of the jury are taken" in store.post("jury", _claim(2)).reason


@pytest.mark.parametrize("grown_again", [False, True])
def test_when_an_older_file_is_put_back_the_count_begins_anew(tmp_path, grown_again):
    with open_store(tmp_path / "x.db") as store:
        _create(store, JURY)
        for number in (1, 2):
            store.post("jury", _claim(number))
        assert store.post("jury", _claim(3)).outcome is Outcome.REFUSED
        other = sqlite3.connect(tmp_path / "x.db")
        with other:
            other.execute("DELETE FROM messages WHERE number > 1")
        other.close()
        if grown_again:
            with open_store(tmp_path / "x.db") as another:
                assert another.post("jury", _claim(3)).number == 2
            assert "seats of the jury are taken" in store.post("jury", _claim(2)).reason
        else:
            assert store.post("jury", _claim(3)).number == 2


def test_a_message_that_is_no_message_makes_the_store_corrupt(tmp_path):
    with open_store(tmp_path / "x.db") as store:
        _create(store, JURY)
        with store.database.write() as db:
            db.execute("INSERT INTO messages VALUES ('jury', 1, 'a', '{}', '')")
        with pytest.raises(StoreCorrupt, match="is damaged"):
            store.post("jury", _claim(1))


def test_an_experiment_whose_specification_cannot_be_read_is_refused_with_the_reason(tmp_path):
    with open_store(tmp_path / "x.db") as store:
        _create(store, JURY)
        voters = store.voters("jury")
        with store.database.write() as db:
            spec = "replace(spec, 'betting', 'gambling')"
            db.execute(f"UPDATE experiments SET fingerprint = 'another', spec = {spec}")
    with open_store(tmp_path / "x.db") as store:
        actions = [
            lambda: store.get("jury"),
            lambda: store.post("jury", _claim(1)),
            lambda: enrol(store, identity(9), "jury"),
            lambda: store.invite("jury", 1),
            lambda: SqliteBoard(store, "jury"),
        ]
        for action in actions:
            with pytest.raises(UnreadableExperiment, match="algorithm='gambling' is not known"):
                action()
        assert store.create(here(JURY)).outcome is Outcome.REFUSED
        assert store.experiments() == []
        assert store.voters("jury") == voters, "nothing of it is lost"


THINGS = Layout("box of things", 7, 1, "CREATE TABLE things (x)")


def test_a_file_opened_alone_is_its_owners_and_nobody_elses(tmp_path):
    path = tmp_path / "things.db"
    box = Database(path, THINGS, alone=True)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(StoreBusy, match=r"box of things .* in use by another process"):
        Database(path, THINGS, alone=True)
    with box.write(durable=False) as db:
        db.execute("INSERT INTO things VALUES (1)")
        assert db.execute("PRAGMA synchronous").fetchone() == (1,)
    with box.write() as db:
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)
    box.close()
    again = Database(path, THINGS, alone=True)
    with again.read() as db:
        assert db.execute("SELECT x FROM things").fetchall() == [(1,)]
    again.remove()
    assert list(tmp_path.iterdir()) == []


def test_one_statement_is_a_transaction_by_itself(tmp_path):
    box = Database(tmp_path / "things.db", THINGS)
    other = Database(tmp_path / "things.db", THINGS)
    with box.write() as db:
        db.execute("CREATE UNIQUE INDEX each ON things (x)")
    insert = "INSERT INTO things VALUES (?)"
    box.write_one(insert, (1,))
    with other.read() as db:
        assert db.execute("SELECT x FROM things").fetchall() == [(1,)]
    with box.read() as db:
        assert db.execute("PRAGMA synchronous").fetchone() == (1,)
    with box.write() as db:
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)
    with pytest.raises(StoreError, match="UNIQUE"):
        box.write_one(insert + ", (?)", (2, 1))
    box.close()
    with pytest.raises(StoreError, match="is closed"):
        box.write_one(insert, (4,))
    with other.read() as db:
        assert db.execute("SELECT x FROM things").fetchall() == [(1,)]
    other.close()


def test_to_a_device_a_store_that_fails_is_a_board_that_is_unavailable(tmp_path):
    with open_store(tmp_path / "x.db") as store:
        store.create(here(SPEC))
        board = SqliteBoard(store, "banner")
    calls = [
        board.fetch_experiment,
        lambda: board.enrol(identity(1)),
        lambda: board.publish(vote(identity(1))),
        board.snapshot,
        lambda: anext(board.stream()),
    ]
    for call in calls:
        with pytest.raises(BoardUnavailable, match="is closed"):
            asyncio.run(_await(call()))


async def _await(work):
    return await work


def test_an_error_in_what_a_row_holds_is_an_error_without_quoting_it(tmp_path):
    box = Database(tmp_path / "things.db", THINGS)
    with pytest.raises(StoreCorrupt, match="is damaged") as caught, box.decoding():
        raise ValueError("a secret")
    assert caught.value.__suppress_context__
    assert caught.value.__cause__ is None
    box.close()


def test_an_experiment_never_changes(tmp_path):
    with open_store(tmp_path / "x.db") as store:
        assert store.create(here(SPEC)).outcome is Outcome.ACCEPTED
        assert store.create(here(SPEC)).outcome is Outcome.DUPLICATE
        for other in (here(SPEC.with_(eta=0.5)), here(SPEC, "invite")):
            assert store.create(other).outcome is Outcome.REFUSED
        assert store.create(here(SPEC.with_(name=".."))).outcome is Outcome.REFUSED
        (kept,) = store.experiments()
        assert is_key(kept.signer)
        assert kept == here(SPEC)


def test_an_unknown_experiment_is_an_error(tmp_path):
    with open_store(tmp_path / "x.db") as store:
        for action in (store.get, store.spec, lambda name: store.invite(name, 1)):
            with pytest.raises(UnknownExperiment, match="no experiment 'banner'"):
                action("banner")
        with pytest.raises(BoardRefused):
            SqliteBoard(store, "banner")


def test_enrolment_and_players_are_checked():
    with pytest.raises(SpecError, match="must be open or invite"):
        here(SPEC, "anyone")
    with pytest.raises(SpecError, match="there are 1"):
        here(SPEC, players=1)


def _vote_many(path: str, voter: int, results) -> None:
    with open_store(path) as store:
        store.create(here(SPEC))
        enrol(store, identity(voter))
        # Every process also posts the first voter's votes: all but one must be duplicates.
        enrol(store, identity(1))
        for arm in range(4):
            for who in (voter, 1):
                results.put(store.post("banner", vote(identity(who), arm)).outcome)


def test_several_processes_share_one_file(tmp_path):
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    path = str(tmp_path / "x.db")
    workers = [
        context.Process(target=_vote_many, args=(path, voter, results)) for voter in (2, 3, 4)
    ]
    for worker in workers:
        worker.start()
    outcomes = [results.get(timeout=60) for _ in range(3 * 8)]
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    results.close()
    results.join_thread()
    assert outcomes.count(Outcome.ACCEPTED) == 16
    assert outcomes.count(Outcome.DUPLICATE) == 8
    with open_store(path) as store:
        last, rows = store.rows("banner")
        assert [number for number, _, _ in rows] == list(range(1, last + 1)) == list(range(1, 17))


def test_how_many_are_enrolled_is_what_the_file_says_whoever_wrote_it(tmp_path):
    path = tmp_path / "x.db"
    with open_store(path) as store, open_store(path) as other:
        for name in ("banner", "second"):
            store.create(here(SPEC.with_(name=name)))
        for turn, (writer, name) in enumerate(
            [(store, "banner"), (other, "banner"), (other, "second"), (store, "second")] * 3
        ):
            assert enrol(writer, identity(turn + 1), name).outcome is Outcome.ACCEPTED
            for reader in (store, other):
                for each in ("banner", "second"):
                    assert reader.get(each).enrolled == len(enrolled(reader, each))
        with other.database.write() as db:  # as if an older file had been put back
            db.execute("DELETE FROM voters WHERE experiment = 'second'")
            db.execute("UPDATE experiments SET enrolled = 0 WHERE name = 'second'")
        assert (store.get("banner").enrolled, store.get("second").enrolled) == (6, 0)
        assert enrol(store, identity(99), "second").outcome is Outcome.ACCEPTED
        assert (other.get("banner").enrolled, other.get("second").enrolled) == (6, 1)
