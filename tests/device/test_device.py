"""Devices as programs use them: joining, offline and in bad company, and many in one process."""

import asyncio
import http.server
import socket
import threading
import time
from dataclasses import replace

import pytest
from tests.boards.local import here
from tests.device.worlds import NAMED, SPEC, URL, PretendServer, play_until_vote, vote
from tests.server.live import TOKEN, open_store, serving_in_thread
from tests.tools import until

from devote.boards.board import BoardUnavailable
from devote.boards.operator import Operator
from devote.device import (
    AsyncDevice,
    Choice,
    Client,
    Device,
    DeviceError,
    JoinError,
    JoinRefused,
    StoreBusy,
    StoreMismatch,
)
from devote.device.sync import Pace
from devote.schemes import Jury, Survey
from devote.server import Settings, create_app

QUICK = Pace(every=0.2, base=0.02, cap=0.1)


@pytest.fixture
def store(tmp_path):
    return tmp_path / "device.db"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The addresses of experiments on a real server, by name, and its operator."""
    with open_store(tmp_path_factory.mktemp("server") / "server.db") as opened:
        for name in ("banner", "open", "one", "other", "closing"):
            enrolment = "invite" if name == "banner" else "open"
            opened.create(here(SPEC.with_(name=name), enrolment, 3 if name == "open" else None))
        with serving_in_thread(create_app(opened, Settings(token=TOKEN))) as address:
            urls = {name: f"{address}/experiments/{name}" for name in (*opened.names(), "nothing")}
            with Operator(address, TOKEN) as operator:
                yield urls, operator


def away(spec=NAMED):
    board = PretendServer(spec)
    board.crash()
    return board


# On a real server.


def test_four_verbs_against_a_real_server_by_invite(server, store):
    urls, operator = server
    (invite,) = operator.invites("banner", 1)
    with Device.join(urls["banner"], store=store, invite=invite, pace=QUICK) as device:
        assert device.arms == ("0", "1", "2")
        arm = device.choose()
        assert device.choose() == arm
        device.reward(True)
        play_until_vote(device.core)
        until(lambda: device.status().complete and not device.status().waiting)
        status = device.status()
        assert status.sent
        assert status.freshness.startswith("synced ")
        assert not status.degraded
        assert device.best() is None
    with Device.join(urls["banner"], store=store, invite=invite) as device:
        assert device.status().sent == status.sent
        assert device.sync()
    with pytest.raises(JoinRefused, match="invite"):
        Device.join(urls["banner"], store=store.with_name("b.db"), invite=invite)


def test_three_devices_agree_over_http(server, tmp_path):
    url = server[0]["open"]
    devices = [Device.join(url, store=tmp_path / f"{i}.db", pace=QUICK) for i in range(3)]
    try:
        for _ in range(2000):
            for device in devices:
                device.reward(1.0 if device.choose() == 2 else 0.0)
            if all(device.best() is not None for device in devices):
                break
            time.sleep(0.005)
        assert [device.best() for device in devices] == [2, 2, 2]
    finally:
        for device in devices:
            device.close()
    devices[0].close()


def test_a_real_server_closes_reopens_revokes_and_deletes(server, tmp_path):
    urls, operator = server
    url = urls["closing"]
    with Device.join(url, store=tmp_path / "device.db") as device:
        operator.change("closing", state="closed")
        play_until_vote(device.core)
        assert device.sync()
        (trouble,) = device.status().degraded
        assert "Experiment 'closing' is closed." in trouble
        assert device.status().waiting
        with pytest.raises(JoinRefused, match="is closed"):
            Device.join(url, store=tmp_path / "late.db")
        assert not (tmp_path / "late.db").exists()
        operator.change("closing", state="open")
        assert device.sync()
        assert device.status().sent
        assert device.status().degraded == ()
    with Device.join(url, store=tmp_path / "second.db") as device:
        assert operator.revoke("closing", voters=[device.status().voter]).devices == 1
        play_until_vote(device.core)
        assert device.sync()
        (trouble,) = device.status().degraded
        assert "has revoked this device" in trouble
        operator.delete("closing")
        assert not device.sync()
        assert any("was deleted" in trouble for trouble in device.status().degraded)
        device.choose()


@pytest.mark.parametrize(
    ("name", "invite", "why"),
    [("nothing", None, "404"), ("banner", None, "invite"), ("banner", "wrong", "invite")],
)
def test_a_first_join_that_is_refused_says_why_and_leaves_nothing(
    server, tmp_path, name, invite, why
):
    with pytest.raises(JoinRefused, match=why):
        Device.join(server[0][name], store=tmp_path / "device.db", invite=invite)
    assert list(tmp_path.iterdir()) == []


# In bad company.


@pytest.mark.parametrize("url", ["banner", "ftp://127.0.0.1/experiments/banner", ""])
def test_an_address_that_is_none_is_refused(store, url):
    with pytest.raises(JoinError, match="not the address of an experiment"):
        Device.join(url, store=store)


@pytest.mark.parametrize(
    ("options", "error", "why"),
    [
        ({"fall_back": 0}, TypeError, "unexpected keyword argument 'fall_back'"),
        ({"on_expire": "forget"}, DeviceError, "on_expire"),
        ({"privacy": 0.0}, DeviceError, "must be more than 0"),
        ({"privacy": float("nan")}, DeviceError, "must be more than 0"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_made(tmp_path, options, error, why):
    with pytest.raises(error, match=why):
        Device.join(URL, store=tmp_path / "device.db", board=PretendServer(), **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("headers", "body", "why"),
    [
        ({}, b"<html>Welcome to the hotel</html>", "not a devote server"),
        ({}, b"", "not a devote server"),
        ({"Devote-Version": "99"}, b"{}", "version"),
        ({"Devote-Version": "2"}, b"\xff\xfe garbage", "not a devote server"),
        ({"Devote-Version": "2"}, b"[1, 2]", "not a devote server"),
    ],
)
def test_a_server_that_is_not_ours_of_another_version_or_answers_garbage(store, headers, body, why):
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
            with pytest.raises(JoinError, match=why):
                Device.join(url, store=store)
            Device.join(URL, store=store, board=PretendServer()).close()
            with Device.join(url, store=store, pace=QUICK) as device:
                until(lambda: device.status().degraded)
                assert why in device.status().degraded[0]
                device.choose()
        finally:
            stranger.shutdown()
            thread.join()


def test_a_server_that_changes_its_board_while_a_device_joins_gets_no_device(store):
    class Changing(PretendServer):
        async def tally(self):
            return replace(await super().tally(), board="f" * 32)

    with pytest.raises(JoinRefused, match="Another board answers"):
        Device.join(URL, store=store, board=Changing())
    assert not store.exists()


def test_a_store_has_one_device_and_one_experiment(store):
    with Device.join(URL, store=store, board=PretendServer()) as device:
        with pytest.raises(StoreBusy):
            Device.join(URL, store=store, board=PretendServer())
        device.choose()
    other = URL.replace("banner", "other")
    with pytest.raises(StoreMismatch, match="belongs to experiment 'banner', not to 'other'"):
        Device.join(other, store=store, board=PretendServer(SPEC.with_(name="other")))


class LosingAnswers(PretendServer):
    """A board that enrols the device, but whose answer never comes."""

    keys = ()

    async def enrol(self, identity, invite=None):
        self.keys = (*self.keys, identity.voter)
        await super().enrol(identity, invite)
        raise BoardUnavailable("The answer was lost.\nTry again.")


@pytest.mark.parametrize("fallback", [None, 0])
def test_the_key_is_kept_if_the_device_may_have_been_enrolled(store, fallback):
    board = LosingAnswers()
    options = {"store": store, "board": board, "pace": QUICK, "fallback": fallback}
    if fallback is None:
        with pytest.raises(JoinError, match="first join needs the board"):
            Device.join(URL, **options)
    else:
        with Device.join(URL, **options) as device:
            until(lambda: len(board.keys) > 2)
            assert not device.status().joined
    with pytest.raises(JoinRefused):
        Device.join(URL, store=store, invite="wrong", board=PretendServer())
    assert store.exists()
    with Device.join(URL, store=store, board=PretendServer()) as device:
        assert {device.status().voter} == set(board.keys)


# What a device accepts.


class Counting(PretendServer):
    """A board that counts what is sent to it."""

    sent = 0

    async def enrol(self, identity, invite=None):
        self.sent += 1
        return await super().enrol(identity, invite)


@pytest.mark.parametrize(
    ("spec", "offered"),
    [
        (SPEC, "no proved privacy"),
        (SPEC.with_(scheme=Survey(None)), "no proved privacy"),
        (SPEC.with_(scheme=Survey(2.0)), "privacy=2"),
        (SPEC.with_(scheme=Survey(1.0000001)), "privacy=1"),
        (SPEC.with_(scheme=Jury(seats=30)), "no proved privacy"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_specification_weaker_than_pinned_is_refused_before_anything_is_stored(
    tmp_path, spec, offered
):
    board = Counting(spec, players=None)
    with pytest.raises(JoinRefused, match=f"offers {offered}.*accepts at most privacy=1"):
        Device.join(URL, store=tmp_path / "device.db", board=board, privacy=1.0)
    assert board.sent == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("privacy", [1.0, 4.0])
def test_a_specification_that_is_as_private_as_pinned_is_joined(store, privacy):
    spec = SPEC.with_(scheme=Survey(1.0, answers=2))
    pins = {"privacy": privacy, "fingerprint": spec.fingerprint}
    for _ in range(2):
        board = PretendServer(spec, players=None)
        with Device.join(URL, store=store, board=board, **pins) as device:
            assert device.status().joined


def test_another_specification_than_pinned_is_refused_also_of_a_store_that_has_joined(store):
    board = Counting()
    with pytest.raises(JoinRefused, match="accepts only"):
        Device.join(URL, store=store, board=board, fingerprint="0" * 64)
    assert board.sent == 0
    assert not store.exists()
    Device.join(URL, store=store, board=board).close()
    for pins in ({"fingerprint": "0" * 64}, {"privacy": 1.0}):
        with pytest.raises(JoinRefused):
            Device.join(URL, store=store, board=board, **pins)


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


# Offline.


@pytest.mark.parametrize(
    ("fallback", "arm", "name"), [("green", -1, "green"), (1, 1, "")], ids=["name", "number"]
)
def test_a_first_start_offline_plays_the_fallback_and_joins_later_by_itself(
    store, fallback, arm, name
):
    board = away()
    with Device.join(URL, store=store, board=board, pace=QUICK, fallback=fallback) as device:
        choice = device.choose()
        assert (choice, choice.name, choice.play) == (arm, name, "")
        for rewarded in (choice, choice.play, None):
            device.reward(1.0, rewarded)  # nothing is learned, and nothing is raised
        assert (device.pending(), device.best(), device.arms) == (None, None, ())
        assert not device.sync()
        status = device.status()
        assert (status.joined, status.experiment, status.state) == (False, "banner", "open")
        assert "offline since" in status.freshness
        assert status.degraded
        assert "not joined" in str(status)
        board.restart()
        until(lambda: device.status().joined)
        assert device.arms == NAMED.arm_names
        assert device.status().degraded == ()
        device.reward(1.0, choice)  # of the fallback: it counts for nothing
        assert device.core.record.player.activations == 0
        play_until_vote(device.core)
        until(lambda: device.status().sent)
    with Device.join(URL, store=store, board=away(), fallback=fallback) as device:
        assert device.status().joined
        assert isinstance(device.choose(), Choice)


def test_without_a_network_the_first_join_fails_and_later_starts_work(store):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: connecting is refused
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/experiments/banner"
        with pytest.raises(JoinError, match="first join needs the board"):
            Device.join(url, store=store)
        assert not store.exists()
        Device.join(url, store=store, fallback=0).close()
        assert not store.exists(), "a device that is closed before it could join leaves nothing"
        Device.join(URL, store=store, board=PretendServer()).close()
        with Device.join(url, store=store, pace=QUICK) as device:
            device.reward(1.0, device.choose())
            until(lambda: "offline since" in device.status().freshness)
            assert device.best() is None


def test_a_join_that_is_refused_is_tried_again_with_a_fallback(store):
    board = PretendServer()
    options = {"store": store, "board": board, "pace": QUICK, "fallback": 0}
    with Device.join(URL, invite="wrong", **options) as device:
        assert "invite" in device.status().degraded[0]
        board.invites.add("wrong")
        until(lambda: device.status().joined)


def test_trouble_with_the_store_is_an_error_also_with_a_fallback(store):
    store.write_bytes(b"not a database at all " * 500)
    with pytest.raises(Exception, match="is not a SQLite file"):
        Device.join(URL, store=store, board=away(), fallback=0)


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


def test_choose_does_not_wait_for_a_network_that_hangs(store):
    class Hanging(PretendServer):
        async def snapshot(self, after=0):
            await asyncio.sleep(3600)

    board = Hanging()
    with Device.join(URL, store=store, board=board) as device:
        for _ in range(50):
            device.reward(0.5, device.choose())
        assert not device.status().complete
        device.close(grace=0.1)
    assert board.closed


def test_a_failure_in_the_background_is_visible_and_playing_goes_on(store):
    class Broken(PretendServer):
        is_broken = True

        async def snapshot(self, after=0):
            if self.is_broken:
                raise ZeroDivisionError
            return await super().snapshot(after)

    board = Broken()
    with Device.join(URL, store=store, board=board, pace=QUICK) as device:
        until(lambda: device.status().degraded)
        assert "ZeroDivisionError" in device.status().degraded[0]
        device.choose()
        board.is_broken = False
        until(lambda: not device.status().degraded)


def test_votes_still_waiting_are_sent_at_closing(store):
    board = PretendServer()
    with Device.join(URL, store=store, board=board, pace=Pace(3600.0, 3600.0, 3600.0)) as device:
        device.core.on_message = lambda: None
        play_until_vote(device.core)
    assert board.now().posted


# Without blocking, and many.


def test_the_same_verbs_without_blocking(store):
    async def main():
        board = PretendServer()
        for number in (1, 2):
            board.enrolled.add(vote(number, 0).message.voter)
            await board.publish(vote(number, 0))
            await board.publish(vote(number, 1))
        board.crash()
        options = {"board": board, "pace": QUICK, "dice": iter([0.1, 0.2]).__next__}
        join = AsyncDevice.join(URL, store=store, fallback="rose", expire_after=60.0, **options)
        async with await join as device:
            assert (await device.choose()).name == "rose"
            board.restart()
            async with asyncio.timeout(20):
                while not device.status().joined:
                    await asyncio.sleep(0.01)
            assert await device.sync()
            assert await device.choose() == 2
            assert await device.pending() == 2
            await device.reward(1.0)
            assert await device.pending() is None
            assert device.best() == 2
            assert device.status().state == "agreed"
        await device.close()
        assert board.closed

    asyncio.run(main())


def test_several_threads_may_share_a_device(store):
    with Device.join(URL, store=store, board=PretendServer()) as device:
        assert len(in_threads(4, lambda: [device.choose() for _ in range(100)])) == 4


def in_threads(n, work):
    """What each of n threads comes to; one that fails comes to nothing."""
    done = []
    threads = [threading.Thread(target=lambda: done.append(work())) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


def device_threads():
    return sum(thread.name == "devote-device" for thread in threading.enumerate())


def test_many_devices_in_two_experiments_share_one_thread_and_one_pool(server, tmp_path):
    urls = [server[0]["one"], server[0]["other"]]
    with Client(tmp_path / "devices") as client:
        devices = [client.device(url, user=f"user {n}") for n in range(12) for url in urls]
        assert device_threads() == 1
        assert len({device.status().voter for device in devices}) == 24
        assert len({device.board for device in devices}) == 2
        for device in devices:
            play_until_vote(device.core)
        until(lambda: all(device.status().sent for device in devices))
        assert client.device(urls[0], user="user 3") is devices[6]
        devices[0].close()
        again = client.device(urls[0], user="user 0")
        assert again is not devices[0]
        assert again.status().voter == devices[0].core.record.identity.voter
    names = [path.name for path in (tmp_path / "devices").rglob("*") if path.is_file()]
    assert len(names) == 24
    assert not any("user" in name for name in names)


def test_threads_that_ask_for_one_user_at_once_get_one_device(server, tmp_path):
    with Client(tmp_path) as client:
        devices = in_threads(8, lambda: client.device(server[0]["other"], user="one"))
        assert len(devices) == 8
        assert len(set(devices)) == 1


def test_a_client_s_device_that_could_not_join_can_be_asked_for_again(tmp_path):
    with Client(tmp_path) as client:
        for _ in range(2):
            with pytest.raises(JoinError):
                client.device(URL, board=away())
        with client.device(URL, board=away(), fallback="green") as device:
            assert device.choose().name == "green"
        assert client.device(URL, board=PretendServer()).status().joined
