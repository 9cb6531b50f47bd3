"""Terms that follow one another: what a device with resets finds open, also after a restore."""

import random

from tests.boards.faults import Faults, FaultyBoard, MockClock
from tests.boards.memory import MemoryBoard
from tests.device.fault_run import drive
from tests.device.worlds import device, pull

from devote.boards.identity import Identity
from devote.device import steps
from devote.device.core import Core
from devote.device.sync import sync_once
from devote.protocol import ExperimentSpec

SPEC = ExperimentSpec(
    arms=3, name="banner", epsilon=1.0, algorithm="ser4", options={"phi": 0.2}, scheme={"quorum": 2}
)


def devices(count: int, rng: random.Random) -> list[Core]:
    return [device(Identity.from_private_bytes(rng.randbytes(32)), SPEC) for _ in range(count)]


def highest(board: MemoryBoard) -> int:
    return max((posted.envelope.message.term for posted in board.now().posted), default=0)


def pull_until_term(core: Core, board: MemoryBoard, term: int, rng: random.Random) -> None:
    while highest(board) < term:
        pull(core, rng)
        assert drive(sync_once(core, board))


def test_a_device_with_resets_never_meets_the_bound_on_terms():
    board, clock, rng = MemoryBoard(SPEC), MockClock(), random.Random(5)
    four = devices(4, rng)
    faults = Faults(lost_request=0.3, lost_reply=0.3, delayed=0.3, stale=0.3)
    links = [FaultyBoard(board, faults, clock, seed) for seed in range(4)]
    for _ in range(200):
        clock.advance(1.0)
        which = rng.randrange(4)
        for _ in range(rng.randrange(30)):
            pull(four[which], rng)
        drive(sync_once(four[which], links[which]))
        assert not any(steps.is_refused(core.record) for core in four)
    assert highest(board) > 10
    for core in four:
        core.close()


def test_a_board_put_back_gets_its_terms_again_although_who_opened_them_is_gone():
    rng = random.Random(6)
    board = MemoryBoard(SPEC)
    first, second = devices(2, rng)
    pull_until_term(first, board, 3, rng)
    first.close()
    pull_until_term(second, board, 5, rng)
    restored = MemoryBoard(SPEC)
    assert drive(sync_once(second, restored))
    assert drive(sync_once(second, restored))
    assert second.waiting == ()
    assert not second.status().degraded
    assert highest(restored) == highest(board)
    second.close()
