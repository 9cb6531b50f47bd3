"""One round between a device and its board, and rounds in the background on a mock clock."""

import asyncio
import random
from dataclasses import replace
from itertools import pairwise

import pytest
from tests.boards.local import here
from tests.device.fault_run import drive
from tests.device.worlds import ME, SPEC, HandClock, PretendServer, play_until_vote, set_up, vote

from devote.boards.board import (
    BoardRefused,
    BoardUnavailable,
    ExperimentClosed,
    Outcome,
    Snapshot,
    VoterRevoked,
)
from devote.device import steps
from devote.device.core import Core, Health
from devote.device.sync import Pace, run_forever, sync_once


@pytest.fixture
def board():
    return PretendServer(enrolled=None)


@pytest.fixture
def hand():
    return HandClock()


@pytest.fixture
def core(tmp_path, hand):
    core = Core(set_up(tmp_path / "device.db"), clock=hand.clock)
    yield core
    core.close()


def test_a_round_posts_what_waits_and_reads_what_is_new(core, board):
    drive(board.publish(vote(1, 1)))
    play_until_vote(core)
    mine = [envelope.message for envelope in core.waiting]
    assert drive(sync_once(core, board))
    assert not core.waiting
    assert list(core.status().sent) == mine
    assert len(board.now().posted) == len(mine) + 1
    assert core.status().freshness == "synced 0 s ago"


def test_a_board_that_is_down_means_offline_and_nothing_is_lost(core, board):
    play_until_vote(core)
    waiting = core.waiting
    board.crash()
    assert not drive(sync_once(core, board))
    assert core.waiting == waiting
    assert "offline since" in core.status().freshness
    core.choose()
    board.restart()
    assert drive(sync_once(core, board))
    assert core.status().offline_since is None


def test_an_unknown_outcome_means_post_again(core, board, monkeypatch):
    play_until_vote(core)
    publish = board.publish

    async def no_answer(envelope):
        await publish(envelope)
        raise BoardUnavailable("No answer came.")

    monkeypatch.setattr(board, "publish", no_answer)
    assert not drive(sync_once(core, board))
    monkeypatch.undo()
    assert len(board.now().posted) == 1
    assert drive(sync_once(core, board))
    messages = [posted.envelope.message for posted in board.now().posted]
    assert len(messages) == len(set(messages)) == len(core.status().sent)


async def garbage(after=0):
    raise BoardRefused("What answers is not a devote server.\nCheck the address.")


async def without_the_first(after=0):
    posted = [vote(number, 1) for number in range(3)]
    full = PretendServer(enrolled=None)
    for envelope in posted:
        await full.publish(envelope)
    snapshot = await full.snapshot(after)
    return Snapshot(snapshot.number, snapshot.posted[1:])


@pytest.mark.parametrize(
    ("answers", "why"), [(garbage, "is not a devote server"), (without_the_first, "leaves out")]
)
def test_a_board_that_is_none_or_leaves_out_messages_is_not_believed(core, board, answers, why):
    for number in range(3):
        drive(board.publish(vote(number, 1)))
    honest, board.snapshot = board.snapshot, answers
    assert not drive(sync_once(core, board))
    assert why in core.status().degraded[0]
    assert not core.status().complete
    assert core.best() is None
    board.snapshot = honest
    assert drive(sync_once(core, board))
    assert not core.status().degraded


def test_a_spec_that_changed_stops_sending_and_reading_but_not_playing(core, board):
    play_until_vote(core)
    waiting = core.waiting
    board.experiment = here(SPEC.with_(epsilon=0.5), players=3)
    assert not drive(sync_once(core, board))
    assert "specification has changed" in core.status().degraded[0]
    assert core.waiting == waiting
    assert not board.now().posted
    core.choose()


def test_a_vote_of_a_device_that_is_not_enrolled_is_refused_kept_and_goes_through_later(core):
    board = PretendServer()
    play_until_vote(core)
    assert drive(sync_once(core, board))
    assert core.waiting
    assert "refuses" in core.status().degraded[0]
    board.enrolled.add(ME.voter)
    assert drive(sync_once(core, board))
    assert not core.waiting
    assert not core.status().degraded


@pytest.mark.parametrize("grown", [0, 3])
@pytest.mark.parametrize("kept", [0, 1, 2])
def test_a_board_put_back_to_a_backup_is_offered_all_own_votes_again(core, board, kept, grown):
    """Also if it has grown past the device since: noticed by what was read, not by the number."""
    drive(board.publish(vote(1, 1)))
    play_until_vote(core)
    assert drive(sync_once(core, board))
    old = PretendServer(enrolled=None)
    for posted in board.now().posted[:kept]:
        drive(old.publish(posted.envelope))
    for other in range(grown):
        drive(old.publish(vote(10 + other, 1)))
    for _ in range(2):
        assert drive(sync_once(core, old))
    there = {posted.envelope.message for posted in old.now().posted}
    assert there >= set(core.status().sent)
    assert not core.waiting


def test_what_a_board_has_acknowledged_but_does_not_show_is_offered_again(core):
    class Forgetful(PretendServer):
        forgets = True

        async def publish(self, envelope):
            return Outcome.ACCEPTED if self.forgets else await super().publish(envelope)

    board = Forgetful(enrolled=None)
    play_until_vote(core)
    waiting = core.waiting
    assert drive(sync_once(core, board))
    assert core.waiting == waiting
    assert list(core.status().sent) == [envelope.message for envelope in waiting]
    board.forgets = False
    assert drive(sync_once(core, board))
    assert not core.waiting
    assert [posted.envelope for posted in board.now().posted] == list(waiting)


@pytest.mark.parametrize("rejected", [ExperimentClosed("It is closed."), VoterRevoked("Revoked.")])
def test_a_board_that_takes_nothing_is_read_and_asked_ever_more_rarely(core, hand, rejected):
    class Closing(PretendServer):
        is_closed, tries = False, 0

        async def publish(self, envelope):
            if self.is_closed:
                self.tries += 1
                raise rejected
            return await super().publish(envelope)

    board = Closing(enrolled=None)
    drive(board.publish(vote(1, 1)))
    drive(board.publish(vote(2, 1)))
    board.is_closed = True
    play_until_vote(core)
    waiting = core.waiting
    assert drive(sync_once(core, board)), "the round worked: the board was read"
    status = core.status()
    assert status.shared == (0, 2)
    assert str(rejected) in status.degraded
    assert status.offline_since is None
    for _ in range(4 * 24 * 60):  # a day of rounds every 15 s
        hand.pass_(15.0)
        assert drive(sync_once(core, board, verify_history=False))
    assert core.waiting == waiting
    assert board.tries <= 9 + 24, "15 s, doubled up to an hour, then once an hour"
    core.choose()  # it plays on
    board.is_closed = False
    hand.pass_(3600.0)
    assert drive(sync_once(core, board))
    assert not core.waiting
    assert core.status().degraded == ()


def test_what_has_left_is_still_shown_after_a_board_has_lost_it(core, board):
    """As gossip takes messages back: then ``sent`` was empty, although they had left."""
    drive(board.publish(vote(1, 1)))
    play_until_vote(core)
    assert drive(sync_once(core, board))
    sent = core.status().sent
    assert sent
    core.change(steps.rewind, forget=True)
    assert core.status().sent == core.status().waiting == sent


# The loop.


def waits(core, board, hand, most, dice=lambda: 0.5, pace=None):
    """The first pauses of the loop, which take no time."""
    found = []

    async def main():
        me = asyncio.current_task()

        async def pause(seconds, wake):
            found.append(seconds)
            hand.pass_(seconds)
            if len(found) >= most:
                me.cancel()
            await asyncio.sleep(0)

        await run_forever(core, board, wake=asyncio.Event(), dice=dice, pace=pace, pause=pause)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    return found


def test_while_the_board_is_down_waits_double_up_to_the_cap_with_jitter(core, board, hand):
    board.crash()
    slept = waits(core, board, hand, 8, pace=Pace(15.0, 1.0, 60.0))
    assert slept == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]


def test_a_board_that_comes_back_is_found(core, board):
    play_until_vote(core)
    board.crash()

    async def main():
        pace = Pace(15.0, 0.01, 0.05)
        task = asyncio.create_task(run_forever(core, board, wake=asyncio.Event(), pace=pace))
        while core.status().offline_since is None:
            await asyncio.sleep(0.005)
        board.restart()
        while core.waiting:
            await asyncio.sleep(0.005)
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(asyncio.wait_for(main(), 10.0))
    assert core.status().offline_since is None
    assert board.now().posted


def test_a_stream_brings_votes_between_rounds_and_wake_sends_at_once(core, board):
    async def main():
        wake = asyncio.Event()
        core.on_message = wake.set
        task = asyncio.create_task(run_forever(core, board, wake=wake))
        while not core.status().complete:
            await asyncio.sleep(0.005)
        for number in (1, 2):
            await board.publish(vote(number, 1))
        while 1 in core.status().shared:
            await asyncio.sleep(0.005)
        play_until_vote(core)
        while core.waiting:
            await asyncio.sleep(0.005)
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(asyncio.wait_for(main(), 10.0))


def test_where_streams_do_not_get_through_rounds_do_the_work(core, board, hand, monkeypatch):
    opened = []

    async def cut(after=0):
        opened.append(hand.monotonic)
        raise BoardUnavailable("The stream was cut.")
        yield

    monkeypatch.setattr(board, "stream", cut)
    slept = waits(core, board, hand, 120, pace=Pace(15.0, 1.0, 60.0))
    assert core.status().complete
    assert len(opened) > 2
    assert all(later - sooner >= 600.0 for sooner, later in pairwise(opened))
    assert all(seconds >= 7.5 for seconds in slept)


class Asking(PretendServer):
    """A board whose server asks for a pace, and perhaps to be left alone."""

    pace, streams, quiet = 40, True, 0.0

    async def tally(self):
        if self.quiet:
            raise BoardUnavailable("It answered 503.", retry_after=self.quiet)
        return replace(await super().tally(), pace=self.pace, streams=self.streams)

    def stream(self, after=0):
        assert self.streams, "no stream was to be opened"
        return super().stream(after)


def test_the_server_sets_the_pace_and_each_device_spreads_it_by_chance(core, hand):
    slept = waits(core, Asking(enrolled=None), hand, 400, random.Random(0).random)
    assert min(slept) >= 20.0
    assert max(slept) <= 60.0
    # The mean of 400 uniform waits has a standard error of 0.58 s: 5 of them are one in a million.
    assert abs(sum(slept) / len(slept) - 40.0) < 2.9


def test_no_stream_is_opened_where_the_server_wants_none(core, hand):
    board = Asking(enrolled=None)
    board.streams = False
    assert waits(core, board, hand, 5) == [40.0] * 5


def test_a_server_that_asks_for_quiet_gets_it_and_trouble_makes_devices_quieter(core, hand):
    board = Asking(enrolled=None)
    assert waits(core, board, hand, 1) == [40.0]
    board.quiet = 700.0
    assert waits(core, board, hand, 3) == [1050.0] * 3
    board.quiet = 1e-9
    assert waits(core, board, hand, 7) == [40.0, 80.0, 160.0, 320.0, 640.0, 900.0, 900.0]


@pytest.mark.parametrize("u", [0.0, 0.5, 0.999])
def test_no_failure_makes_a_device_ask_sooner_than_its_pace_would(u):
    for every in (15.0, 40.0, 1_920.0, 86_400.0):
        asked = Health(lambda: 0.0, every=every)
        for failures in range(1, 40):
            assert Pace().wait(asked, failures, u) >= Pace().wait(asked, 0, u)


class Streaming(PretendServer):
    """A board that counts its readers and can break their streams."""

    def __init__(self):
        super().__init__(enrolled=None)
        self.open = self.rounds = 0
        self.cut = asyncio.Event()

    async def tally(self):
        self.rounds += 1
        return await super().tally()

    async def stream(self, after=0):
        self.open += 1
        try:
            await self.cut.wait()
            raise BoardUnavailable("The stream was cut.")
            yield
        finally:
            self.open -= 1


def with_loop(core, board, watch, **options):
    """Run the loop that ships beside ``watch``, which is given what wakes it."""

    async def main():
        wake = asyncio.Event()
        task = asyncio.create_task(run_forever(core, board, wake=wake, **options))
        try:
            async with asyncio.timeout(10.0):
                await watch(wake)
        finally:
            task.cancel()
            await asyncio.wait({task})
        assert board.open == 0

    asyncio.run(main())


async def until(condition):
    while not condition():
        await asyncio.sleep(0.005)


def test_a_stream_ends_with_a_round_that_fails_and_nothing_wakes_the_loop_then(core):
    board = Streaming()

    async def watch(wake):
        await until(lambda: board.open)
        board.experiment = here(SPEC.with_(epsilon=0.5), players=3)
        wake.set()
        await until(lambda: not board.open)
        failed = board.rounds
        for _ in range(10):
            wake.set()
            await asyncio.sleep(0.005)
        assert board.rounds == failed

    with_loop(core, board, watch, pace=Pace(3_600.0))


def test_a_stream_that_breaks_asks_for_a_round(core):
    board = Streaming()

    async def watch(wake):
        await until(lambda: board.open)
        rounds = board.rounds
        board.cut.set()
        await until(lambda: board.rounds > rounds)

    with_loop(core, board, watch, pace=Pace(3_600.0), dice=lambda: 0.0)
