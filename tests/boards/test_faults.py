"""The bad network of the tests does what it says, and never breaks the board."""

from collections.abc import Coroutine
from typing import Any

import pytest
from tests.boards.faults import CrashingBoard, Faults, FaultyBoard, MockClock
from tests.server.live import SPEC, identity, vote

from devote.boards.board import BoardUnavailable, Outcome


def now(work: Coroutine[Any, Any, Any]) -> Any:
    """Complete a coroutine that must not wait, without an event loop."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waited")


def link(faults: Faults, seed: int = 0) -> tuple[CrashingBoard, MockClock, FaultyBoard]:
    board, clock = CrashingBoard(SPEC), MockClock()
    return board, clock, FaultyBoard(board, faults, clock, seed)


def test_requests_and_replies_are_lost_and_messages_are_late_as_asked_for():
    for faults, there in ((Faults(lost_request=1.0), 0), (Faults(lost_reply=1.0), 1)):
        board, _, bad = link(faults)
        with pytest.raises(BoardUnavailable):
            now(bad.publish(vote(identity(1))))
        assert board.now().number == there
        bad.faults = Faults()
        outcome = now(bad.publish(vote(identity(1))))
        assert outcome is (Outcome.DUPLICATE if there else Outcome.ACCEPTED)

    board, clock, bad = link(Faults(delayed=1.0, duplicated=1.0, longest_delay=5.0), seed=3)
    sent = [vote(identity(1), arm) for arm in range(4)]
    for envelope in sent:
        with pytest.raises(BoardUnavailable):
            now(bad.publish(envelope))
    assert (board.now().number, len(bad.in_flight)) == (0, 4)
    clock.advance(100.0)
    now(bad.deliver())
    arrived = [posted.envelope for posted in board.now().posted]
    assert sorted(arrived, key=sent.index) == sent
    assert arrived != sent


def test_a_partition_lasts_for_its_span_and_a_stale_snapshot_can_be_read_on():
    board, clock, bad = link(Faults(partitions=((10.0, 20.0),)))
    clock.advance(10.0)
    for work in (bad.publish(vote(identity(1))), bad.snapshot()):
        with pytest.raises(BoardUnavailable):
            now(work)
    clock.advance(10.0)
    for arm in range(4):
        assert now(bad.publish(vote(identity(1), arm))) is Outcome.ACCEPTED
    bad.faults, whole = Faults(stale=1.0, shuffled=1.0), board.now().posted
    for after in range(4):
        stale = now(bad.snapshot(after))
        assert after <= stale.number < 4
        assert set(stale.posted) == set(whole[after : stale.number])
    board.crash()
    with pytest.raises(BoardUnavailable):
        now(bad.snapshot())
    board.restart()
    assert board.now().number == 4
