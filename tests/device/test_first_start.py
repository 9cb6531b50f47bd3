"""The first start: without a network, with terms of its own, and of many devices in one process."""

import asyncio
import contextlib
import threading
import time

import pytest
from tests.boards.local import here
from tests.device.fault_run import drive
from tests.device.server_process import ServerProcess
from tests.device.worlds import SPEC, URL, HandClock, PretendServer, play_until_vote, set_up, vote

from devote.boards.board import BoardUnavailable, TallySnapshot
from devote.device import (
    AsyncDevice,
    Choice,
    Client,
    Device,
    DeviceError,
    JoinError,
    JoinRefused,
    steps,
)
from devote.device.core import Core
from devote.device.sync import Pace, sync_once
from devote.protocol import ExperimentSpec
from devote.schemes import Jury, Survey

QUICK = Pace(every=0.2, base=0.02, cap=0.1)
NAMED = SPEC.with_(arms=("rose", "green", "blue"))


def until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def away():
    board = PretendServer(NAMED)
    board.crash()
    return board


@pytest.mark.parametrize(
    ("fallback", "arm", "name"), [("green", -1, "green"), (1, 1, "")], ids=["name", "number"]
)
def test_a_first_start_offline_plays_the_fallback_and_joins_later_by_itself(
    tmp_path, fallback, arm, name
):
    board = away()
    store = tmp_path / "device.db"
    with Device.join(URL, store=store, board=board, pace=QUICK, fallback=fallback) as device:
        choice = device.choose()
        assert (choice, choice.name, choice.play) == (arm, name, "")
        for rewarded in (choice, choice.play, None):
            device.reward(1.0, rewarded)  # nothing is learned, and nothing is raised
        assert device.pending() is None
        assert device.best() is None
        assert device.arms == ()
        assert not device.sync()
        status = device.status()
        assert (status.joined, status.experiment, status.state) == (False, "banner", "open")
        assert "offline since" in status.freshness
        assert status.degraded
        assert "not joined" in str(status)
        board.restart()
        until(lambda: device.status().joined)
        assert device.arms == ("rose", "green", "blue")
        assert device.status().degraded == ()
        device.reward(1.0, choice)  # of the fallback: it counts for nothing
        assert device.core.record.player.activations == 0
        play_until_vote(device.core)
        until(lambda: device.status().sent)
    with Device.join(URL, store=store, board=away(), fallback=fallback) as device:
        assert device.status().joined
        assert isinstance(device.choose(), Choice)


def test_without_a_fallback_a_first_start_offline_is_an_error_that_leaves_nothing(tmp_path):
    with pytest.raises(JoinError, match="first join needs the board"):
        Device.join(URL, store=tmp_path / "device.db", board=away())
    assert list(tmp_path.iterdir()) == []


def test_a_device_that_is_closed_before_it_could_join_leaves_nothing(tmp_path):
    Device.join(URL, store=tmp_path / "device.db", board=away(), fallback=0).close()
    assert list(tmp_path.iterdir()) == []


def test_a_key_that_may_have_been_enrolled_is_kept_until_the_join_has_worked(tmp_path):
    class Losing(PretendServer):
        keys = ()

        async def enrol(self, identity, invite=None):
            self.keys = (*self.keys, identity.voter)
            await super().enrol(identity, invite)
            raise BoardUnavailable("The answer was lost.")

    store, board = tmp_path / "device.db", Losing()
    with Device.join(URL, store=store, board=board, pace=QUICK, fallback=0) as device:
        until(lambda: len(board.keys) > 2)
        assert not device.status().joined
    assert len(set(board.keys)) == 1
    with Device.join(URL, store=store, board=PretendServer()) as device:
        assert {device.status().voter} == set(board.keys)


def test_a_join_that_is_refused_is_said_and_tried_again(tmp_path):
    board = PretendServer()
    options = {"store": tmp_path / "device.db", "board": board, "pace": QUICK, "fallback": 0}
    with Device.join(URL, invite="wrong", **options) as device:
        assert "invite" in device.status().degraded[0]
        board.invites.add("wrong")
        until(lambda: device.status().joined)


def test_trouble_with_the_store_is_an_error_also_with_a_fallback(tmp_path):
    (tmp_path / "device.db").write_bytes(b"not a database at all " * 500)
    with pytest.raises(Exception, match="is not a SQLite file"):
        Device.join(URL, store=tmp_path / "device.db", board=away(), fallback=0)


def test_an_option_that_there_is_not_is_refused_before_anything_is_made(tmp_path):
    with pytest.raises(TypeError, match="unexpected keyword argument 'fall_back'"):
        Device.join(URL, store=tmp_path / "device.db", fall_back=0)
    assert list(tmp_path.iterdir()) == []


WEAK = [
    (SPEC, "no proved privacy"),
    (SPEC.with_(scheme=Survey(None)), "no proved privacy"),
    (SPEC.with_(scheme=Survey(2.0)), "privacy=2"),
    (SPEC.with_(scheme=Survey(1.0000001)), "privacy=1"),
    (SPEC.with_(scheme=Jury(seats=30)), "no proved privacy"),
]


class Counting(PretendServer):
    """A board that counts what is sent to it."""

    sent = 0

    async def enrol(self, identity, invite=None):
        self.sent += 1
        return await super().enrol(identity, invite)

    async def publish(self, envelope):
        self.sent += 1
        return await super().publish(envelope)


@pytest.mark.parametrize(("spec", "offered"), WEAK, ids=lambda value: str(value)[:20])
def test_a_specification_weaker_than_pinned_is_refused_before_anything_is_stored(
    tmp_path, spec, offered
):
    board = Counting(spec, players=None)
    with pytest.raises(JoinRefused, match=f"offers {offered}.*accepts at most privacy=1"):
        Device.join(URL, store=tmp_path / "device.db", board=board, privacy=1.0)
    assert board.sent == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("privacy", [1.0, 4.0])
def test_a_specification_that_is_as_private_as_pinned_is_joined(tmp_path, privacy):
    spec = SPEC.with_(scheme=Survey(1.0, answers=2))
    options = {"store": tmp_path / "d.db", "board": PretendServer(spec, players=None)}
    pins = {"privacy": privacy, "fingerprint": spec.fingerprint}
    with Device.join(URL, **options, **pins) as device:
        assert device.status().joined
    with Device.join(URL, **options, **pins) as device:
        assert device.status().joined


def test_another_specification_than_pinned_is_refused_also_of_a_store_that_has_joined(tmp_path):
    store, board = tmp_path / "device.db", Counting()
    with pytest.raises(JoinRefused, match="accepts only"):
        Device.join(URL, store=store, board=board, fingerprint="0" * 64)
    assert board.sent == 0
    assert not store.exists()
    Device.join(URL, store=store, board=board).close()
    for pins in ({"fingerprint": "0" * 64}, {"privacy": 1.0}):
        with pytest.raises(JoinRefused):
            Device.join(URL, store=store, board=board, **pins)
    Device.join(URL, store=store, board=board, fingerprint=SPEC.fingerprint).close()


def test_a_weaker_specification_is_not_joined_in_the_background_either(tmp_path):
    board = Counting()
    board.crash()
    options = {"store": tmp_path / "device.db", "board": board, "pace": QUICK}
    with Device.join(URL, **options, fallback=0, privacy=1.0) as device:
        board.restart()
        until(lambda: "accepts at most" in "".join(device.status().degraded))
        assert not device.status().joined
        assert device.choose() == 0
    assert board.sent == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("privacy", [0.0, -1.0, float("nan")])
def test_a_pin_that_makes_no_sense_is_refused(tmp_path, privacy):
    with pytest.raises(DeviceError, match="must be more than 0"):
        Device.join(URL, store=tmp_path / "device.db", board=PretendServer(), privacy=privacy)
    assert list(tmp_path.iterdir()) == []


def test_what_has_left_is_still_shown_after_a_board_has_lost_it(tmp_path):
    """After a rollback ``sent`` said 0, although the message had left the device."""
    board = PretendServer(enrolled=None)
    core = Core(set_up(tmp_path / "device.db"))
    drive(board.publish(vote(1, 1)))
    play_until_vote(core)
    assert drive(sync_once(core, board))
    sent = core.status().sent
    assert sent
    core.change(steps.rewind, forget=True)
    assert core.status().sent == core.status().waiting == sent
    core.close()


def test_an_answer_that_a_restored_survey_has_lost_is_still_shown_as_sent():
    spec = ExperimentSpec(arms=3, name="banner", scheme=Survey(1.0))
    board, hand = PretendServer(spec, players=None, enrolled=None), HandClock()
    core = Core(set_up(spec=spec, players=None), clock=hand.clock)
    core.choose()
    hand.pass_(100.0)
    core.close_question()
    for _ in range(2):
        assert drive(sync_once(core, board))
    (sent,) = core.status().sent
    tally = drive(board.tally())
    core.change(steps.read_tally, TallySnapshot.of(tally.scope, 0, tally.tally))
    assert core.status().sent == (sent,)
    assert core.status().waiting == (sent,)
    core.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    specs = (here(SPEC, "open", None), here(SPEC.with_(name="other"), "open", None))
    server = ServerProcess(folder / "server.db", *specs)
    server.start()
    yield server
    server.kill()


def test_many_devices_in_two_experiments_share_one_thread_and_one_pool(server, tmp_path):
    before = threading.active_count()
    urls = [server.url("banner"), server.url("other")]
    with Client(tmp_path / "devices") as client:
        devices = [client.device(url, user=f"user {n}") for n in range(12) for url in urls]
        assert threading.active_count() == before + 1
        assert len({device.status().voter for device in devices}) == 24
        for device in devices:
            play_until_vote(device.core)
        until(lambda: all(device.status().sent for device in devices))
        assert client.device(urls[0], user="user 3").status().voter == devices[6].status().voter
        devices[0].close()
        voter = devices[0].status().voter
        again = client.device(urls[0], user="user 0")
        assert again.status().voter == voter
    assert threading.active_count() == before
    names = [path.name for path in (tmp_path / "devices").rglob("*") if path.is_file()]
    assert len(names) == 24
    assert not any("user" in name for name in names)
    with Client(tmp_path / "devices") as client:
        assert client.device(urls[0], user="user 0").status().voter == voter


def test_threads_that_ask_for_one_user_at_once_get_one_device(server, tmp_path):
    with Client(tmp_path) as client:
        voters = []

        def ask():
            voters.append(client.device(server.url("banner"), user="one").status().voter)

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(voters) == 8
        assert len(set(voters)) == 1


def test_a_client_s_device_that_could_not_join_can_be_asked_for_again(tmp_path):
    with Client(tmp_path) as client:
        for _ in range(2):
            with pytest.raises(JoinError):
                client.device(URL, board=away())
        with client.device(URL, board=away(), fallback="green") as device:
            assert device.choose().name == "green"
        assert client.device(URL, board=PretendServer()).status().joined


def test_an_async_device_starts_offline_too(tmp_path):
    async def main():
        board = away()
        options = {"board": board, "pace": QUICK, "fallback": "rose"}
        async with await AsyncDevice.join(URL, store=tmp_path / "d.db", **options) as device:
            choice = await device.choose()
            assert choice.name == "rose"
            await device.reward(1.0, choice)
            assert await device.pending() is None
            board.restart()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(20):
                    while not device.status().joined:
                        await asyncio.sleep(0.01)
            assert (await device.choose()).play

    asyncio.run(main())
