"""Whole devices among peers, in one process."""

import asyncio
import random
import time

from tests.gossip.fleets import Wire, on_loopback, prepare

from devote.fleet import Device
from devote.fleet.clock import Clock
from devote.gossip.discovery import discover

YEAR_2100 = 4_102_444_800.0


def test_eight_devices_that_know_one_of_them_come_to_one_answer(tmp_path):
    """Each time they look at their clocks these say another year: nothing depends on it."""
    devices, years = [], random.Random(1)
    wrong = Clock(wall=lambda: years.uniform(0.0, YEAR_2100))
    try:
        for n in range(8):
            ticket = prepare(tmp_path / f"{n}.db", n + 1)
            first = devices[0]._device._board.address if devices else ""
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
        boards = [d._device._board for d in devices]
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
