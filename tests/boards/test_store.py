"""The file: refused clearly when it cannot be used, shared safely when it can."""

import multiprocessing
import sqlite3

import pytest
from tests.boards.live import SPEC, identity, open_store, seat, vote

from devote.boards import database
from devote.boards.board import BoardRefused, BoardUnavailable, Outcome
from devote.boards.experiment import Experiment
from devote.boards.sqlite import SqliteBoard, StoreError
from devote.boards.store import SqliteStore, UnknownExperiment
from devote.protocol import ExperimentSpec, Reset, Seat, SpecError


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "x.db"
    path.write_bytes(b"not a database, but something dear to somebody" * 100)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="corrupt, or no SQLite file"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_a_damaged_store_is_refused(tmp_path):
    path = tmp_path / "x.db"
    with open_store(path) as store:
        store.create(Experiment(SPEC))
        for n in range(1, 40):
            seat(store, identity(n))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="corrupt"):
        SqliteStore(path)


def test_the_database_of_another_program_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "x.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    with pytest.raises(StoreError, match="of another program"):
        SqliteStore(path)


def test_a_store_of_another_version_is_refused(tmp_path):
    path = tmp_path / "x.db"
    with open_store(path):
        pass
    other = sqlite3.connect(path)
    other.execute("PRAGMA user_version=2")
    other.close()
    with pytest.raises(StoreError, match=r"version 2, this is version 1"):
        SqliteStore(path)


def test_a_read_only_file_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "x.db"
    with open_store(path):
        pass
    connect = sqlite3.connect
    monkeypatch.setattr(
        database.sqlite3,
        "connect",
        lambda path, **options: connect(f"file:{path}?mode=ro", uri=True, **options),
    )
    with pytest.raises(StoreError, match="is read-only"):
        SqliteStore(path)


@pytest.mark.parametrize("place", ["nowhere/x.db", "."])
def test_a_path_that_cannot_be_a_file_is_refused(tmp_path, place):
    with pytest.raises(StoreError, match="cannot be opened"):
        SqliteStore(tmp_path / place)


def test_a_full_disk_takes_nothing_and_loses_nothing(tmp_path):
    with open_store(tmp_path / "x.db") as store:
        store.create(Experiment(SPEC))
        with store._database.read() as db:
            (pages,) = db.execute("PRAGMA page_count").fetchone()
            db.execute(f"PRAGMA max_page_count={pages + 1}")
        given: list[str] = []

        def fill() -> None:
            for n in range(1, 500):
                seat(store, identity(n))
                given.append(identity(n).voter)

        with pytest.raises(BoardUnavailable, match="full"):
            fill()
        assert store.seats("banner") == sorted(given)


def test_an_acknowledged_message_is_there_when_the_file_is_opened_again(tmp_path):
    for n in range(1, 4):
        with open_store(tmp_path / "x.db") as store:
            store.create(Experiment(SPEC))
            seat(store, identity(n))
            assert store.post("banner", vote(identity(n))).number == n
            assert store.post("banner", vote(identity(1))).outcome is Outcome.DUPLICATE


def test_the_one_vote_rule_is_a_constraint_of_the_file(tmp_path):
    with open_store(tmp_path / "x.db") as store:
        store.create(Experiment(SPEC))
        seat(store, identity(1))
        store.post("banner", vote(identity(1)))
        with pytest.raises(BoardUnavailable, match="UNIQUE"), store._database.write() as db:
            db.execute(
                "INSERT INTO messages SELECT experiment, 2, voter, message, signature FROM messages"
            )
        assert store.rows("banner")[0] == 1


def test_who_has_which_place_in_a_jury_is_a_constraint_of_the_file(tmp_path):
    with open_store(tmp_path / "x.db") as store:
        with store._database.write() as db:
            db.execute("INSERT INTO jury VALUES ('banner', 1, 'a')")
        for row in (("banner", 1, "b"), ("banner", 2, "a")):
            with pytest.raises(BoardUnavailable, match="UNIQUE"), store._database.write() as db:
                db.execute("INSERT INTO jury VALUES (?, ?, ?)", row)


def test_a_taken_place_and_a_far_term_are_denied_also_after_a_restart(tmp_path):
    jury = ExperimentSpec(arms=3, name="jury", protocol="jury")
    resetting = ExperimentSpec(arms=3, name="resets", quorum=2, algorithm="ser4", phi=0.1)
    a, b = identity(1), identity(2)
    with open_store(tmp_path / "x.db") as store:
        for spec in (jury, resetting):
            store.create(Experiment(spec))
            for voter in (a, b):
                seat(store, voter, spec.name)
        store.post("jury", a.sign(Seat("jury", 1, a.voter)))
        store.post("resets", a.sign(Reset("resets", 1, a.voter)))
    with open_store(tmp_path / "x.db") as store:
        taken = store.post("jury", b.sign(Seat("jury", 1, b.voter)))
        assert (taken.outcome, taken.reason.splitlines()[0]) == (
            Outcome.DENIED,
            "seat=1 in the jury is taken.",
        )
        second = store.post("jury", a.sign(Seat("jury", 2, a.voter)))
        assert "This voter has seat 1" in second.reason
        far = store.post("resets", b.sign(Reset("resets", 3, b.voter)))
        assert far.reason == ("term=3 was given, but the board is in term 1.\nOpen term 2 first.")
        next_one = store.post("resets", b.sign(Reset("resets", 2, b.voter)))
        assert next_one.outcome is Outcome.ACCEPTED


def test_durability_is_switched_on(tmp_path):
    with open_store(tmp_path / "x.db") as store, store._database.read() as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)


def test_an_experiment_never_changes(tmp_path):
    with open_store(tmp_path / "x.db") as store:
        assert store.create(Experiment(SPEC)).outcome is Outcome.ACCEPTED
        assert store.create(Experiment(SPEC)).outcome is Outcome.DUPLICATE
        for other in (Experiment(SPEC.with_(eta=0.5)), Experiment(SPEC, "invite")):
            assert store.create(other).outcome is Outcome.DENIED
        assert store.experiments() == [Experiment(SPEC)]


def test_a_name_that_no_address_can_hold_is_denied(tmp_path):
    with open_store(tmp_path / "x.db") as store:
        assert store.create(Experiment(SPEC.with_(name=".."))).outcome is Outcome.DENIED


def test_an_unknown_experiment_is_said_to_be_unknown(tmp_path):
    with open_store(tmp_path / "x.db") as store:
        for action in (store.get, store.seats, store.invites):
            with pytest.raises(UnknownExperiment, match="no experiment 'banner'"):
                action("banner")
        with pytest.raises(BoardRefused):
            SqliteBoard(store, "banner")


def test_limits_are_kept(tmp_path):
    with open_store(tmp_path / "x.db") as store:
        store.create(Experiment(SPEC))
        other = Experiment(SPEC.with_(name="other"))
        assert "at most 1" in store.create(other, most=1).reason
        seat(store, identity(1))
        assert store.post("banner", vote(identity(1)), most=1).outcome is Outcome.ACCEPTED
        assert "at most 1 messages" in store.post("banner", vote(identity(1), 1), most=1).reason
        with pytest.raises(ValueError, match="count=0"):
            store.invite("banner", 0)


def test_enrolment_and_players_are_checked():
    with pytest.raises(SpecError, match="must be open or invite"):
        Experiment(SPEC, "anyone")
    with pytest.raises(SpecError, match="there are 1 players"):
        Experiment(SPEC, players=1)


def _vote_many(path: str, voter: int, results) -> None:
    with open_store(path) as store:
        store.create(Experiment(SPEC))
        seat(store, identity(voter))
        # Every process also posts the first voter's votes: all but one must be duplicates.
        seat(store, identity(1))
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
