"""Places in a jury: claimed by several devices at once, given by the board, kept by one each."""

import random

import pytest
from tests.fleet.fault_run import drive
from tests.fleet.worlds import ME, device, pull

from devote.boards.board import Outcome, Posted
from devote.boards.faults import Faults, FaultyBoard, MockClock
from devote.boards.identity import Identity
from devote.boards.memory import MemoryBoard
from devote.fleet.core import DeviceCore
from devote.fleet.store import Store
from devote.fleet.sync import sync_once
from devote.protocol import Ballot, ExperimentSpec, Seat, Vote

SPEC = ExperimentSpec(
    arms=3, name="banner", epsilon=1.0, protocol="jury", eta=0.9, delta=0.9**4, seat_after=3
)
OTHER = Identity.from_private_bytes(b"o" * 32)


def claim(identity: Identity, seat: int):
    return identity.sign(Seat("banner", seat, identity.voter))


@pytest.fixture
def claiming(tmp_path):
    """A device that has read an empty board and claims seat 1."""
    core = device(ME, SPEC, tmp_path / "device.db")
    core.receive((), 0)
    for _ in range(SPEC.seat_after):
        pull(core, random.Random(1))
    assert [e.message for e in core.waiting] == [Seat("banner", 1, ME.voter)]
    yield core
    core.close()


def test_a_claim_counts_only_once_the_board_shows_it_also_across_a_restart(claiming):
    assert not claiming._player.is_juror
    claiming.settle(claim(ME, 1), Outcome.ACCEPTED)
    claiming.close()
    again = DeviceCore(Store.open(claiming.store.path))
    assert not again._player.is_juror
    again.receive([Posted(1, claim(ME, 1))], 1)
    assert again._player.is_juror
    again.close()
    assert DeviceCore(Store.open(claiming.store.path))._player.is_juror


def test_a_denied_claim_goes_for_good_and_the_next_free_seat_is_claimed(claiming):
    claiming.settle(claim(ME, 1), Outcome.DENIED)
    claiming.receive([Posted(1, claim(OTHER, 1))], 1)
    assert claiming.waiting == ()
    assert claiming.status().degraded == ()
    pull(claiming, random.Random(2))
    assert [e.message for e in claiming.waiting] == [Seat("banner", 2, ME.voter)]
    claiming.rewind()
    assert [e.message for e in claiming.waiting] == [Seat("banner", 2, ME.voter)]


def test_a_claim_denied_for_another_reason_is_kept_and_offered_again(claiming):
    claiming.settle(claim(ME, 1), Outcome.DENIED)
    claiming.receive((), 0)
    assert claiming.waiting == (claim(ME, 1),)
    assert len(claiming.status().degraded) == 1
    claiming.settle(claim(ME, 1), Outcome.ACCEPTED)
    assert claiming.status().degraded == ()


def test_a_board_put_back_decides_anew_who_has_a_seat(claiming):
    claiming.settle(claim(ME, 1), Outcome.ACCEPTED)
    claiming.receive([Posted(1, claim(ME, 1))], 1)
    assert claiming._player.is_juror
    claiming.rewind()
    assert not claiming._player.is_juror
    claiming.settle(claim(ME, 1), Outcome.DENIED)
    claiming.receive([Posted(1, claim(OTHER, 1))], 1)
    assert not claiming._player.is_juror
    assert claiming._player.ballot.jury == (OTHER.voter,)
    assert claiming.waiting == ()


def test_a_seat_that_comes_free_again_is_claimed_although_the_old_claim_still_waits(claiming):
    claiming.receive([Posted(1, claim(OTHER, 1))], 1)
    pull(claiming, random.Random(2))
    assert [e.message.seat for e in claiming.waiting] == [1, 2]
    claiming.rewind()
    claiming.receive([Posted(1, claim(OTHER, 2))], 1)
    pull(claiming, random.Random(2))
    assert [e.message.seat for e in claiming.waiting] == [1, 2]


def test_a_denied_vote_is_kept_whoever_sits_in_the_jury(claiming):
    claiming.settle(claim(ME, 1), Outcome.ACCEPTED)
    claiming.receive([Posted(1, claim(ME, 1))], 1)
    rng = random.Random(3)
    while not any(isinstance(e.message, Vote) for e in claiming.waiting):
        pull(claiming, rng)
    first = claiming.waiting[0]
    claiming.settle(first, Outcome.DENIED)
    claiming.receive([Posted(2, claim(OTHER, 2))], 2)
    assert first in claiming.waiting


@pytest.mark.parametrize("seed", range(15))
def test_devices_that_claim_the_same_seat_at_once_over_bad_links_end_in_agreement(seed):
    rng = random.Random(seed)
    board, clock = MemoryBoard(SPEC), MockClock()
    faults = Faults(
        lost_request=0.2, lost_reply=0.2, duplicated=0.2, delayed=0.2, stale=0.2, shuffled=0.2
    )
    devices = [device(Identity.from_private_bytes(rng.randbytes(32)), SPEC) for _ in range(6)]
    links = [FaultyBoard(board, faults, clock, rng.getrandbits(64)) for _ in devices]
    # All read the empty board before anybody claims, so that all claim seat 1.
    for core in devices:
        core.receive((), 0)
        for _ in range(SPEC.seat_after):
            pull(core, rng, best=rng.choice((0, 0, 0, 1)))
        assert [e.message.seat for e in core.waiting] == [1]
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
    claims = [message for message in messages if isinstance(message, Seat)]
    assert sorted(message.seat for message in claims) == [1, 2, 3, 4]
    assert len({message.voter for message in claims}) == 4
    jury = {message.voter for message in claims}
    assert all(message.voter in jury for message in messages)
    truth = Ballot.of(messages, n_arms=3, quorum=SPEC.jury_size, n_seats=SPEC.jury_size)
    for core in devices:
        status = core.status()
        assert status.state == truth.status() != "open"
        assert status.answer == truth.answer
        assert not status.waiting
        assert not status.degraded
        core.close()
