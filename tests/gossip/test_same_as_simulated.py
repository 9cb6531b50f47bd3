"""One seed and one problem: without a server, once delivery is complete, as in the simulator.

The wake order is fixed, and every vote reaches all devices before the next one wakes.
"""

import asyncio

from tests.device.test_same_as_simulated import VOTING, N, play, simulated
from tests.device.worlds import joined
from tests.gossip.fleets import ISSUER, certified, member, on_loopback

from devote.boards.board import Experiment, Outcome
from devote.device.core import Core
from devote.device.store import Store
from devote.device.sync import sync_once
from devote.gossip import GossipBoard
from devote.gossip.credentials import Ticket
from devote.protocol import Message

SPEC = VOTING.with_(issuer=ISSUER.voter)


class Peer:
    """A device whose votes are handed to all others at once."""

    def __init__(self, folder, n: int, others: "list[Peer]", loop) -> None:
        identity = member(n + 1)
        self.voter, self._others, self._loop = identity.voter, others, loop
        ticket = Ticket(SPEC, certified(identity.voter, n + 1, SPEC)).to_json()
        self.board = GossipBoard(
            "gossip:///banner", folder / f"{n}.db", ticket=ticket, settings=on_loopback(listen="")
        )
        store = Store.open(":memory:")
        joined(store, Experiment(SPEC, board=self.board.scope.board), identity)
        self.core = Core(store)
        self._root = ""
        assert loop.run_until_complete(self.board.enrol(identity)) is Outcome.ACCEPTED

    def choose(self, u: float) -> int:
        self.sync()
        return self.core.choose(u)

    def reward(self, x: float) -> tuple[int, ...]:
        self.core.reward(x)
        if self.core.waiting:
            before = set(self.board.votes.items)
            self.sync()
            new = [item for key, item in self.board.votes.items.items() if key not in before]
            for other in self._others:
                other.board.votes.take(new)
        return self.core.status().remaining

    def sync(self) -> None:
        root, self._root = self._root, self.board.votes.root
        if root == self._root and not self.core.waiting:
            return  # nothing new to read
        assert self._loop.run_until_complete(sync_once(self.core, self.board, verify_history=False))


def test_32_devices_without_a_server_do_what_the_simulator_does(tmp_path):
    loop = asyncio.new_event_loop()
    devices: list[Peer] = []
    for n in range(N):
        devices.append(Peer(tmp_path, n, devices, loop))

    def read(seen: int) -> list[Message]:
        snapshot = loop.run_until_complete(devices[0].board.snapshot(seen))
        return [posted.envelope.message for posted in snapshot.posted]

    assert play(SPEC, devices, read) == simulated(VOTING)
    assert len({device.board.votes.root for device in devices}) == 1
    for device in devices:
        device.sync()
        assert device.core.best() == 0
        loop.run_until_complete(device.board.aclose())
        device.core.close()
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
