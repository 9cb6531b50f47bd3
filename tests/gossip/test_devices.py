import random
import time

from tests.gossip.fleets import on_loopback, prepare

from devote.fleet import Device


def test_eight_devices_that_know_one_of_them_come_to_one_answer(tmp_path):
    devices = []
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
