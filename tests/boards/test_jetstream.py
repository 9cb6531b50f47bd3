"""What the store on NATS does that a file does not: servers that share it, and nodes that fail."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress

import nats
import pytest
from nats.js.api import StreamConfig
from nats.js.errors import NotFoundError
from tests.boards.local import here
from tests.boards.nodes import Node, fresh_address, shared_node
from tests.contracts.test_board_contract import (
    ENROLLED,
    SMALL_JURY,
    claim,
    pick,
)
from tests.server.live import SPEC, enrol, identity, vote

from devote.boards.board import Experiment, Outcome, UnknownExperiment
from devote.boards.database import StoreError, StoreMismatch
from devote.boards.identity import hash_of
from devote.boards.jetstream.connection import NatsAddress
from devote.boards.jetstream.store import JetStreamStore


@contextmanager
def opened(address: str | None = None):
    with closing(JetStreamStore(address or fresh_address())) as store:
        yield store


@contextmanager
def servers(*experiments, count: int = 2):
    """Stores of several servers at one address, with these experiments."""
    address = fresh_address()
    with ExitStack() as stack:
        stores = [stack.enter_context(opened(address)) for _ in range(count)]
        for experiment in experiments:
            assert stores[0].create(experiment).outcome is Outcome.ACCEPTED
        yield stores


def at_once(work, count):
    """What ``work`` gives for each number below ``count``, all in threads of their own."""
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(count)))


def subjects(store: JetStreamStore, stream: str) -> dict[str, int]:
    """How many messages each subject of a stream has."""

    async def ask():
        info = await store.connection.js.stream_info(stream, subjects_filter=">")
        return info.state.subjects or {}

    return store.connection.run(ask())


def test_what_one_server_takes_another_knows_at_once():
    with servers(here(SPEC)) as (one, other):
        assert enrol(one, identity(1)).outcome is Outcome.ACCEPTED
        assert other.post("banner", vote(identity(1))).outcome is Outcome.ACCEPTED
        assert one.post("banner", vote(identity(1))).outcome is Outcome.DUPLICATE
        assert one.post("banner", vote(identity(1), 1)).number == 2
        assert other.rows("banner", 2) == one.rows("banner", 2) == (2, [])
        assert other.rows("banner") == one.rows("banner")
        assert other.tally("banner") == one.tally("banner")
        assert other.experiments() == one.experiments() == [here(SPEC, enrolled=1)]


def test_the_first_claims_in_the_boards_order_are_the_jury_whoever_asks_whom():
    with servers(here(SMALL_JURY), count=3) as stores:
        for voter in ENROLLED:
            enrol(stores[0], voter)
        outcomes = at_once(
            lambda n: stores[n % 3].post("banner", claim(ENROLLED[n])).outcome, len(ENROLLED)
        )
        jurors = {v.voter for v, o in zip(ENROLLED, outcomes, strict=True) if o == "accepted"}
        assert len(jurors) == 2
        for store in stores:
            store.connection.run(store.log.catch_up())
            seated = store.look("banner", lambda history: set(history.tally.picks))
            assert seated == jurors
            assert store.rows("banner")[0] == 2


def unread(store: JetStreamStore, name: str, *envelopes) -> list[Outcome]:
    """What becomes of messages from a server that has read nothing, and so refuses none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("devote.boards.jetstream.store.admit", lambda *_: None)
        return [store.post(name, envelope).outcome for envelope in envelopes]


def test_what_comes_too_late_in_the_log_is_refused_alike_and_for_good():
    """A claim that was posted while there were seats, and came after them in the log's order."""
    with servers(here(SMALL_JURY)) as (one, other):
        for voter in ENROLLED[:4]:
            enrol(one, voter)
        late = claim(ENROLLED[2])
        outcomes = unread(one, "banner", *map(claim, ENROLLED[:2]), late, claim(ENROLLED[0]))
        assert outcomes == ["accepted", "accepted", "refused", "duplicate"]
        for store in (one, other):
            receipt = store.post("banner", late)
            assert receipt.outcome is Outcome.REFUSED
            assert "seats of the jury are taken" in receipt.reason
            assert store.rows("banner")[0] == 2
        assert other.post("banner", pick(ENROLLED[2])).outcome is Outcome.REFUSED
        assert other.post("banner", pick(ENROLLED[1])).number == 3
        assert unread(one, "banner", pick(ENROLLED[1], 2)) == ["refused"]
        assert other.content("banner") == one.content("banner")


def test_what_came_after_the_end_or_a_revocation_in_the_log_is_refused_by_every_server():
    with servers(here(SPEC)) as (one, other):
        for n in (1, 2):
            enrol(one, identity(n))
        other.revoke("banner", voters=[identity(1).voter])
        assert unread(one, "banner", vote(identity(1)), vote(identity(2))) == [
            "refused",
            "accepted",
        ]
        other.change("banner", state="closed")
        assert unread(one, "banner", vote(identity(2), 1)) == ["refused"]
        assert other.rows("banner", 1) == one.rows("banner", 1) == (1, [])


def test_of_many_who_enrol_at_once_as_many_do_as_there_are_places():
    with servers(here(SPEC, players=3)) as stores:
        outcomes = at_once(lambda n: enrol(stores[n % 2], ENROLLED[n]).outcome, 8)
        assert outcomes.count(Outcome.ACCEPTED) == 3
        assert outcomes.count(Outcome.REFUSED) == 5
        assert stores[0].voters("banner") == stores[1].voters("banner")
        assert len(stores[0].voters("banner")) == 3


def test_an_invite_is_good_for_one_device_on_whichever_server():
    with servers(here(SPEC, "invite")) as (one, other):
        invites = one.invite("banner", 3)
        assert "needs an invite" in enrol(other, identity(1)).reason
        assert enrol(other, identity(1), invite=invites[0]).outcome is Outcome.ACCEPTED
        assert enrol(one, identity(1), invite=invites[0]).outcome is Outcome.DUPLICATE
        assert enrol(one, identity(1)).outcome is Outcome.DUPLICATE
        assert "used already" in enrol(one, identity(2), invite=invites[0]).reason
        assert "used already" in enrol(one, identity(2), invite="invented").reason
        assert enrol(one, identity(2), invite=invites[1]).outcome is Outcome.ACCEPTED
        left = subjects(one, one.invites.stream)
        kept = [subject.rpartition(".")[2] for subject in left if "barrier" not in subject]
        assert kept == [hash_of(invites[2])]


def test_of_many_who_use_one_invite_at_once_one_is_enrolled():
    with servers(here(SPEC, "invite")) as stores:
        for invite in stores[0].invite("banner", 3):
            known = stores[0].get("banner").enrolled

            def ask(n, invite=invite, known=known):
                return enrol(stores[n % 2], identity(10 * known + n + 1), invite=invite).outcome

            outcomes = at_once(ask, 6)
            assert outcomes.count(Outcome.ACCEPTED) == 1
            assert stores[0].get("banner").enrolled == known + 1


def test_a_server_that_dies_while_it_enrols_leaves_the_invite_to_its_device_alone():
    with servers(here(SPEC, "invite")) as (one, other):
        (invite,) = one.invite("banner", 1)
        board = one.get("banner").board

        async def die_half_way():
            assert await one.invites.take(board, hash_of(invite), identity(1).voter)

        one.connection.run(die_half_way())
        assert enrol(other, identity(2), invite=invite).outcome is Outcome.REFUSED
        assert enrol(other, identity(1), invite=invite).outcome is Outcome.ACCEPTED
        assert enrol(one, identity(2), invite=invite).outcome is Outcome.REFUSED


def test_an_invite_is_given_back_if_its_device_came_too_late():
    with servers(here(SPEC, "invite", 2)) as (one, _):
        invites = one.invite("banner", 3)
        for n in (0, 1):
            assert enrol(one, identity(n + 1), invite=invites[n]).outcome is Outcome.ACCEPTED
        assert "all of its 2 devices" in enrol(one, identity(3), invite=invites[2]).reason
        assert hash_of(invites[2]) in str(subjects(one, one.invites.stream))


def test_nothing_that_is_kept_links_an_invite_to_a_voter():
    with servers(here(SPEC, "invite")) as (one, _):
        for n, invite in enumerate(one.invite("banner", 5)):
            enrol(one, identity(n + 1), invite=invite)
        kept = str(subjects(one, one.invites.stream))
        assert len(one.voters("banner")) == 5
        assert not any(voter in kept for voter in one.voters("banner"))


def test_an_experiment_is_created_once_by_whichever_server():
    address = fresh_address()
    with opened(address) as one, opened(address) as other:
        first, second = (SPEC.with_(eta=eta) for eta in (0.5, 0.6))
        pairs = ((one, first), (other, second))
        outcomes = at_once(lambda n: pairs[n][0].create(here(pairs[n][1])).outcome, 2)
        assert sorted(outcomes) == [Outcome.ACCEPTED, Outcome.REFUSED]
        assert one.spec("banner") == other.spec("banner")
        assert one.create(here(one.spec("banner"))).outcome is Outcome.DUPLICATE
        assert other.create(here(SPEC.with_(name=".."))).outcome is Outcome.REFUSED
        names = ["A-b", "a-b", "a.b", "a:b"]
        for name in names:
            assert one.create(Experiment(SPEC.with_(name=name))).outcome is Outcome.ACCEPTED
        assert other.get(names[-1]).name == names[-1]  # asked for, if not yet heard of
        assert [each.name for each in other.experiments()] == [*names, "banner"]
        assert "at most 5" in one.create(Experiment(SPEC.with_(name="c")), most=5).reason
        with pytest.raises(UnknownExperiment, match="no experiment 'c'"):
            one.get("c")


def test_a_server_that_begins_later_reads_all_that_is_there():
    address = fresh_address()
    with opened(address) as one:
        one.create(here(SPEC))
        for n in range(1, 60):
            enrol(one, identity(n))
            one.post("banner", vote(identity(n), n % 4))
        with opened(address) as late:
            assert late.rows("banner") == one.rows("banner")
            assert late.tally("banner") == one.tally("banner")
            assert late.voters("banner") == one.voters("banner")
            assert late.rows("banner", 59) == (59, [])
            assert late.rows_of("banner", identity(3).voter)[1] == late.rows("banner", 2)[1][:1]


def test_a_log_that_was_put_back_to_an_older_state_is_read_anew():
    with servers(here(SPEC), count=1) as (one,):
        for n in (1, 2, 3):
            enrol(one, identity(n))
        for n in (1, 2, 3):
            one.post("banner", vote(identity(n)))

        async def put_back():  # what a restored backup looks like to a server that ran on
            js, kept = one.connection.js, []
            for place in range(1, 1 + (await js.stream_info(one.log.stream)).state.last_seq):
                with suppress(NotFoundError):
                    kept.append(await js.get_msg(one.log.stream, place))
            await js.delete_stream(one.log.stream)
            await one.log.make()
            for entry in kept:
                if "post" not in str(entry.data) or vote(identity(2)).signature in str(entry.data):
                    await js.publish(entry.subject, entry.data)

        one.connection.run(put_back())
        until = time.monotonic() + 60
        while one.rows("banner")[0] != 1 and time.monotonic() < until:
            time.sleep(0.1)
        assert [row[2] for row in one.rows("banner")[1]] == [vote(identity(2)).signature]
        assert one.post("banner", vote(identity(1))).number == 2


def test_to_a_server_whose_node_is_gone_the_store_does_not_answer_until_it_is_back(tmp_path):
    node = Node(tmp_path / "node")
    node.start()
    try:
        with opened(node.address) as store:
            store.create(here(SPEC))
            enrol(store, identity(1))
            assert store.post("banner", vote(identity(1))).outcome is Outcome.ACCEPTED
            node.kill()
            assert store.rows("banner")[0] == 1, "what was read can still be read"
            node.start()
            outcome = None
            while outcome is None:
                with suppress(StoreError):
                    outcome = store.post("banner", vote(identity(1), 1)).outcome
            assert store.rows("banner")[0] == 2
    finally:
        node.stop()


def test_a_node_without_jetstream_is_refused_with_the_remedy(tmp_path):
    node = Node(tmp_path / "node", jetstream=False)
    node.start()
    try:
        with pytest.raises(
            StoreMismatch, match=r"runs without JetStream.*\nStart its nodes with -js"
        ):
            JetStreamStore(node.address)
    finally:
        node.stop()


def test_a_node_of_too_old_a_version_is_refused_with_the_remedy(monkeypatch):
    monkeypatch.setattr("devote.boards.jetstream.connection.LEAST", (99, 1))
    with pytest.raises(StoreMismatch, match=r"runs nats-server 2.*, and a store needs 99.1"):
        JetStreamStore(fresh_address())


@pytest.mark.parametrize("stream", ["mine_log", "mine_invites"])
def test_a_stream_of_anothers_making_is_refused_and_left_alone(stream):
    name = fresh_address().rpartition("/")[2]
    stream = stream.replace("mine", name)

    async def make():
        client = await nats.connect(shared_node().address)
        js = client.jetstream()
        await js.add_stream(StreamConfig(name=stream, subjects=[f"theirs.{name}"]))
        await js.publish(f"theirs.{name}", b"theirs")
        return client

    async def left():
        client = await make()
        try:
            with pytest.raises(
                StoreError, match=r"that devote did not make.\nGive the store another"
            ):
                await asyncio.to_thread(JetStreamStore, f"{shared_node().address}/{name}")
            assert (await client.jetstream().stream_info(stream)).state.messages == 1
        finally:
            await client.close()

    asyncio.run(left())


@pytest.mark.parametrize(
    "text",
    ["nats://", "nats://host:0", "nats://host:99999", "nats://a,,b", "nats://a b", "http://a"],
)
def test_what_is_no_address_is_refused(text):
    with pytest.raises(StoreError, match=r"is not the address of a store on NATS.\nGive one like"):
        NatsAddress.parse(text)


def test_a_password_is_never_shown():
    assert "secret" not in str(NatsAddress.parse("nats://me:secret@127.0.0.1:1"))
    for where, says in (
        ("127.0.0.1:1", "No NATS node answers at nats://127"),
        ("host:0", "is not the address"),
    ):
        with pytest.raises(StoreError, match=says) as caught:
            JetStreamStore(f"nats://me:secret@{where}")
        assert "secret" not in str(caught.value)


def test_a_closed_store_is_an_error():
    with opened() as store:
        store.create(here(SPEC))
    for call in (lambda: store.get("banner"), lambda: store.create(here(SPEC))):
        with pytest.raises(StoreError, match="is closed"):
            call()
