"""The chance that a device draws: from the operating system, once a question, exactly as promised.

The device that ships is driven here, on clocks and random bytes that a test holds. Each test is
exact: nothing is a matter of probability, so none can fail by chance or miss by chance.
"""

import asyncio
import json
import math
import random
from itertools import count

import pytest
from tests.boards.local import here
from tests.device.worlds import ME, URL, HandClock, PretendServer, joined, set_up

from devote.device import AsyncDevice, Device, steps
from devote.device.core import Core
from devote.device.store import Store
from devote.device.sync import run_forever
from devote.protocol import ExperimentSpec
from devote.schemes import Jury, Survey

AFTER = 60.0
GRID = 2**53


def survey(privacy=1.0, answers=1, name="banner", arms=3):
    scheme = Survey(privacy, answers=answers, reply_after=AFTER)
    return ExperimentSpec(arms=arms, name=name, scheme=scheme)


@pytest.fixture
def drawn(monkeypatch):
    """All that is drawn from the operating system; no two draws are the same."""
    numbers, found = count(1), []

    def scripted(size):
        found.append(random.Random(next(numbers)).randbytes(size))
        return found[-1]

    monkeypatch.setattr(random, "_urandom", scripted)  # from which ``SystemRandom`` reads
    return found


def uniforms(drawn):
    """The bytes as ``random`` makes numbers in [0, 1) of them: 53 of the bits of 7 bytes."""
    return [(int.from_bytes(each) >> 3) / GRID for each in drawn if len(each) == 7]


def stored_noise(core):
    """The noise of the pending question, as it is in the file."""
    with core.store.database.read() as db:
        ((text,),) = db.execute("SELECT player FROM device").fetchall()
    return json.loads(text)["own"]["noise"]


def test_noise_arm_and_moment_are_numbers_of_the_operating_system_each_drawn_for_one_question(
    tmp_path, drawn, monkeypatch
):
    """Two devices in each of two experiments, all in one process, with two questions each."""
    hand, noises, jitters = HandClock(), [], []
    for n, name in enumerate(("one", "two", "one", "two")):
        spec = survey(answers=2, name=name)
        board = PretendServer(spec, players=None, enrolled=None)
        url = URL.replace("banner", name)
        with Device.join(url, store=tmp_path / f"{n}.db", board=board, clock=hand.clock) as device:
            for _ in range(2):
                choice = device.choose()
                noises.append(stored_noise(device.core))
                leaves_in = device.status().reply_in
                jitters.append((leaves_in / AFTER - 1.05) / 0.2)
                device.reward(1.0, choice)
                hand.pass_(2 * AFTER)
                assert device.sync()
    assert len(set(noises)) == len(noises) == 8, "a number was used twice"
    made = uniforms(drawn)
    assert set(noises) <= set(made), "noise that is not the operating system's"
    for jitter in jitters:
        assert min(abs(jitter - u) for u in made) < 1e-6, "a moment that is not"


def test_an_arm_is_drawn_with_a_number_of_the_operating_system(tmp_path, drawn):
    spec = survey(arms=200)

    async def main():
        board = PretendServer(spec, players=None, enrolled=None)
        async with await AsyncDevice.join(URL, store=tmp_path / "d.db", board=board) as device:
            before = len(drawn)
            return before, await device.choose()

    before, choice = asyncio.run(main())
    assert choice in {int(200 * u) for u in uniforms(drawn[before:])}


def test_a_private_juror_draws_its_noise_from_the_operating_system(tmp_path, drawn):
    jury = Jury(seats=1, seat_after=1, privacy=1.0, vote_after=20)
    spec = ExperimentSpec(arms=3, name="banner", eta=0.05, delta=0.9, scheme=jury)
    board = PretendServer(spec, enrolled=None)
    with Device.join(URL, store=tmp_path / "d.db", board=board) as device:
        for _ in range(19):
            device.reward(0.5, device.choose())
            assert device.sync()
        before = len(drawn)
        device.choose()
        (_, pick) = (*device.status().sent, *device.status().waiting)
    # It has eliminated nothing, so the noise alone names the arm.
    assert pick.arm in {int(3 * u) for u in uniforms(drawn[before:])}


def bit(privacy, x, noise, answers=1):
    """The bit that a device makes of a reward with this noise."""
    core = Core(set_up(spec=survey(privacy, answers), players=None), noise=lambda: noise)
    core.reward(x, core.choose())
    (entry,) = core.record.outbox.values()
    core.close()
    return entry.envelope.message.bit


@pytest.mark.parametrize("answers", [1, 2])
@pytest.mark.parametrize("privacy", [0.5, 1.0, 3.0])
def test_the_coin_is_exact_on_the_device(privacy, answers):
    """The bit is 1 for just those values of the noise that the promise allows: found by halving."""
    e = privacy / answers
    truth = math.exp(e) / (1.0 + math.exp(e))
    for x in (0.0, 0.25, 1.0):
        probability = (1.0 - truth) + x * (2.0 * truth - 1.0)
        ones, zeros = 0, GRID
        while zeros - ones > 1:
            middle = (ones + zeros) // 2
            if bit(privacy, x, middle / GRID, answers):
                ones = middle
            else:
                zeros = middle
        assert zeros / GRID == pytest.approx(probability, abs=1e-13)
        if x == 1.0:
            assert zeros / GRID <= truth, "more of the truth than the promise allows"


def test_each_question_has_noise_of_its_own_and_spends_it_once():
    """Two questions: the second bit is made of the second draw, whatever was paid for the first."""
    for first in (0.0, 1.0):
        for noises in ((0.1, 0.9), (0.9, 0.1)):
            draws, hand = iter(noises), HandClock()
            store = set_up(spec=survey(answers=2), players=None)
            core = Core(store, noise=lambda draws=draws: next(draws), clock=hand.clock)
            for x in (first, 1.0):
                core.reward(x, core.choose())
                hand.pass_(2 * AFTER)
            assert [message.bit for message in core.record.outbox] == [n < 0.5 for n in noises]
            core.close()


N_DEVICES = 200


def leaving(seed, clicks):
    """When each of 200 devices was to answer by what it drew, and when its answer was posted."""
    dice = random.Random(seed)
    planned, seen = [], []
    for n in range(N_DEVICES):
        hand, jitter, spec = HandClock(), dice.random(), survey()
        store = joined(Store.open(":memory:"), here(spec), ME)
        core = Core(store, clock=hand.clock, jitter=lambda jitter=jitter: jitter)
        choice, began = core.choose(), hand.monotonic
        planned.append(began + AFTER * (1.05 + 0.2 * jitter))
        clicked_at = dice.uniform(0.0, AFTER) if clicks(n) else math.inf
        seen.append(_posted_at(core, hand, choice, clicked_at))
        core.close()
    return planned, seen


def _posted_at(core, hand, choice, clicked_at):
    """Run the loop that ships, on a clock by hand, until the answer has reached the board."""
    board = PretendServer(core.record.spec, players=None, enrolled=None)
    posted = []

    async def publish(envelope):
        posted.append(hand.monotonic)
        return await PretendServer.publish(board, envelope)

    board.publish = publish
    clicks = [clicked_at]

    async def pause(seconds, wake):
        if posted:
            raise asyncio.CancelledError
        if clicks and hand.monotonic <= clicks[0] < hand.monotonic + seconds:
            passed = clicks[0] - hand.monotonic
            hand.pass_(passed)
            clicks.clear()
            core.reward(1.0, choice)
            assert core.status().waiting == ()
            seconds -= passed
        hand.pass_(seconds)

    async def main():
        core.on_message = lambda: None
        await run_forever(core, board, wake=asyncio.Event(), dice=lambda: 0.5, pause=pause)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    return posted[0]


@pytest.mark.parametrize("clicks", [lambda n: True, lambda n: False, lambda n: n % 2])
def test_answers_leave_at_the_drawn_moment_click_or_no_click(clicks):
    """To a millisecond on 200 devices; a mutant that is 30 ms off after a click is far outside."""
    planned, seen = leaving(7, clicks)
    assert max(abs(a - b) for a, b in zip(planned, seen, strict=True)) < 1e-3


def test_the_loop_looks_at_the_same_moments_click_or_no_click():
    moments = []
    for clicked in (False, True):
        hand = HandClock()
        core = Core(set_up(spec=survey(), players=None), clock=hand.clock, jitter=lambda: 0.5)
        choice = core.choose()
        found = []
        if clicked:
            hand.pass_(10.0)
            core.reward(1.0, choice)
        while (wait := steps.next_in(core.record, core.now())) is not None:
            hand.pass_(wait)
            core.close_question()
            found.append(round(hand.monotonic, 6))
        moments.append(found)
        core.close()
    assert moments[0] == moments[1] == [AFTER, 1.15 * AFTER]
