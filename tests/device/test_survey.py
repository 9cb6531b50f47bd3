"""A device of a survey: when its answer leaves, what is left of it, and that it is one for good."""

import asyncio
import logging
import shutil
from contextlib import suppress

import pytest
from tests.boards.local import scope
from tests.device.worlds import ME, URL, HandClock, PretendServer, set_up

from devote.boards.board import TallySnapshot
from devote.boards.identity import Identity
from devote.device import AsyncDevice, DeviceError, LateReward, UnclearReward, steps
from devote.device.core import Core
from devote.device.steps import Expiry
from devote.device.store import Store
from devote.device.sync import Pace, sync_once
from devote.protocol import ExperimentSpec
from devote.protocol.messages import Withdrawal
from devote.schemes import Answer
from devote.schemes.survey import Survey

AFTER = 60.0
SPEC = ExperimentSpec(arms=3, name="banner", scheme=Survey(1.0, reply_after=AFTER))
TWICE = SPEC.with_(scheme=Survey(1.0, answers=2, reply_after=AFTER))
QUICK = SPEC.with_(scheme=Survey(1.0, reply_after=1.0))


class Witness(PretendServer):
    """A board that remembers all that was posted, and is never asked for the log."""

    def __init__(self, spec=SPEC, enrolled=None):
        super().__init__(spec, players=None, enrolled=enrolled)
        self.left = []
        self.recalls = 0

    async def publish(self, envelope):
        self.left.append(envelope.message)
        return await super().publish(envelope)

    async def snapshot(self, after=0):
        raise AssertionError("a device of a survey reads the log")

    def stream(self, after=0):
        raise AssertionError("a device of a survey reads the log")

    async def sent_by(self, voter):
        self.check_up()
        self.recalls += 1
        held = (posted.envelope for posted in self.now().posted)
        return tuple(envelope for envelope in held if envelope.message.voter == voter)


def other(number, arm, bit, spec=SPEC):
    voter = Identity.from_private_bytes(number.to_bytes(32, "big"))
    return voter.sign(Answer("banner", arm, bit, 1, 0, voter.voter), scope(spec))


def sync(core, board):
    return asyncio.run(sync_once(core, board))


def new_core(path=":memory:", spec=SPEC, **options):
    return Core(set_up(path, spec, players=None), **options)


def reopen(core, **options):
    core.close()
    return Core(Store.open(core.store.path), **options)


def leaves_at(core, hand, most=200.0, step=1.0):
    """Seconds from now until there is something to send, in a loop that looks every second."""
    passed = 0.0
    while not core.waiting:
        assert passed < most, "it never leaves"
        hand.pass_(step)
        passed += step
        core.close_question()
    return passed


def test_only_the_question_wakes_the_loop_and_never_its_reward():
    hand, woken = HandClock(), []
    core = new_core(clock=hand.clock)
    core.on_message = lambda: woken.append(hand.monotonic)
    core.choose()
    hand.pass_(20.0)
    core.reward(1.0)
    for _ in range(5):
        core.reward(1.0, core.choose())
    leaves_at(core, hand)
    assert woken == [0.0]
    core.close()


@pytest.mark.parametrize("x", [None, 1.0])
@pytest.mark.parametrize("off", [1.0, 65.0, 1e6])
@pytest.mark.parametrize("jump", [0.0, -30.0, -1e6, 1e6])
def test_no_clock_that_is_set_sends_early_or_holds_an_answer_for_ever(tmp_path, x, off, jump):
    hand = HandClock()
    core = new_core(tmp_path / "device.db", clock=hand.clock)
    choice = core.choose()
    if x is not None:
        core.reward(x, choice)
    hand.pass_(off)
    hand.wall += jump
    hand.monotonic = 5.0  # another start of the machine
    core = reopen(core, clock=hand.clock)
    assert core.waiting == ()
    passed = leaves_at(core, hand)
    assert passed <= 1.25 * AFTER + 1.0
    if jump <= 0.0:
        assert off + passed >= 1.05 * AFTER
    assert [m.number for m in core.status().waiting] == [1]
    core.close()


def test_a_clock_that_was_set_back_is_believed_from_the_next_start_on(tmp_path):
    for x in (None, 1.0):
        hand = HandClock()
        core = new_core(tmp_path / f"{x}.db", clock=hand.clock)
        choice = core.choose()
        if x is not None:
            core.reward(x, choice)
        hand.wall -= 1e6
        for _ in range(16):  # each start is too short for a whole wait
            core = reopen(core, clock=hand.clock)
            hand.pass_(5.0)
            core.close_question()
        assert len(core.waiting) == 1
        core.close()


def test_a_jump_of_the_clock_changes_nothing_while_the_process_runs():
    for jump in (-1e6, 1e6):
        hand = HandClock()
        core = new_core(clock=hand.clock)
        core.choose()
        hand.wall += jump
        core.reward(1.0)
        hand.wall -= 2 * jump
        core.is_stale = True  # as after trouble with the store
        assert core.waiting == ()
        assert 1.05 * AFTER <= leaves_at(core, hand) <= 1.25 * AFTER + 1.0
        core.close()


def test_a_reward_that_comes_too_late_is_refused_and_the_question_was_answered_with_0():
    hand = HandClock()
    core = new_core(clock=hand.clock, noise=lambda: 0.99)  # says the truth
    choice = core.choose()
    hand.pass_(AFTER)
    with pytest.raises(LateReward, match="answered for"):
        core.reward(1.0, choice)
    leaves_at(core, hand)
    assert [m.bit for m in core.status().waiting] == [0]
    with pytest.raises(LateReward):
        core.reward(1.0, choice)
    core.close()


def test_a_question_that_expires_before_its_time_is_answered_with_0_at_its_time():
    hand = HandClock()
    core = new_core(clock=hand.clock, expiry=Expiry(10.0, "drop"))
    first = core.choose()
    hand.pass_(10.0)
    second = core.choose()
    assert second.play != first.play
    assert core.waiting == ()
    assert leaves_at(core, hand) >= 1.05 * AFTER - 10.0
    core.close()


def test_a_second_question_waits_for_the_first_answer_click_or_no_click():
    asked = []
    for clicks in (True, False):
        hand = HandClock()
        core = new_core(spec=TWICE, clock=hand.clock, jitter=lambda: 0.5)
        moments = []
        for _ in range(100):
            core.close_question()
            choice = core.choose()
            if core.record.player.is_asked and core.record.outbox:
                moments.append(hand.monotonic)
            if clicks:
                core.reward(1.0, choice)
            hand.pass_(1.0)
        asked.append(moments[0])
        core.close()
    assert asked[0] == asked[1] == 69.0


def test_a_reward_without_its_choice_is_not_counted_for_a_later_question():
    hand = HandClock()
    core = new_core(spec=TWICE, clock=hand.clock)
    core.choose()
    leaves_at(core, hand)
    choice = core.choose()
    assert core.record.player.is_asked
    with pytest.raises(UnclearReward):
        core.reward(1.0)
    core.reward(1.0, choice)
    core.choose()
    core.reward(1.0)  # the play is no question: its reward is not kept
    core.close()


@pytest.mark.parametrize("x", [None, 0.1234567])
def test_nothing_of_reward_or_noise_is_left_in_the_files(tmp_path, x):
    path, hand = tmp_path / "device.db", HandClock()
    core = new_core(path, clock=hand.clock, noise=lambda: 0.7654321)

    def on_disk():
        return b"".join(file.read_bytes() for file in tmp_path.iterdir())

    choice = core.choose()
    assert b"0.7654321" in on_disk()
    if x is not None:
        core.reward(x, choice)
    else:
        hand.pass_(AFTER)
        core.close_question()
    for _ in range(3):
        held = on_disk()
        assert b"0.7654321" not in held
        assert b"0.1234567" not in held
        assert choice.play.encode() + b"A" in held
        assert choice.play.encode() + b"R" not in held
        assert choice.play.encode() + b"X" not in held
        core = reopen(core, clock=hand.clock)
    core.close()


def test_a_killed_device_leaves_no_noise_behind_once_it_is_opened_again(tmp_path):
    core = new_core(tmp_path / "device.db", noise=lambda: 0.7654321)
    choice = core.choose()
    core.store.database.truncate_wal = lambda: None  # killed before it comes to that
    core.reward(1.0, choice)
    killed = tmp_path / "killed"
    killed.mkdir()
    for file in tmp_path.glob("device.db*"):
        shutil.copy(file, killed)
    core.close()
    assert any(b"0.7654321" in file.read_bytes() for file in killed.iterdir())
    core = Core(Store.open(killed / "device.db"))
    assert not any(b"0.7654321" in file.read_bytes() for file in killed.iterdir())
    core.close()


@pytest.mark.parametrize("copied", ["new", "asked", "answered"])
def test_a_store_that_was_put_back_never_says_another_bit(tmp_path, copied):
    board, hand = Witness(), HandClock()
    path, copy = tmp_path / "device.db", tmp_path / "copy.db"
    core = new_core(path, clock=hand.clock, noise=lambda: 0.1)

    def keep(moment):
        if moment == copied:
            core.store.database.truncate_wal()
            shutil.copy(path, copy)

    keep("new")
    choice = core.choose(u=0.0)
    keep("asked")
    core.reward(0.0, choice)
    keep("answered")
    leaves_at(core, hand)
    assert sync(core, board)
    core.close()
    again = Core(Store.open(copy), clock=hand.clock, noise=lambda: 0.9)
    for _ in range(5):  # before it is online, with other dice, other noise and another reward
        choice = again.choose(u=0.9)
        again.reward(1.0, choice)
        hand.pass_(AFTER)
        again.close_question()
    hand.pass_(100 * AFTER)
    for _ in range(3):
        assert sync(again, board)
        again.choose()
        hand.pass_(2 * AFTER)
        again.close_question()
    assert len(set(board.left)) == 1
    assert board.now().number == 1
    assert again.status().waiting == ()
    assert again.status().sent == tuple(set(board.left))
    assert board.recalls == 1
    again.close()


def test_nothing_is_sent_before_the_board_has_shown_what_it_holds(tmp_path):
    board, hand = Witness(), HandClock()
    core = new_core(tmp_path / "device.db", clock=hand.clock)
    core.choose()
    core = reopen(core, clock=hand.clock)
    leaves_at(core, hand)
    board.crash()
    assert not sync(core, board)
    assert board.left == []
    board.restart()
    assert sync(core, board)
    assert len(board.left) == 1
    core.close()


def test_what_a_board_claims_that_a_device_has_sent_counts_only_if_it_is_signed(tmp_path):
    board, hand = Witness(), HandClock()
    core = new_core(tmp_path / "device.db", clock=hand.clock)
    core.choose(u=0.0)
    core = reopen(core, clock=hand.clock)
    forged = other(5, 2, 1)
    core.recall([forged, type(forged)(Answer("banner", 2, 1, 1, 0, ME.voter), forged.signature)])
    leaves_at(core, hand)
    assert sync(core, board)
    assert [m.arm for m in board.left] == [0]
    core.close()


def test_after_its_answer_a_device_plays_who_leads_and_then_who_has_won():
    board, hand = Witness(SPEC.with_(epsilon=0.9, scheme=Survey(None))), HandClock()
    core = new_core(spec=board.spec, clock=hand.clock)
    assert core.best() is None
    assert not core.status().complete
    asyncio.run(board.publish(other(1, 2, 1, board.spec)))
    assert sync(core, board)
    status = core.status()
    assert (status.complete, status.state, status.answer[0]) == (True, "open", 2)
    core.reward(0.0, core.choose())
    for _ in range(3):
        choice = core.choose()
        assert choice == 2
        core.reward(0.0, choice)
    number = 10
    while board.ledger.tally.status() == "open":
        for arm, bit in ((0, 0), (1, 1), (2, 0)):
            asyncio.run(board.publish(other(number, arm, bit, board.spec)))
            number += 1
    assert sync(core, board)
    assert core.best() == core.choose() == 1
    assert core.status().state == "agreed"
    core.close()


def answers_of_others(board, bits, until):
    """Answers of one device each, one about each arm in turn, until the board's tally is so."""
    number = 10
    while not until(board.ledger.tally):
        for arm, bit in enumerate(bits):
            asyncio.run(board.publish(other(number, arm, bit, board.spec)))
            number += 1


def test_a_device_draws_among_the_arms_asked_about_and_names_its_snapshot(tmp_path):
    board, hand = Witness(SPEC.with_(epsilon=0.5, scheme=Survey(None))), HandClock()
    answers_of_others(board, (0, 1, 1), lambda tally: tally.asked == (1, 2))
    assert board.ledger.tally.shared == (0, 1, 2)
    snapshot = len(board.ledger.tally)
    core = new_core(tmp_path / "device.db", spec=board.spec, clock=hand.clock)
    assert sync(core, board)
    assert core.choose(u=0.0) == 1
    asyncio.run(board.publish(other(99, 2, 1, board.spec)))
    assert sync(core, board)  # what is read later changes neither arm nor snapshot
    core = reopen(core, clock=hand.clock)  # nor does a restart
    leaves_at(core, hand)
    assert board.recalls == 0
    assert sync(core, board)
    assert board.recalls == 1
    sent = [message for message in board.left if message.voter == ME.voter]
    assert [(message.arm, message.seen) for message in sent] == [(1, snapshot)]
    core.close()


def test_an_answer_is_sent_and_counted_though_its_arm_is_not_asked_about_any_more():
    board, hand = Witness(SPEC.with_(epsilon=0.5, scheme=Survey(None))), HandClock()
    core = new_core(spec=board.spec, clock=hand.clock)
    choice = core.choose(u=0.0)
    assert choice == 0
    answers_of_others(board, (0, 1, 1), lambda tally: 0 not in tally.asked)
    before = board.ledger.tally.counts
    leaves_at(core, hand)
    assert sync(core, board)
    assert board.ledger.tally.counts == (before[0] + 1, *before[1:])
    assert [message.arm for message in core.status().sent] == [0]
    assert board.left[-1].seen == 0, "it had read no tally when it drew"
    core.close()


def test_an_arm_that_is_withdrawn_while_it_awaits_its_reward_is_not_shown_again(tmp_path):
    board, hand = Witness(SPEC.with_(epsilon=0.5, scheme=Survey(None))), HandClock()
    core = new_core(tmp_path / "device.db", spec=board.spec, clock=hand.clock)
    shown = core.choose(u=0.0)
    assert core.choose() == shown == 0
    assert board.ledger.tally.add(Withdrawal("banner", arm=0, voter="operator"))
    assert sync(core, board)
    core = reopen(core, clock=hand.clock)
    instead = core.choose()
    assert (instead == 0, instead.play) == (False, "")
    core.reward(1.0, instead)  # nothing is learned from it
    core.reward(1.0, shown)  # the question is still open
    leaves_at(core, hand)
    assert sync(core, board)
    assert [(message.arm, message.bit) for message in core.status().sent] == [(0, 1)]
    core.close()


def test_an_answer_to_a_survey_that_is_decided_is_not_sent_and_the_device_goes_on():
    board, hand = Witness(SPEC.with_(epsilon=0.9, scheme=Survey(None))), HandClock()
    core = new_core(spec=board.spec, clock=hand.clock)
    core.choose(u=0.0)
    answers_of_others(board, (0, 1, 0), lambda tally: tally.status() == "agreed")
    before = len(board.left)
    leaves_at(core, hand)
    assert sync(core, board)
    assert len(board.left) == before
    status = core.status()
    assert (status.sent, status.waiting, status.degraded) == ((), (), ())
    assert core.record.player.answers_left == 0
    assert core.choose() == core.best() == 1
    core.close()


def test_a_board_that_was_put_back_is_offered_the_answer_again_which_is_still_shown_as_sent():
    board, hand = Witness(), HandClock()
    core = new_core(clock=hand.clock)
    core.choose()
    leaves_at(core, hand)
    for _ in range(2):
        assert sync(core, board)
    (sent,) = core.status().sent
    older = Witness()
    core.change(steps.read_tally, asyncio.run(older.tally()))
    assert core.status().sent == core.status().waiting == (sent,)
    assert sync(core, older)
    assert older.left == board.left
    assert older.now().number == 1
    core.close()


GOOD = {"status": "open", "answer": [1, 0], "shared": [0, 1], "asked": [0, 1], "snapshot": 1}


@pytest.mark.parametrize(
    "tally",
    [
        {},
        {"status": "agreed", "answer": [0, 1], "shared": [0, 1]},
        {"status": "open", "answer": [7], "shared": [7]},
        {"status": "open", "answer": [0, 1, 2], "shared": [0, 1]},
        {"status": ["x"], "answer": [0], "shared": [0]},
        GOOD | {"status": "agreed"},
        GOOD | {"answer": [0, 1, 2]},
        GOOD | {"asked": []},
        GOOD | {"asked": [0, 2]},
        GOOD | {"asked": [1, 1]},
        GOOD | {"asked": ["0"]},
        {name: value for name, value in GOOD.items() if name != "asked"},
        {name: value for name, value in GOOD.items() if name != "snapshot"},
        GOOD | {"snapshot": -1},
        GOOD | {"snapshot": 1.0},
        GOOD | {"snapshot": 2**54},
        GOOD | {"snapshot": True},
    ],
)
def test_a_tally_that_is_none_is_reported_and_nothing_is_sent(tally):
    board, hand = Witness(), HandClock()
    core = new_core(clock=hand.clock)
    core.choose()
    leaves_at(core, hand)

    async def lie():
        return TallySnapshot.of(scope(SPEC), 1, tally)

    board.tally = lie
    assert not sync(core, board)
    assert "not the public tally" in core.status().degraded[0]
    assert board.left == []
    assert not core.status().complete
    tally = GOOD
    assert sync(core, board), "else nothing is shown"
    core.close()


def test_nothing_private_is_shown_or_logged(caplog):
    board, hand = Witness(), HandClock()
    shown = []
    with caplog.at_level(logging.DEBUG):
        for x in (None, 0.0, 1.0):
            core = new_core(clock=hand.clock, noise=lambda: 0.123456, jitter=lambda: 0.5)
            choice = core.choose(u=0.0)
            if x is not None:
                core.reward(x, choice)
            status = core.status()
            shown.append((repr(status), str(status)))
            assert "0.123456" not in repr(core) + repr(status)
            core.close()
    assert len(set(shown)) == 1
    assert not [record for record in caplog.records if record.name.startswith("devote")]
    assert board.left == []


def test_an_expiry_longer_than_the_reply_is_refused_before_anything_is_stored(tmp_path):
    async def main():
        board = Witness()
        with pytest.raises(DeviceError, match=r"expire_after=90 is longer than reply_after=60"):
            await AsyncDevice.join(
                URL, store=tmp_path / "device.db", board=board, expire_after=90.0
            )
        assert not (tmp_path / "device.db").exists()
        assert board.enrolled is None
        device = await AsyncDevice.join(
            URL, store=tmp_path / "device.db", board=Witness(), expire_after=60.0
        )
        await device.close()

    asyncio.run(main())


@pytest.mark.parametrize("clicks", [True, False])
def test_an_answer_leaves_in_the_background_though_nobody_ever_asks_again(tmp_path, clicks):
    async def main():
        board = Witness(QUICK)
        pace = Pace(every=1e6)
        device = await AsyncDevice.join(URL, store=tmp_path / "d.db", board=board, pace=pace)
        async with asyncio.timeout(20), device:
            choice = await device.choose()
            if clicks:
                with suppress(LateReward):  # on a slow machine
                    await device.reward(1.0, choice)
            while not device.status().sent:
                await asyncio.sleep(0.01)
            assert [m.arm for m in board.left] == [choice]
        assert board.closed

    asyncio.run(main())


def test_a_device_that_is_closed_sends_its_answer_at_its_time_after_the_next_start(tmp_path):
    async def main():
        board = Witness(QUICK)
        options = {"store": tmp_path / "d.db", "board": board, "pace": Pace(every=1e6)}
        async with asyncio.timeout(20):
            device = await AsyncDevice.join(URL, **options)
            await device.choose()
            await device.close()
            assert board.left == []
            device = await AsyncDevice.join(URL, **options)
            while not device.status().sent:
                await asyncio.sleep(0.01)
            await device.close()
        assert len(board.left) == 1

    asyncio.run(main())
