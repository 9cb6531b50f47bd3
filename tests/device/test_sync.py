"""One round between a device and its board, and rounds in the background on a mock clock."""

import asyncio
import random
from dataclasses import replace
from itertools import count, pairwise

import pytest
from tests.boards.local import here
from tests.device.fault_run import drive
from tests.device.worlds import ME, SPEC, HandClock, PretendServer, play_until_vote, set_up, vote

from devote.boards.board import BoardRefused, BoardUnavailable, Outcome, Snapshot
from devote.device.core import Core
from devote.device.sync import Health, Pace, run_forever, sync_once


@pytest.fixture
def board():
    return PretendServer(enrolled=None)


@pytest.fixture
def core(tmp_path):
    core = Core(set_up(tmp_path / "device.db"))
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
    n_posted = len(board.now().posted)
    assert n_posted == 1
    assert drive(sync_once(core, board))
    messages = [posted.envelope.message for posted in board.now().posted]
    assert len(messages) == len(set(messages)) == len(core.status().sent)


def test_a_board_that_refuses_is_a_visible_degraded_state(core, board, monkeypatch):
    async def garbage(after=0):
        raise BoardRefused("What answers is not a devote server.\nCheck the address.")

    monkeypatch.setattr(board, "snapshot", garbage)
    assert not drive(sync_once(core, board))
    assert core.status().degraded[0].startswith("What answers is not a devote server.")
    assert core.best() is None
    monkeypatch.undo()
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
    board.experiment = here(SPEC, players=3)
    assert drive(sync_once(core, board))
    assert not core.status().degraded


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


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_a_board_put_back_to_a_backup_is_offered_all_own_votes_again(core, board, kept):
    drive(board.publish(vote(1, 1)))
    play_until_vote(core)
    assert drive(sync_once(core, board))
    old = PretendServer(enrolled=None)
    for posted in board.now().posted[:kept]:
        drive(old.publish(posted.envelope))
    for _ in range(2):
        assert drive(sync_once(core, old))
    there = {posted.envelope.message for posted in old.now().posted}
    assert there >= set(core.status().sent)
    assert not core.waiting


def test_a_board_that_leaves_out_messages_is_not_believed(core, board, monkeypatch):
    for number in range(3):
        drive(board.publish(vote(number, 1)))
    snapshot = board.snapshot

    async def without_the_first(after=0):
        full = await snapshot(after)
        return Snapshot(full.number, full.posted[1:])

    monkeypatch.setattr(board, "snapshot", without_the_first)
    assert not drive(sync_once(core, board))
    assert "leaves out" in core.status().degraded[0]
    assert not core.status().complete
    monkeypatch.undo()
    assert drive(sync_once(core, board))
    assert not core.status().degraded


class MockTime:
    """Sleeps that take no time, and are remembered."""

    def __init__(self, most: int, hand: HandClock | None = None) -> None:
        self.slept: list[float] = []
        self.most = most
        self.hand = hand or HandClock()

    async def pause(self, seconds: float, wake: asyncio.Event) -> None:
        self.slept.append(seconds)
        self.hand.pass_(seconds)
        if len(self.slept) >= self.most:
            self.main.cancel()
        await asyncio.sleep(0)


def run(core, board, time, dice=lambda: 0.5):
    async def main():
        time.main = asyncio.current_task()
        await run_forever(
            core, board, wake=asyncio.Event(), dice=dice, pace=Pace(15.0, 1.0, 60.0),
            pause=time.pause,
        )  # fmt: skip

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())


def test_while_the_board_is_down_waits_double_up_to_the_cap_with_jitter(core, board):
    board.crash()
    time = MockTime(8)
    run(core, board, time)
    assert time.slept == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]


def test_a_board_that_comes_back_is_found_and_the_waits_begin_anew(core, board):
    play_until_vote(core)
    board.crash()
    turns = count()

    def dice():
        if next(turns) == 3:
            board.restart()
        return 0.5

    async def main():
        wake = asyncio.Event()
        task = asyncio.create_task(
            run_forever(
                core, board, wake=wake, dice=dice, pace=Pace(15.0, 0.01, 0.05),
            )
        )  # fmt: skip
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
        task = asyncio.create_task(run_forever(core, board, wake=wake, dice=lambda: 0.5))
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


def test_where_streams_do_not_get_through_rounds_do_the_work_at_their_own_pace(
    tmp_path, board, monkeypatch
):
    hand = HandClock()
    core = Core(set_up(tmp_path / "device.db"), clock=hand.clock)
    opened = []

    async def cut(after=0):
        opened.append(hand.monotonic)
        raise BoardUnavailable("The stream was cut.")
        yield

    monkeypatch.setattr(board, "stream", cut)
    time = MockTime(60, hand)
    run(core, board, time)
    core.close()
    assert core.status().complete
    gaps = [later - sooner for sooner, later in pairwise(opened)]
    # Each is at least twice the last, up to an hour; rounds are never closer than half a pace.
    assert gaps[:4] == sorted(gaps[:4])
    assert all(gap >= 0.75 * 15.0 * 2.0**n for n, gap in enumerate(gaps[:4]))
    assert all(seconds >= 7.5 for seconds in time.slept)


class Told(PretendServer):
    """A board whose server tells a pace, and may ask to be left alone."""

    pace, streams, quiet, asked = 40, True, 0.0, 0

    async def tally(self):
        self.asked += 1
        if self.quiet:
            raise BoardUnavailable("It answered 503.", retry_after=self.quiet)
        return replace(await super().tally(), pace=self.pace, streams=self.streams)

    def stream(self, after=0):
        assert self.streams, "no stream was to be opened"
        return super().stream(after)


def waits(core, board, most, dice=lambda: 0.5):
    """How long a device with no pace of its own waits."""
    time = MockTime(most)

    async def main():
        time.main = asyncio.current_task()
        await run_forever(core, board, wake=asyncio.Event(), dice=dice, pause=time.pause)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    return time.slept


def test_the_server_tells_the_pace_and_each_device_spreads_it_by_chance(core):
    board = Told(enrolled=None)
    dice = random.Random(0)
    slept = waits(core, board, 400, dice.random)
    assert min(slept) >= 20.0
    assert max(slept) <= 60.0
    # The mean of 400 uniform waits has a standard error of 0.58 s: 5 of them are one in a million.
    assert abs(sum(slept) / len(slept) - 40.0) < 2.9


def test_no_stream_is_opened_where_the_server_wants_none(core):
    board = Told(enrolled=None)
    board.streams = False
    assert waits(core, board, 5) == [40.0] * 5


def test_a_server_that_asks_for_quiet_gets_it_and_trouble_makes_devices_quieter(core):
    board = Told(enrolled=None)
    assert waits(core, board, 1) == [40.0]
    board.quiet = 700.0
    assert waits(core, board, 3) == [1050.0] * 3
    board.quiet = 1e-9
    assert waits(core, board, 7) == [40.0, 80.0, 160.0, 320.0, 640.0, 900.0, 900.0]


@pytest.mark.parametrize("u", [0.0, 0.5, 0.999])
def test_no_failure_makes_a_device_ask_sooner_than_its_pace_would(u):
    for every in (15.0, 40.0, 1_920.0, 86_400.0):
        asked = Health(lambda: 0.0, every=every)
        for tries in range(40):
            assert Pace().wait(asked, tries + 1, u) >= Pace().wait(asked, 0, u)


def test_outcomes_of_the_contract_are_all_known():
    assert {*Outcome} == {Outcome.ACCEPTED, Outcome.DUPLICATE, Outcome.REFUSED}
