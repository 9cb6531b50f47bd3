"""A device on a board that takes nothing reads, plays on, keeps its messages and stays quiet."""

import pytest
from tests.device.fault_run import drive
from tests.device.worlds import SPEC, HandClock, PretendServer, play_until_vote, set_up, vote
from tests.server.live import TOKEN, open_store, serving_in_thread

from devote.boards.board import Experiment, ExperimentClosed, VoterRevoked
from devote.boards.operator import Operator
from devote.device import Device, JoinRefused
from devote.device.core import Core
from devote.device.sync import sync_once
from devote.server import Settings, create_app


class Closing(PretendServer):
    """A board that can be closed, and counts what is posted to it meanwhile."""

    def __init__(self):
        super().__init__(enrolled=None)
        self.rejected = None
        self.tries = 0

    async def publish(self, envelope):
        if self.rejected is not None:
            self.tries += 1
            raise self.rejected
        return await super().publish(envelope)


@pytest.mark.parametrize("rejected", [ExperimentClosed("It is closed."), VoterRevoked("Revoked.")])
def test_it_reads_on_keeps_its_messages_and_asks_ever_more_rarely(rejected):
    world, board = HandClock(), Closing()
    core = Core(set_up(), clock=world.clock)
    drive(board.publish(vote(1, 1)))
    drive(board.publish(vote(2, 1)))
    board.rejected = rejected
    play_until_vote(core)
    waiting = core.waiting
    assert drive(sync_once(core, board)), "the round worked: the board was read"
    status = core.status()
    assert status.shared == (0, 2)
    assert str(rejected) in status.degraded
    assert status.offline_since is None
    for _ in range(4 * 24 * 60):  # a day of rounds every 15 s
        world.pass_(15.0)
        assert drive(sync_once(core, board, verify_history=False))
    assert core.waiting == waiting
    assert board.tries <= 9 + 24, "15 s, doubled up to an hour, then once an hour"
    core.choose()  # it plays on
    board.rejected = None
    world.pass_(3600.0)
    assert drive(sync_once(core, board))
    assert not core.waiting
    assert core.status().degraded == ()
    core.close()


def test_a_real_server_closes_reopens_and_revokes(tmp_path):
    with (
        open_store(tmp_path / "server.db") as store,
        serving_in_thread(create_app(store, Settings(token=TOKEN))) as server,
        Operator(server, TOKEN) as operator,
    ):
        url = operator.open(Experiment(SPEC.with_(scheme={"quorum": 30})))
        with Device.join(url, store=tmp_path / "device.db") as device:
            operator.change("banner", state="closed")
            _play_until_vote(device)
            assert device.sync()
            status = device.status()
            assert (len(status.sent), len(status.waiting) > 0) == (0, True)
            (trouble,) = status.degraded
            assert "Experiment 'banner' is closed." in trouble
            with pytest.raises(JoinRefused, match="is closed"):
                Device.join(url, store=tmp_path / "late.db")
            assert not (tmp_path / "late.db").exists()
            operator.change("banner", state="open")
            assert device.sync()
            assert device.status().sent
            assert device.status().degraded == ()
        with Device.join(url, store=tmp_path / "second.db") as second:
            assert operator.revoke("banner", voters=[second.status().voter]).devices == 1
            _play_until_vote(second)
            assert second.sync()
            (trouble,) = second.status().degraded
            assert "has revoked this device" in trouble
            operator.delete("banner")
            assert not second.sync()
            assert any("was deleted" in trouble for trouble in second.status().degraded)
            second.choose()


def _play_until_vote(device):
    while not (device.status().sent or device.status().waiting):
        device.reward(1.0 if device.choose() == 0 else 0.0)
