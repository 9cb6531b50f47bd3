"""Seats of a jury: claimed by several devices at once, given by the board, kept by one each."""

import random
import shutil

import pytest
from tests.boards.faults import Faults, FaultyBoard, MockClock
from tests.boards.local import scope
from tests.boards.memory import MemoryBoard
from tests.device.fault_run import drive
from tests.device.worlds import ME, PretendServer, device, pull

from devote.boards.board import Envelope, Outcome, Posted
from devote.boards.identity import Identity
from devote.device import steps
from devote.device.core import Core
from devote.device.store import Store
from devote.device.sync import sync_once
from devote.protocol import ExperimentSpec
from devote.schemes import Claim, Jury, Pick

SPEC = ExperimentSpec(
    arms=3, name="banner", epsilon=1.0, eta=0.5, delta=0.4, scheme=Jury(seats=4, seat_after=3)
)
OTHERS = [Identity.from_private_bytes(bytes([n]) * 32) for n in range(1, 6)]


def claim(identity: Identity) -> Envelope:
    return identity.sign(Claim("banner", identity.voter), scope(SPEC))


def pick(identity: Identity, arm: int) -> Envelope:
    return identity.sign(Pick("banner", arm, identity.voter), scope(SPEC))


def posted(*envelopes: Envelope, first: int = 1) -> list[Posted]:
    return [Posted(number, envelope) for number, envelope in enumerate(envelopes, first)]


@pytest.fixture
def claiming(tmp_path):
    """A device that has read an empty board and claims a seat."""
    core = device(ME, SPEC, tmp_path / "device.db")
    core.receive((), 0)
    rng = random.Random(1)
    for _ in range(2):
        pull(core, rng)
    assert core.waiting == ()
    core.choose(rng.random())
    assert core.waiting == (claim(ME),)
    core.reward(0.0)
    yield core
    core.close()


def test_a_claim_is_kept_with_the_activation_that_makes_it(claiming):
    claiming.close()
    again = Core(Store.open(claiming.store.path))
    assert again.waiting == (claim(ME),)
    pull(again, random.Random(2))
    assert again.waiting == (claim(ME),)
    again.close()


def test_a_claim_counts_only_once_the_board_shows_it_also_across_a_restart(claiming):
    assert not claiming.record.player.is_juror
    claiming.change(steps.settle, claim(ME), Outcome.ACCEPTED)
    claiming.close()
    again = Core(Store.open(claiming.store.path))
    assert not again.record.player.is_juror
    again.receive(posted(claim(ME)), 1)
    assert again.record.player.is_juror
    again.close()
    assert Core(Store.open(claiming.store.path)).record.player.is_juror


def test_a_refused_claim_is_offered_again_only_while_there_is_a_free_seat(claiming):
    claiming.change(steps.settle, claim(ME), Outcome.REFUSED)
    claiming.receive(posted(*map(claim, OTHERS[:3])), 3)
    assert claiming.waiting == (claim(ME),)
    assert len(claiming.status().degraded) == 1
    claiming.receive(posted(claim(OTHERS[3]), first=4), 4)
    assert claiming.waiting == ()
    assert claiming.status().degraded == ()
    assert claiming.status().sent == ()


def test_a_board_put_back_decides_anew_who_has_a_seat(claiming):
    claiming.change(steps.settle, claim(ME), Outcome.ACCEPTED)
    claiming.receive(posted(claim(ME), claim(OTHERS[0])), 2)
    assert list(claiming.record.player.tally.picks) == [ME.voter, OTHERS[0].voter]
    claiming.change(steps.rewind)
    assert not claiming.record.player.is_juror
    assert not claiming.status().complete
    assert claiming.waiting == (claim(ME),)
    claiming.change(steps.settle, claim(ME), Outcome.REFUSED)
    claiming.receive(posted(*map(claim, OTHERS)), 5)
    assert list(claiming.record.player.tally.picks) == [other.voter for other in OTHERS[:4]]
    assert claiming.waiting == ()


def test_a_claim_that_was_refused_is_offered_to_a_board_put_back_to_when_seats_were_free(claiming):
    claiming.change(steps.settle, claim(ME), Outcome.REFUSED)
    claiming.receive(posted(*map(claim, OTHERS[:4])), 4)
    assert claiming.waiting == ()
    claiming.change(steps.rewind)
    assert claiming.waiting == (claim(ME),)


@pytest.mark.parametrize("restart", [False, True])
def test_messages_that_come_out_of_order_are_counted_in_the_order_of_the_board(claiming, restart):
    log = posted(*map(claim, OTHERS), pick(OTHERS[0], 2), pick(OTHERS[1], 1), pick(OTHERS[2], 1))
    for part in (log[6:], log[3:0:-1], log[3::-1]):
        claiming.receive(part, 8)
    assert list(claiming.record.player.tally.picks) == [other.voter for other in OTHERS[:4]]
    assert claiming.record.bookmark.number == 4
    if restart:
        claiming.close()
        claiming = Core(Store.open(claiming.store.path))
        assert list(claiming.record.player.tally.picks) == [other.voter for other in OTHERS[:4]]
        claiming.receive(log[6:], 8)
    assert not claiming.receive(log[5:6], 8)
    assert claiming.record.player.tally.counts == (0, 0, 0)
    assert claiming.receive(log[:3:-1], 8)
    assert claiming.record.player.tally.counts == (0, 2, 1)
    claiming.close()


def test_what_the_tally_refuses_is_not_counted_and_shown(claiming):
    claiming.receive(posted(pick(OTHERS[0], 2), claim(OTHERS[0])), 2)
    assert claiming.record.player.tally.counts == (0, 0, 0)
    assert list(claiming.record.player.tally.picks) == [OTHERS[0].voter]
    assert "not valid" in claiming.status().degraded[0]
    path = claiming.store.path
    claiming.close()
    assert Core(Store.open(path)).record.player.tally.counts == (0, 0, 0)


@pytest.mark.parametrize("seed", range(15))
def test_devices_that_claim_at_once_over_bad_links_end_in_agreement(seed):
    rng = random.Random(seed)
    board, clock = MemoryBoard(SPEC), MockClock()
    faults = Faults(
        lost_request=0.2, lost_reply=0.2, duplicated=0.2, delayed=0.2, stale=0.2, shuffled=0.2
    )
    devices = [device(Identity.from_private_bytes(rng.randbytes(32)), SPEC) for _ in range(6)]
    links = [FaultyBoard(board, faults, clock, rng.getrandbits(64)) for _ in devices]
    # All read the empty board before anybody claims, so that all claim.
    for core in devices:
        core.receive((), 0)
        for _ in range(SPEC.scheme.seat_after):
            pull(core, rng, best=rng.choice((0, 0, 0, 1)))
        assert [type(e.message) for e in core.waiting] == [Claim]
    for _ in range(150):
        clock.advance(1.0)
        for core, link in zip(devices, links, strict=True):
            drive(sync_once(core, link))
            pull(core, rng, best=rng.choice((0, 0, 0, 1)))
    for link in links:
        link.faults = Faults()
        drive(link.deliver(everything=True))
    for _ in range(3):
        for core, link in zip(devices, links, strict=True):
            assert drive(sync_once(core, link))
    messages = [posted.envelope.message for posted in board.now().posted]
    jury = {message.voter for message in messages if isinstance(message, Claim)}
    assert len(jury) == 4
    assert sum(isinstance(message, Claim) for message in messages) == 4
    assert all(message.voter in jury for message in messages)
    truth = SPEC.scheme.tally(SPEC)
    for message in messages:
        truth.add(message)
    for core in devices:
        status = core.status()
        assert status.state == truth.status() != "open"
        assert status.answer == truth.answer
        assert not status.waiting
        assert not status.degraded
        core.close()


def test_a_private_pick_is_drawn_once_and_stored_before_it_is_sent(tmp_path):
    jury = Jury(seats=1, seat_after=1, privacy=1.0, vote_after=40)
    spec = SPEC.with_(scheme=jury, delta=0.9, eta=0.05)
    board = PretendServer(spec, enrolled=None)
    identity, noises = Identity.from_private_bytes(b"p" * 32), []
    path = tmp_path / "device.db"
    device(identity, spec, path).close()

    def noise():
        noises.append(random.Random(len(noises)).random())
        return noises[-1]

    core = Core(Store.open(path), noise=noise)
    rng = random.Random(1)
    for _ in range(39):
        assert drive(sync_once(core, board))
        pull(core, rng)
    assert core.record.player.best == 0
    core.choose(0.5)
    assert len(noises) == 40
    (waiting,) = core.waiting
    assert waiting.message == pick(identity, waiting.message.arm).message
    core.close()
    again = Core(Store.open(path), noise=noise)
    assert again.waiting == (waiting,)
    again.choose(0.5)
    assert again.waiting == (waiting,), "asking again is an activation, and no second pick"
    assert drive(sync_once(again, board))
    assert board.now().posted[-1].envelope == waiting
    again.close()


PRIVATE = SPEC.with_(
    eta=0.1, delta=0.5, scheme=Jury(seats=9, seat_after=1, privacy=4.0, vote_after=80)
)


class Recalling(PretendServer):
    """A board that writes down every pick that reaches it."""

    def __init__(self) -> None:
        super().__init__(PRIVATE, players=None, enrolled=None)
        self.picks: list[Pick] = []

    async def publish(self, envelope: Envelope) -> Outcome:
        if isinstance(envelope.message, Pick):
            self.picks.append(envelope.message)
        return await super().publish(envelope)


def test_a_private_jurors_noise_is_drawn_once_also_from_a_store_that_was_put_back(tmp_path):
    board, rng = Recalling(), random.Random(3)
    core = device(ME, PRIVATE, tmp_path / "device.db", players=9)
    assert drive(sync_once(core, board))
    pull(core, rng)
    assert drive(sync_once(core, board))
    core.store.database.truncate_wal()
    shutil.copy(tmp_path / "device.db", tmp_path / "copy.db")
    core.noise = lambda: 0.0  # the truth
    while not core.status().sent or not board.picks:
        pull(core, rng)
        if core.waiting:
            # The pick is on disk before it is sent, and no restart draws its noise again.
            core.close()
            core = Core(Store.open(tmp_path / "device.db"), noise=lambda: 0.999)
            drive(sync_once(core, board))
    core.close()
    again = Core(Store.open(tmp_path / "copy.db"), noise=lambda: 0.999)  # a lie
    for _ in range(100):
        pull(again, rng, best=2)
    assert [type(e.message) for e in again.waiting] == [Pick]
    assert again.waiting[0].message != board.picks[0]
    for _ in range(20):
        assert drive(sync_once(again, board))
        pull(again, rng, best=2)
    assert len(set(board.picks)) == 1
    assert again.waiting == ()
    again.close()
