"""What was recorded in one place is refused in every other: by servers, devices and verifiers."""

import asyncio
import shutil
from dataclasses import dataclass

import httpx
import pytest
from tests.boards.local import here, scope
from tests.boards.memory import MemoryBoard
from tests.boards.test_identity import SMALL
from tests.device.fault_run import drive
from tests.device.worlds import ME, joined
from tests.server.live import TOKEN, body, identity, open_store, serving_in_thread

from devote.boards.board import Envelope, Experiment, Outcome, Posted
from devote.boards.http import HttpBoard
from devote.boards.identity import Identity
from devote.boards.logs import HttpLog
from devote.boards.operator import Operator
from devote.boards.store import SqliteStore, add_voters
from devote.boards.verification import verify_log
from devote.device.core import Core
from devote.device.store import Store
from devote.device.sync import ANOTHER, CHANGED, sync_once
from devote.protocol import ExperimentSpec, Message, to_json
from devote.protocol.messages import Scope
from devote.schemes import Answer, Claim, Jury, Pick, Survey, Vote
from devote.server import Settings, create_app

VOTERS = [identity(n) for n in range(1, 15)]
VOTES = ExperimentSpec(arms=3, name="banner", scheme={"quorum": 14})
JURY = ExperimentSpec(arms=3, name="banner", scheme=Jury(seats=14))
SURVEY = ExperimentSpec(arms=3, name="banner", scheme=Survey())


@dataclass
class Recorded:
    """Everything that a whole experiment has sent: its enrolments and its messages."""

    spec: ExperimentSpec
    enrolments: list[dict[str, str]]
    posted: list[Envelope]


def _said(spec: ExperimentSpec, voter: str) -> list[Message]:
    match spec.scheme.name:
        case "jury":
            return [Claim("banner", voter), Pick("banner", 1, voter)]
        case "survey":
            return [Answer("banner", 1, 0, 1, 0, voter)]
    return [Vote("banner", 0, arm, voter) for arm in (0, 1)]


def _record(spec: ExperimentSpec, where: Scope) -> Recorded:
    enrolments = [{"voter": v.voter, "signature": v.sign_enrolment(where)} for v in VOTERS]
    rounds = zip(*([(v, m) for m in _said(spec, v.voter)] for v in VOTERS), strict=True)
    return Recorded(spec, enrolments, [v.sign(m, where) for each in rounds for v, m in each])


@pytest.fixture
def server(tmp_path):
    with open_store(tmp_path / "server.db") as store:
        app = create_app(store, Settings(token=TOKEN, voter_rate=1e6))
        with serving_in_thread(app) as address:
            yield address, store


def _open(address: str, spec: ExperimentSpec) -> str:
    with Operator(address, TOKEN) as operator:
        return operator.open(Experiment(spec))


OTHERS = {
    "the same specification on another server": {},
    "other arms": {"arms": ["buy", "sell", "wait"]},
    "another epsilon": {"epsilon": 0.2},
}


@pytest.mark.parametrize("change", OTHERS)
@pytest.mark.parametrize("spec", [VOTES, JURY, SURVEY], ids=lambda spec: spec.scheme.name)
def test_a_whole_experiment_moved_to_another_server_is_refused_by_it(server, spec, change):
    address, store = server
    recorded = _record(spec, scope(spec))
    url = _open(address, spec.with_(**OTHERS[change]))
    for voter in VOTERS[:7]:  # the other half would not even be enrolled
        signature = voter.sign_enrolment(store.scope("banner"))
        store.enrol("banner", voter=voter.voter, signature=signature)
    before = store.voters("banner")
    # a key that is enrolled there is refused as a new one is: its signature is no good there
    for request in recorded.enrolments:
        assert store.enrol("banner", **request).outcome is Outcome.REFUSED
    for envelope in recorded.posted:
        receipt = store.post("banner", envelope)
        assert receipt.outcome is Outcome.REFUSED
        assert "board and specification" in receipt.reason
    with httpx.Client() as client:
        for path, sent in (
            ("enrolments", recorded.enrolments[0]),
            ("enrolments", recorded.enrolments[-1]),
            ("messages", body(recorded.posted[0])),
            ("messages", body(recorded.posted[-1])),
        ):
            answer = client.post(f"{url}/{path}", json=sent)
            assert (answer.status_code, answer.json()["outcome"]) == (403, "refused")
    assert store.voters("banner") == before
    assert store.rows("banner") == (0, [])


def _plant(store: SqliteStore, recorded: Recorded) -> None:
    """What a dishonest server does: it takes what it should refuse."""
    with store.database.write() as db:
        add_voters(db, "banner", [voter.voter for voter in VOTERS])
        db.executemany(
            "INSERT INTO messages VALUES ('banner', ?, ?, ?, ?)",
            [
                (number, e.message.voter, to_json(e.message), e.signature)
                for number, e in enumerate(recorded.posted, start=1)
            ],
        )


@pytest.mark.parametrize("spec", [VOTES, JURY], ids=lambda spec: spec.scheme.name)
def test_a_server_that_takes_what_was_moved_is_believed_by_no_device_and_no_verifier(
    server, tmp_path, spec
):
    address, store = server
    url = _open(address, spec.with_(arms=["buy", "sell", "wait"]))
    _plant(store, _record(spec, scope(spec)))

    async def main() -> None:
        async with HttpBoard(url) as board:
            experiment = await board.fetch_experiment()
            device = Store.open(tmp_path / "device.db")
            joined(device, experiment, Identity.generate())
            core = Core(device)
            assert await sync_once(core, board)
            status = core.status()
            assert (status.complete, status.state) == (True, "open")
            assert status.shared == (0, 1, 2)
            assert any("not valid" in trouble for trouble in status.degraded)
            core.close()

    snapshot = store.tally("banner").tally
    assert snapshot["status"] == "agreed", "the server itself was fooled, or this shows nothing"
    asyncio.run(main())
    with HttpLog(url) as log:
        report = verify_log(log)
    assert report.wrong["signatures"] == 28
    assert report.status == "open"


@pytest.mark.parametrize("spec", [VOTES, SURVEY], ids=lambda spec: spec.scheme.name)
def test_a_device_neither_sends_to_nor_reads_from_another_board_of_the_same_name(spec):
    store = Store.open(":memory:")
    joined(store, here(spec), ME)
    core = Core(store)
    assert drive(sync_once(core, MemoryBoard(spec)))
    for other, trouble in (
        (MemoryBoard(spec, board="1" * 32), ANOTHER),
        (MemoryBoard(spec.with_(epsilon=0.2)), CHANGED),
    ):
        recorded = _record(spec, other.scope).posted
        assert all(other.post(envelope).number for envelope in recorded)
        assert not drive(sync_once(core, other))
        assert core.status().degraded == (trouble,)
        assert core.record.bookmark.number == 0
    assert drive(sync_once(core, MemoryBoard(spec)))
    assert core.status().degraded == ()
    core.close()


def test_a_device_takes_no_message_that_was_signed_for_another_board():
    store = Store.open(":memory:")
    joined(store, here(VOTES), ME)
    core = Core(store)
    moved = _record(VOTES, Scope("1" * 32, VOTES.fingerprint)).posted
    core.receive([Posted(n, e) for n, e in enumerate(moved, start=1)], end=len(moved))
    assert core.status().state == "open"
    good = _record(VOTES, scope(VOTES)).posted
    first = len(moved) + 1
    core.receive([Posted(n, e) for n, e in enumerate(good, first)], end=len(moved) + len(good))
    assert core.status().state == "agreed"
    core.close()


def test_a_backup_is_the_same_board_and_an_experiment_opened_anew_is_another(tmp_path):
    with open_store(tmp_path / "board.db") as store:
        store.create(Experiment(VOTES))
        board = store.get("banner").board
    shutil.copy(tmp_path / "board.db", tmp_path / "backup.db")
    with open_store(tmp_path / "backup.db") as store:
        assert store.get("banner").board == board
    with open_store(tmp_path / "new.db") as store:
        store.create(Experiment(VOTES))
        assert store.get("banner").board != board


def test_keys_of_small_order_are_neither_enrolled_nor_heard(server):
    address, store = server
    url = _open(address, VOTES)
    signature = SMALL[0] + "00" * 32
    with httpx.Client() as client:
        for key in SMALL:
            request = {"voter": key, "signature": signature}
            assert client.post(f"{url}/enrolments", json=request).status_code == 403
            with store.database.write() as db:  # and if one had got in before
                add_voters(db, "banner", [key])
            posted = body(Envelope(Vote("banner", 0, 0, key), signature))
            assert client.post(f"{url}/messages", json=posted).status_code == 403
    assert store.rows("banner") == (0, [])
