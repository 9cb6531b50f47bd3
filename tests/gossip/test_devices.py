"""Whole devices among peers, in one process."""

import asyncio
import json
import random
import time
from base64 import b64decode, b64encode

import pytest
from tests.gossip.fleets import (
    SPEC,
    Wire,
    certified,
    member,
    on_loopback,
    prepare,
    revocation,
    vote,
)

from devote.boards.board import Outcome, VoterRevoked
from devote.boards.database import StoreMismatch
from devote.device import AsyncDevice, Device
from devote.device.device import prepare_store
from devote.device.errors import JoinRefused
from devote.device.steps import Clock
from devote.device.store import Store
from devote.gossip import GossipBoard, Ticket
from devote.gossip.board import LONGEST
from devote.gossip.discovery import discover
from devote.gossip.peers import sign_address
from devote.gossip.settings import GossipError
from devote.schemes import Vote

YEAR_2100 = 4_102_444_800.0


def test_eight_devices_that_know_one_of_them_come_to_one_answer(tmp_path):
    """Each time they look at their clocks these say another year: nothing depends on it."""
    devices, years = [], random.Random(1)
    wrong = Clock(wall=lambda: years.uniform(0.0, YEAR_2100))
    try:
        for n in range(8):
            ticket = prepare(tmp_path / f"{n}.db", n + 1)
            first = devices[0].board.address if devices else ""
            devices.append(
                Device.join(
                    f"gossip://{first}/banner",
                    store=tmp_path / f"{n}.db",
                    invite=ticket,
                    gossip=on_loopback(),
                    clock=wrong,
                )
            )
        dice = random.Random(0)
        deadline = time.monotonic() + 60
        while any(d.best() is None for d in devices) and time.monotonic() < deadline:
            device = dice.choice(devices)
            choice = device.choose()
            device.reward(float(choice == 1), choice)
            time.sleep(0.002)
        boards = [d.board for d in devices]
        assert [d.best() for d in devices] == [1] * 8
        while len({b.votes.root for b in boards}) > 1 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert len({b.votes.root for b in boards}) == 1
    finally:
        for device in devices:
            device.close()


def test_two_devices_on_a_lan_find_each_other(tmp_path):
    """By real multicast on this machine: each learns the address that the other has signed."""
    wire = Wire(tmp_path)
    a, b = wire.add(1), wire.add(2)

    async def look() -> None:
        looking = [asyncio.create_task(discover(answers)) for answers in (a, b)]
        async with asyncio.timeout(30):
            while not (a.peers.known and b.peers.known):
                assert not any(task.done() for task in looking)
                await asyncio.sleep(0.05)
        for task in looking:
            task.cancel()
        await asyncio.wait(looking)

    asyncio.run(look())
    assert (set(a.peers.known), set(b.peers.known)) == ({"127.0.0.1:7002"}, {"127.0.0.1:7001"})
    wire.close()


async def join(tmp_path, ticket, *, url="gossip:///banner", store="a.db", **changes):
    return await AsyncDevice.join(
        url, store=tmp_path / store, invite=ticket, gossip=on_loopback(**changes)
    )


def test_a_wrong_ticket_leaves_nothing_behind_and_the_right_one_is_taken_after_it(tmp_path):
    right = prepare(tmp_path / "a.db", 1)
    other = SPEC.with_(epsilon=0.5)
    voter = prepare_store(tmp_path / "a.db", SPEC)
    wrong = {
        "another's": (prepare(tmp_path / "b.db", 2), JoinRefused),
        "another specification": (
            Ticket(other, certified(voter, 1, other)).to_json(),
            StoreMismatch,
        ),
    }

    async def main():
        for ticket, error in wrong.values():
            with pytest.raises(error, match="\n"):
                await join(tmp_path, ticket)
            assert not list(tmp_path.glob("a.db.*"))
        await (await join(tmp_path, right)).close()
        assert list(tmp_path.glob("a.db.votes"))

    asyncio.run(main())


def test_a_device_that_lost_what_is_beside_its_store_comes_back_with_its_ticket(tmp_path):
    ticket = prepare(tmp_path / "a.db", 1)

    async def main():
        await (await join(tmp_path, ticket)).close()
        for file in [*tmp_path.glob("a.db.votes*"), *tmp_path.glob("a.db.peers*")]:
            file.unlink()
        with pytest.raises(GossipError, match="has not joined"):
            await join(tmp_path, None)
        device = await join(tmp_path, ticket)
        assert device.board.votes.certificates
        assert device.board.answers.record is not None
        await device.close()
        with pytest.raises(JoinRefused, match="certificate is one of"):
            await join(tmp_path, prepare(tmp_path / "b.db", 2))

    asyncio.run(main())


def test_what_was_sent_is_still_counted_after_the_votes_were_put_back_to_an_older_state(tmp_path):
    ticket = prepare(tmp_path / "a.db", 1)

    async def synced(device):
        device.board.answers.met += 1  # as if a peer had answered
        assert await device.sync()
        return device.status().sent

    async def main():
        device = await join(tmp_path, ticket)
        while not device.status().sent:
            choice = await device.choose()
            await device.reward(float(choice == 1), choice)
            sent = await synced(device)
        await device.close()
        for file in tmp_path.glob("a.db.votes*"):
            file.unlink()
        device = await join(tmp_path, ticket)
        assert device.board.votes.messages() == []
        assert await synced(device) == sent
        assert device.board.votes.messages() == list(sent), "it was posted again"
        await device.close()

    asyncio.run(main())


def test_a_device_that_was_revoked_is_refused_and_goes_on_with_a_new_number(tmp_path):
    ticket = prepare(tmp_path / "a.db", 1)
    voter = prepare_store(tmp_path / "a.db", SPEC)

    async def main():
        device = await join(tmp_path, ticket)
        votes = device.board.votes
        votes.take([revocation(1)])
        envelope = device.core.record.identity.sign(Vote("banner", 0, 0, voter), votes.scope)
        with pytest.raises(VoterRevoked, match="The operator has revoked this device"):
            await device.board.publish(envelope)
        await device.close()
        device = await join(tmp_path, Ticket(SPEC, certified(voter, 2)).to_json())
        assert await device.board.publish(envelope) is Outcome.ACCEPTED
        assert device.board.answers.record["number"] == 2
        await device.close()

    asyncio.run(main())


def test_an_address_that_an_operator_gives_later_is_given_also_if_a_member_announced_it(tmp_path):
    ticket = prepare(tmp_path / "a.db", 1)

    async def main():
        device = await join(tmp_path, ticket)
        votes = device.board.votes
        announced = sign_address(
            member(2), certified(member(2).voter, 2), votes, address="127.0.0.1:9", sequence=1
        )
        assert device.board.peers.learn(announced)
        await device.close()
        device = await join(tmp_path, None, url="gossip://127.0.0.1:9/banner")
        assert device.board.peers.known["127.0.0.1:9"].given
        await device.close()

    asyncio.run(main())


def test_a_slow_peer_holds_a_meeting_up_for_a_while_only(tmp_path):
    ticket, made = prepare(tmp_path / "a.db", 1), []

    class Slow:
        def __init__(self, settings):
            self.asked = 0
            made.append(self)

        async def __call__(self, address, path, body):
            self.asked += 1
            await asyncio.sleep(0.04)
            reply = {"same": False, "buckets": b64encode(bytes(256)).decode(), "peers": []}
            if path == "/gossip/trade":
                held = [b64decode(ids) for ids in json.loads(body)["held"].values()]
                one = random.choice([ids for ids in held if ids])[:16]
                reply = {"items": [], "want": b64encode(one).decode()}
            return json.dumps({"new": 1} if path == "/gossip/push" else reply).encode()

        async def aclose(self):
            return

    async def main():
        settings = on_loopback(listen="", patience=0.05)
        board = GossipBoard(
            "gossip:///banner", tmp_path / "a.db", ticket=ticket, settings=settings, dials=Slow
        )
        await board.begin(member_of(tmp_path / "a.db"))
        board.votes.take([vote(n, arm) for n in range(2, 40) for arm in range(3)])
        board.peers.give("127.0.0.1:9")
        await board.meet_one(board.peers.known["127.0.0.1:9"])
        assert made[0].asked <= 3 * LONGEST
        assert board.peers.known["127.0.0.1:9"].fails
        await board.aclose()

    asyncio.run(main())


def member_of(path):
    store = Store.open(path)
    identity = store.identity("banner")
    store.close()
    return identity
