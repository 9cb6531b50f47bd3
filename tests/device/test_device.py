"""The four verbs, blocking and not; joining, offline and in bad company."""

import asyncio
import http.server
import socket
import threading
import time
from dataclasses import replace

import pytest
from tests.boards.local import here
from tests.device.server_process import ServerProcess
from tests.device.worlds import SPEC, PretendServer, play_until_vote, vote

from devote.boards.board import BoardUnavailable
from devote.device import (
    AsyncDevice,
    Device,
    DeviceError,
    JoinError,
    JoinRefused,
    StoreBusy,
    StoreMismatch,
)
from devote.device.sync import Pace

URL = "http://127.0.0.1:9/experiments/banner"
QUICK = Pace(every=0.2, base=0.02, cap=0.1)


@pytest.fixture
def store(tmp_path):
    return tmp_path / "device.db"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = ServerProcess(
        tmp_path_factory.mktemp("server") / "server.db",
        here(SPEC, "invite", 3),
        here(SPEC.with_(name="open"), "open", 3),
    )
    server.start()
    yield server
    server.kill()


def until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_four_verbs_against_a_real_server_by_invite(server, store):
    (invite,) = server.invites(1)
    with Device.join(server.url(), store=store, invite=invite, pace=QUICK) as device:
        assert device.arms == ("0", "1", "2")
        arm = device.choose()
        assert device.choose() == arm
        device.reward(True)
        play_until_vote(device.core)
        until(lambda: not device.status().waiting)
        until(lambda: device.status().complete)
        status = device.status()
        assert status.sent
        assert status.freshness.startswith("synced ")
        assert not status.degraded
        assert device.best() is None
    with Device.join(server.url(), store=store) as device:
        assert device.status().sent == status.sent
        assert device.sync()


def test_three_devices_agree_over_http(server, tmp_path):
    url = server.url("open")
    devices = [Device.join(url, store=tmp_path / f"{i}.db", pace=QUICK) for i in range(3)]
    try:
        for _ in range(2000):
            for device in devices:
                device.reward(1.0 if device.choose() == 2 else 0.0)
            if all(device.best() is not None for device in devices):
                break
            time.sleep(0.005)
        assert [device.best() for device in devices] == [2, 2, 2]
        until(lambda: all(device.status().state == "agreed" for device in devices))
    finally:
        for device in devices:
            device.close()
    devices[0].close()


def test_an_invite_that_is_used_up_is_refused_and_the_same_device_may_come_again(server, tmp_path):
    (invite,) = server.invites(1)
    Device.join(server.url(), store=tmp_path / "a.db", invite=invite).close()
    Device.join(server.url(), store=tmp_path / "a.db", invite=invite).close()
    with pytest.raises(JoinError, match="invite"):
        Device.join(server.url(), store=tmp_path / "b.db", invite=invite)


def test_an_experiment_that_is_not_there_is_said_plainly(server, store):
    with pytest.raises(JoinError, match="404"):
        Device.join(server.url("nothing"), store=store)


def test_a_server_that_is_not_there_is_an_error_the_first_time_only(store):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: connecting is refused
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/experiments/banner"
        with pytest.raises(JoinError, match="first join needs the board"):
            Device.join(url, store=store)
        Device.join(URL, store=store, board=PretendServer()).close()
        with Device.join(url, store=store, pace=QUICK) as device:
            device.choose()
            device.reward(1.0)
            until(lambda: "offline since" in device.status().freshness)
            assert device.best() is None


@pytest.mark.parametrize("url", ["banner", "ftp://127.0.0.1/experiments/banner", ""])
def test_an_address_that_is_none_is_refused(store, url):
    with pytest.raises(JoinError, match="not the address of an experiment"):
        Device.join(url, store=store)


@pytest.mark.parametrize(
    ("headers", "body", "said"),
    [
        ({}, b"<html>Welcome to the hotel</html>", "not a devote server"),
        ({}, b"", "not a devote server"),
        ({"Devote-Version": "99"}, b"{}", "version"),
        ({"Devote-Version": "2"}, b"\xff\xfe garbage", "not a devote server"),
        ({"Devote-Version": "2"}, b"[1, 2]", "not a devote server"),
    ],
)
def test_a_server_that_is_not_ours_of_another_version_or_answers_garbage(
    store, headers, body, said
):
    class Stranger(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger) as stranger:
        thread = threading.Thread(target=stranger.serve_forever, args=(0.01,))
        thread.start()
        url = f"http://127.0.0.1:{stranger.server_port}/experiments/banner"
        try:
            with pytest.raises(JoinError, match=said):
                Device.join(url, store=store)
            Device.join(URL, store=store, board=PretendServer()).close()
            with Device.join(url, store=store, pace=QUICK) as device:
                until(lambda: device.status().degraded)
                assert said in device.status().degraded[0]
                device.choose()
        finally:
            stranger.shutdown()
            thread.join()


def test_two_devices_on_one_store_are_refused_and_the_first_goes_on(store):
    with Device.join(URL, store=store, board=PretendServer()) as device:
        with pytest.raises(StoreBusy):
            Device.join(URL, store=store, board=PretendServer())
        device.choose()


def test_a_store_of_another_experiment_is_refused(store):
    Device.join(URL, store=store, board=PretendServer()).close()
    other = "http://127.0.0.1:9/experiments/other"
    with pytest.raises(StoreMismatch, match="belongs to experiment 'banner', not to 'other'"):
        Device.join(other, store=store, board=PretendServer(SPEC.with_(name="other")))


def test_a_spec_that_changed_under_a_running_device_is_visible_and_nothing_is_lost(store):
    board = PretendServer()
    with Device.join(URL, store=store, board=board, pace=QUICK) as device:
        until(lambda: device.status().complete)
        board.experiment = here(SPEC.with_(epsilon=0.3), players=3)
        board.crash()
        until(lambda: device.status().offline_since is not None)
        play_until_vote(device.core)
        board.restart()
        until(lambda: device.status().degraded)
        assert "specification has changed" in device.status().degraded[0]
        assert device.status().waiting
        device.choose()
        board.experiment = here(SPEC, players=3)
        until(lambda: not device.status().waiting)


def test_a_device_not_yet_enrolled_enrols_again_with_the_same_key(store):
    board = PretendServer()
    with pytest.raises(JoinError, match="invite"):
        Device.join(URL, store=store, invite="wrong", board=board)
    board.invites.add("right")
    with Device.join(URL, store=store, invite="right", board=board) as device:
        voter = device.status().voter
    with Device.join(URL, store=store, board=PretendServer()) as device:
        assert device.status().voter == voter


def test_a_first_join_that_is_refused_leaves_nothing_behind(server, tmp_path):
    for url, invite in (
        (server.url("nothing"), None),
        (server.url(), None),
        (server.url(), "wrong"),
        (URL, None),
    ):
        with pytest.raises(JoinError):
            Device.join(url, store=tmp_path / "device.db", invite=invite)
        assert list(tmp_path.iterdir()) == []


def test_a_refused_join_leaves_a_store_alone_that_was_there_before(store):
    board = LosingAnswers()
    with pytest.raises(JoinError, match="first join needs the board"):
        Device.join(URL, store=store, board=board)
    with pytest.raises(JoinRefused):
        Device.join(URL, store=store, invite="wrong", board=PretendServer())
    assert store.exists()


class LosingAnswers(PretendServer):
    """A board that enrols the device, but whose answer never comes."""

    async def enrol(self, identity, invite=None):
        await super().enrol(identity, invite)
        raise BoardUnavailable("The answer was lost.\nTry again.")


def test_the_key_is_kept_if_the_device_may_have_been_enrolled(store):
    board = LosingAnswers()
    with pytest.raises(JoinError, match="first join needs the board"):
        Device.join(URL, store=store, board=board)
    with Device.join(URL, store=store, board=PretendServer()) as device:
        assert {device.status().voter} == board.enrolled


def test_a_server_that_changes_its_board_while_a_device_joins_gets_no_device(store):
    class Changing(PretendServer):
        async def tally(self):
            told = await super().tally()
            return replace(told, board="f" * 32)

    with pytest.raises(JoinRefused, match="Another board answers"):
        Device.join(URL, store=store, board=Changing())
    assert not store.exists()


def test_a_wrong_option_is_refused_before_anything_is_made(store):
    with pytest.raises(DeviceError, match="on_expire"):
        Device.join(URL, store=store, on_expire="forget", board=PretendServer())
    assert not store.exists()


def test_choose_does_not_wait_for_a_network_that_hangs(store):
    class Hanging(PretendServer):
        async def snapshot(self, after=0):
            await asyncio.sleep(3600)

    board = Hanging()
    with Device.join(URL, store=store, board=board) as device:
        began = time.monotonic()
        for _ in range(50):
            device.choose()
            device.reward(0.5)
        assert time.monotonic() - began < 2.0
        device.close(grace=0.1)
    assert board.closed


def test_a_failure_in_the_background_is_visible_and_playing_goes_on(store):
    class Broken(PretendServer):
        async def snapshot(self, after=0):
            if self.experiment.players == 3:
                raise ZeroDivisionError
            return await super().snapshot(after)

    board = Broken()
    with Device.join(URL, store=store, board=board, pace=QUICK) as device:
        until(lambda: device.status().degraded)
        assert "ZeroDivisionError" in device.status().degraded[0]
        device.choose()
        board.experiment = here(SPEC, players=4)
        until(lambda: not device.status().degraded)


def test_votes_still_waiting_are_sent_at_closing(store):
    board = PretendServer()
    with Device.join(URL, store=store, board=board, pace=Pace(3600.0, 3600.0, 3600.0)) as device:
        device.core.on_message = lambda: None
        play_until_vote(device.core)
    assert board.now().posted


def test_several_threads_may_share_a_device(store):
    with Device.join(URL, store=store, board=PretendServer()) as device:
        errors = []

        def ask():
            try:
                for _ in range(100):
                    device.choose()
                    device.status()
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors


def test_the_same_verbs_without_blocking(store):
    async def main():
        board = PretendServer()
        for number in (1, 2):
            board.enrolled.add(vote(number, 0).message.voter)
            await board.publish(vote(number, 0))
            await board.publish(vote(number, 1))
        dice = iter([0.1, 0.2, 0.3]).__next__
        async with await AsyncDevice.join(
            URL, store=store, board=board, pace=QUICK, dice=dice, expire_after=60.0
        ) as device:
            assert await device.sync()
            assert await device.choose() == 2
            await device.reward(1.0)
            assert device.best() == 2
            assert device.status().state == "agreed"
            assert device.arms == ("0", "1", "2")
        await device.close()
        assert board.closed

    asyncio.run(main())
