"""How experiments stand, and what the operator takes back: in the store's file, for good."""

import asyncio
import json
import time
from contextlib import closing

import pytest
from tests.boards.local import here
from tests.boards.logs import survey_spec
from tests.boards.nodes import fresh_address
from tests.server.live import SPEC, enrol, identity, open_store, vote

from devote.boards.board import (
    BoardRefused,
    DeletedExperiment,
    Envelope,
    Experiment,
    ExperimentClosed,
    ExperimentState,
    Outcome,
    UnknownExperiment,
    VoterRevoked,
)
from devote.boards.jetstream.migration import migrate
from devote.boards.jetstream.store import JetStreamStore
from devote.boards.sqlite import SqliteBoard
from devote.boards.store import InviteCounts
from devote.protocol import SpecError
from devote.protocol.messages import Withdrawal, entry

ALICE, BOB = identity(1), identity(2)
NOON = 1_800_000_000


def begun(store):
    """A store with an experiment and a vote, at noon."""
    store.clock = lambda: NOON
    assert store.create(here(SPEC)).outcome is Outcome.ACCEPTED
    enrol(store, ALICE)
    store.post("banner", vote(ALICE))
    return store


@pytest.fixture(params=["file", "nats"])
def store(tmp_path, request):
    if request.param == "file":
        with open_store(tmp_path / "server.db") as store:
            yield begun(store)
    else:
        with closing(JetStreamStore(fresh_address())) as store:
            yield begun(store)


@pytest.fixture
def file(tmp_path):
    with open_store(tmp_path / "server.db") as store:
        yield begun(store)


def test_limits_are_kept(store):
    other = here(SPEC.with_(name="other"))
    assert "at most 1" in store.create(other, most=1).reason
    assert "at most 1 messages" in store.post("banner", vote(ALICE, 1), most=1).reason
    signature = BOB.sign_enrolment(store.scope("banner"))
    full = store.enrol("banner", voter=BOB.voter, signature=signature, most=1)
    assert "all of its 1 devices" in full.reason
    forged = store.enrol("banner", voter=BOB.voter, signature="0" * 128)
    assert "signature is not this voter's" in forged.reason
    with pytest.raises(BoardRefused, match="count=0"):
        store.invite("banner", 0)


@pytest.mark.parametrize("state", ["closed", "archived"])
def test_what_is_not_open_takes_nothing_new_and_is_read_on(store, state):
    assert store.change("banner", state=state) == ExperimentState(state)
    for receipt in (store.post("banner", vote(ALICE, 1)), enrol(store, BOB)):
        assert (receipt.outcome, receipt.cause) == (Outcome.REFUSED, "closed")
        assert f"Experiment 'banner' is {state}." in receipt.reason
    assert store.rows("banner")[0] == store.tally("banner").number == 1
    assert store.voters("banner") == [ALICE.voter]


def test_what_was_taken_before_the_end_is_a_duplicate_and_reopened_it_goes_on(store):
    """A device that does not know what became of its message must learn that it is there."""
    store.change("banner", state="closed")
    assert store.post("banner", vote(ALICE)).outcome is Outcome.DUPLICATE
    assert enrol(store, ALICE).outcome is Outcome.DUPLICATE
    assert store.change("banner", state="open") == ExperimentState()
    assert store.post("banner", vote(ALICE, 1)).outcome is Outcome.ACCEPTED
    assert enrol(store, BOB).outcome is Outcome.ACCEPTED


def test_after_its_end_it_is_closed_by_the_clock_of_the_store(store):
    assert store.change("banner", ends=NOON + 1) == ExperimentState("open", NOON + 1)
    assert store.post("banner", vote(ALICE, 1)).outcome is Outcome.ACCEPTED
    store.clock = lambda: NOON + 1
    assert store.standing("banner") == ExperimentState("closed", NOON + 1)
    with pytest.raises(BoardRefused, match="has passed"):
        store.change("banner", ends=NOON)
    receipt = store.post("banner", vote(ALICE, 2))
    assert receipt.cause == "closed"
    assert "ended on 2027-01-15 08:00 UTC" in receipt.reason
    assert store.change("banner", ends=None) == ExperimentState("closed")
    store.change("banner", ends=NOON + 9)
    store.clock = lambda: NOON + 10
    assert store.change("banner", state="open") == ExperimentState()


def test_a_revoked_device_sends_nothing_more_and_what_it_sent_stays(store):
    enrol(store, BOB)
    done = store.revoke("banner", voters=[ALICE.voter, "f" * 64])
    assert (done.devices, done.invites, done.unknown) == (1, 0, 1)
    receipt = store.post("banner", vote(ALICE, 1))
    assert (receipt.outcome, receipt.cause) == (Outcome.REFUSED, "revoked")
    assert enrol(store, ALICE).cause == "revoked"
    assert store.post("banner", vote(ALICE)).outcome is Outcome.DUPLICATE
    assert store.post("banner", vote(BOB)).outcome is Outcome.ACCEPTED
    assert store.tally("banner").tally["shared"] == [1, 2, 3], "both votes count"
    assert ALICE.voter in store.voters("banner")
    again = store.revoke("banner", voters=[ALICE.voter])
    assert (again.devices, again.unknown) == (0, 0)


def test_boards_raise_why_they_take_nothing(file):
    board = SqliteBoard(file, "banner")
    enrol(file, BOB)
    file.revoke("banner", voters=[ALICE.voter])
    file.change("banner", state="closed")
    with pytest.raises(VoterRevoked, match="has revoked this device"):
        asyncio.run(board.publish(vote(ALICE, 1)))
    with pytest.raises(ExperimentClosed, match="is closed"):
        asyncio.run(board.publish(vote(BOB, 1)))


def test_invites_expire_are_revoked_and_are_counted(file):
    store = file
    store.create(here(SPEC.with_(name="closed"), "invite"))
    early = store.invite("closed", 2, expires=NOON + 5)
    late = store.invite("closed", 4)
    assert enrol(store, ALICE, "closed", early[0]).outcome is Outcome.ACCEPTED
    store.clock = lambda: NOON + 5
    receipt = enrol(store, BOB, "closed", early[1])
    assert "used already, expired, revoked or unknown" in receipt.reason
    assert store.counts("closed") == (InviteCounts(open=4, used=1, expired=1), 0)
    done = store.revoke("closed", invites=[early[0], late[0], "no such invite"])
    assert (done.invites, done.unknown) == (1, 2)
    assert enrol(store, BOB, "closed", late[0]).outcome is Outcome.REFUSED
    assert enrol(store, BOB, "closed", late[1]).outcome is Outcome.ACCEPTED
    assert store.revoke_all_invites("closed").invites == 3
    assert enrol(store, identity(3), "closed", late[2]).outcome is Outcome.REFUSED
    assert store.counts("closed") == (InviteCounts(open=0, used=2, expired=0), 0)
    with pytest.raises(BoardRefused, match="has passed"):
        store.invite("closed", 1, expires=NOON)


def test_what_is_deleted_is_gone_from_the_file(file, tmp_path):
    file.look("banner", lambda history: history.number)
    assert ALICE.voter.encode() in _bytes(tmp_path)
    file.delete("banner")
    assert ALICE.voter.encode() not in _bytes(tmp_path)


def test_what_is_deleted_is_not_there_and_its_name_stays_taken(store):
    other = Experiment(SPEC.with_(name="other"))
    store.create(other)
    enrol(store, BOB, "other")
    store.delete("banner")
    assert [item.name for item in store.experiments()] == ["other"]
    assert store.get("other").enrolled == 1
    for action in (store.get, store.spec, store.delete, store.standing):
        with pytest.raises(DeletedExperiment, match="was deleted by its operator"):
            action("banner")
    for spec in (SPEC, SPEC.with_(epsilon=0.5)):
        receipt = store.create(here(spec))
        assert receipt.outcome is Outcome.REFUSED
        assert "its name stays taken" in receipt.reason
    with pytest.raises(UnknownExperiment, match="There is no experiment 'never'"):
        store.delete("never")


def test_every_server_of_a_shared_log_does_as_the_operator_asked_one_of_them():
    address = fresh_address()
    with closing(JetStreamStore(address)) as one, closing(JetStreamStore(address)) as other:
        begun(one)
        enrol(other, BOB)
        other.clock = one.clock
        one.change("banner", state="closed")
        assert other.standing("banner") == ExperimentState("closed")
        assert other.post("banner", vote(BOB)).cause == "closed"
        other.change("banner", state="open")
        assert one.post("banner", vote(BOB)).outcome is Outcome.ACCEPTED
        assert one.revoke("banner", voters=[BOB.voter]).devices == 1
        assert other.counts("banner")[1] == 1
        assert other.post("banner", vote(BOB, 1)).cause == "revoked"
        other.change("banner", state="archived")
        assert one.standing("banner").state == "archived"
        assert one.archived() == {"banner"}
        one.delete("banner")
        with pytest.raises(DeletedExperiment):
            other.standing("banner")
        with pytest.raises(DeletedExperiment):
            other.rows("banner")
        assert other.create(here(SPEC)).outcome is Outcome.REFUSED
    with closing(JetStreamStore(address)) as later, pytest.raises(DeletedExperiment):
        later.get("banner")


def test_on_nats_an_invite_that_has_expired_is_gone_from_the_nodes():
    with closing(JetStreamStore(fresh_address())) as store:
        store.create(here(SPEC, "invite", 5))
        (soon,) = store.invite("banner", 1, expires=int(time.time()) + 2)
        first, second, third = store.invite("banner", 3)
        assert store.counts("banner") == (InviteCounts(4, 0, 0), 0)
        while store.counts("banner")[0].open > 3:
            time.sleep(0.05)
        assert "expired" in enrol(store, ALICE, invite=soon).reason
        assert enrol(store, ALICE, invite=first).outcome is Outcome.ACCEPTED
        done = store.revoke("banner", invites=[first, second, "no such invite"])
        assert (done.invites, done.unknown) == (1, 2)
        assert enrol(store, BOB, invite=second).outcome is Outcome.REFUSED
        assert store.revoke_all_invites("banner").invites == 1
        assert enrol(store, BOB, invite=third).outcome is Outcome.REFUSED
        assert store.counts("banner") == (InviteCounts(0, 1, 0), 0)


def test_what_the_operator_decided_moves_to_nats_with_its_experiment(file):
    file.create(here(SPEC.with_(name="closed"), "invite"))
    (invite,) = file.invite("closed", 1, expires=NOON + 5)
    file.change("closed", state="closed", ends=NOON + 9)
    file.revoke("banner", voters=[ALICE.voter])
    with closing(JetStreamStore(fresh_address())) as moved:
        moved.clock = file.clock
        for name in ("banner", "closed"):
            assert migrate(file, moved, name).new
            assert not migrate(file, moved, name).new
        assert moved.standing("closed") == ExperimentState("closed", NOON + 9)
        assert enrol(moved, BOB, "closed", invite).cause == "closed"
        moved.change("closed", state="open")
        assert enrol(moved, BOB, "closed", invite).outcome is Outcome.ACCEPTED
        assert moved.post("banner", vote(ALICE, 1)).cause == "revoked"


def _bytes(folder):
    return b"".join(path.read_bytes() for path in folder.glob("server.db*"))


SURVEY = survey_spec(epsilon=0.3)


def test_a_withdrawn_option_stands_in_the_log_and_is_refused_the_second_time(store):
    store.create(here(SURVEY.with_(name="survey")))
    receipt = store.withdraw("survey", 1)
    assert (receipt.outcome, receipt.number) == (Outcome.ACCEPTED, 1)
    assert store.tally("survey").tally["withdrawn"] == [1]
    number, rows = store.rows("survey")
    assert (number, json.loads(rows[0][1])["type"]) == (1, "withdrawal")
    assert "already" in store.withdraw("survey", 1).reason
    for arm in (0, 2):
        assert store.withdraw("survey", arm).outcome is Outcome.ACCEPTED
    assert "decided" in store.withdraw("survey", 3).reason, "one option is left"
    assert "nothing is proved" in store.withdraw("banner", 1).reason, "no survey"
    assert store.rows("survey")[0] == 3


def test_nobody_else_withdraws_an_option_and_a_closed_experiment_keeps_its_own(store):
    spec = SURVEY.with_(name="survey")
    store.create(here(spec))
    message = Withdrawal("survey", 1)
    for signature in (entry(message, store.scope("survey")), "00" * 64):
        assert store.post("survey", Envelope(message, signature)).outcome is Outcome.REFUSED
    enrol(store, ALICE, "survey")
    forged = ALICE.sign(Withdrawal("survey", 1, ALICE.voter), store.scope("survey"))
    assert "Only the operator" in store.post("survey", forged).reason
    store.change("survey", state="closed")
    assert store.withdraw("survey", 1).cause == "closed"
    assert store.rows("survey")[0] == 0


def test_what_is_decided_at_the_opening_stays_and_another_baseline_is_another_experiment(store):
    spec = SURVEY.with_(name="survey")
    opened = here(spec, baseline=spec.arm_names[1], log="operator")
    assert store.create(opened, ends=NOON + 9, delete_after=NOON + 99).outcome is Outcome.ACCEPTED
    found = store.get("survey")
    assert (found.baseline, found.log) == (spec.arm_names[1], "operator")
    assert store.standing("survey") == ExperimentState("open", NOON + 9, NOON + 99)
    assert store.create(opened).outcome is Outcome.DUPLICATE
    assert "other settings" in store.create(here(spec)).reason
    with pytest.raises(BoardRefused, match="has passed"):
        store.create(here(spec.with_(name="late")), delete_after=NOON)
    with pytest.raises(SpecError, match="is not an option"):
        here(spec, baseline="purple")
    with pytest.raises(SpecError, match="read the log"):
        here(SPEC, log="operator")


def test_an_experiment_is_overdue_once_its_moment_has_come(store):
    assert store.change("banner", delete_after=NOON + 5).delete_after == NOON + 5
    assert store.overdue() == []
    store.clock = lambda: NOON + 5
    assert store.overdue() == ["banner"]
    assert store.change("banner", delete_after=None).delete_after is None
    assert store.overdue() == []
