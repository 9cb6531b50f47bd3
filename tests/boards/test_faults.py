"""The bad network does what it says, the same for the same seed, and never breaks the board."""

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


def test_a_lost_request_is_never_applied():
    board, _, bad = link(Faults(lost_request=1.0))
    with pytest.raises(BoardUnavailable):
        now(bad.publish(vote(identity(1))))
    assert board.now().number == 0


def test_a_lost_reply_is_applied_and_the_next_try_is_a_duplicate():
    board, _, bad = link(Faults(lost_reply=1.0))
    with pytest.raises(BoardUnavailable):
        now(bad.publish(vote(identity(1))))
    assert board.now().number == 1
    bad.faults = Faults()
    assert now(bad.publish(vote(identity(1)))) is Outcome.DUPLICATE


def test_a_delayed_message_arrives_when_the_clock_has_passed_its_time():
    board, clock, bad = link(Faults(delayed=1.0, longest_delay=5.0))
    with pytest.raises(BoardUnavailable):
        now(bad.publish(vote(identity(1))))
    assert (board.now().number, len(bad.in_flight)) == (0, 1)
    clock.advance(5.0)
    now(bad.deliver())
    assert (board.now().number, len(bad.in_flight)) == (1, 0)


def test_delayed_messages_overtake_each_other_and_duplicates_come_late():
    board, clock, bad = link(Faults(delayed=1.0, duplicated=1.0), seed=3)
    sent = [vote(identity(1), arm) for arm in range(4)]
    for envelope in sent:
        with pytest.raises(BoardUnavailable):
            now(bad.publish(envelope))
    clock.advance(100.0)
    now(bad.deliver())
    arrived = [posted.envelope for posted in board.now().posted]
    assert sorted(arrived, key=sent.index) == sent
    assert arrived != sent


def test_a_partition_cuts_both_ways_for_its_span_of_the_clock():
    board, clock, bad = link(Faults(partitions=((10.0, 20.0),)))
    clock.advance(10.0)
    with pytest.raises(BoardUnavailable):
        now(bad.publish(vote(identity(1))))
    with pytest.raises(BoardUnavailable):
        now(bad.snapshot())
    clock.advance(10.0)
    assert now(bad.publish(vote(identity(1)))) is Outcome.ACCEPTED
    bad.partitioned = True
    with pytest.raises(BoardUnavailable):
        now(bad.snapshot())
    assert board.now().number == 1


def test_a_stale_snapshot_is_a_beginning_of_the_true_one_and_can_be_read_on():
    board, _, bad = link(Faults(stale=1.0, shuffled=1.0))
    for arm in range(4):
        now(board.publish(vote(identity(1), arm)))
    whole = board.now().posted
    for after in range(4):
        stale = now(bad.snapshot(after))
        assert after <= stale.number < 4
        assert set(stale.posted) == set(whole[after : stale.number])


def test_a_crashed_board_answers_nothing_and_forgets_nothing():
    board, _, good = link(Faults())
    now(good.publish(vote(identity(1))))
    board.crash()
    for work in (good.publish(vote(identity(2))), good.snapshot()):
        with pytest.raises(BoardUnavailable):
            now(work)
    board.restart()
    assert now(good.snapshot()).number == 1


def test_a_message_that_arrives_at_a_crashed_board_is_lost():
    board, clock, bad = link(Faults(delayed=1.0))
    with pytest.raises(BoardUnavailable):
        now(bad.publish(vote(identity(1))))
    board.crash()
    clock.advance(100.0)
    now(bad.deliver())
    board.restart()
    assert (board.now().number, bad.in_flight) == (0, ())


def _story(seed: int) -> list[str]:
    faults = Faults(
        lost_request=0.2, lost_reply=0.2, duplicated=0.2, delayed=0.2, stale=0.2, shuffled=0.2
    )
    _, clock, bad = link(faults, seed)
    story = []
    for n in range(60):
        clock.advance(1.0)
        work = bad.publish(vote(identity(n % 5 + 1), n % 4)) if n % 3 else bad.snapshot()
        try:
            story.append(str(now(work)))
        except BoardUnavailable:
            story.append("unavailable")
    return story


def test_the_same_seed_gives_the_same_faults():
    assert _story(1) == _story(1)
    assert _story(1) != _story(2)


@pytest.mark.parametrize("seed", range(50))
def test_trying_until_told_puts_every_message_on_the_board_once(seed):
    faults = Faults(lost_request=0.3, lost_reply=0.3, duplicated=0.3, delayed=0.3)
    board, clock, bad = link(faults, seed)
    sent = [vote(identity(n), arm) for n in range(1, 4) for arm in range(4)]
    for envelope in sent:
        while True:
            clock.advance(1.0)
            try:
                now(bad.publish(envelope))
            except BoardUnavailable:
                continue
            break
    now(bad.deliver(everything=True))
    posted = [item.envelope for item in board.now().posted]
    assert len(posted) == len(set(posted)) == len(sent)
    assert set(posted) == set(sent)


def test_a_probability_out_of_range_is_refused():
    with pytest.raises(ValueError, match=r"lost_reply=1\.5 must be in \[0, 1\]"):
        Faults(lost_reply=1.5)
