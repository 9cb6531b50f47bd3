"""A device that listens: what it refuses, and TLS, also in both directions."""

import asyncio
import json
import socket
import subprocess
import sys
from contextlib import suppress

import httpx
import pytest
import uvicorn
from tests.gossip.fleets import SPEC, member, on_loopback, prepare, vote
from tests.server.certificates import make_authority

from devote.device import AsyncDevice
from devote.gossip import GossipBoard
from devote.gossip import http as listening
from devote.gossip.exchange import PeerLied, Unreachable
from devote.gossip.http import Dialler, Listener, sender
from devote.gossip.settings import GossipError
from devote.page.page import add_page
from devote.server import create_app


def page(store):
    app = create_app(store)
    add_page(app)
    return app


def with_device(tmp_path, test, *, make_page=None, **changes):
    """Run a test against a device that listens."""

    async def main():
        settings = on_loopback(**changes)
        ticket = prepare(tmp_path / "a.db", 1)
        board = GossipBoard(
            "gossip:///banner", tmp_path / "a.db", ticket=ticket, settings=settings,
            make_page=make_page,
        )  # fmt: skip
        url = "gossip:///banner"
        async with (
            asyncio.timeout(60),
            await AsyncDevice.join(url, store=tmp_path / "a.db", board=board),
            httpx.AsyncClient() as client,
        ):
            await test(board, client)

    asyncio.run(main())


def body(**fields) -> bytes:
    return json.dumps({"fingerprint": SPEC.fingerprint, **fields}).encode()


def test_what_no_peer_sends_is_refused_with_a_status_and_what_to_do(tmp_path):
    async def test(board, client):
        at = f"http://{board.address}/gossip"
        for path, content, status in (
            ("compare", body(root="0" * 32), 200),
            ("compare", b"{", 422),
            ("compare", body(), 422),
            ("compare", json.dumps({"fingerprint": "0" * 64}).encode(), 409),
            ("trade", body(count=33_000, held={}), 422),
            ("trade", body(count=32, held={"0": "A"}), 422),
            ("push", body(items=[{}] * 201), 422),
            ("push", b" " * 300_000, 413),
            ("unknown", b"", 404),
        ):
            answer = await client.post(f"{at}/{path}", content=content)
            assert answer.status_code == status, (path, content[:50])
            assert answer.headers["Devote-Version"] == "2"
            assert status == 200 or "\n" in answer.json()["error"]
        assert (await client.get(f"{at}/compare")).status_code == 405
        assert (await client.get(f"http://{board.address}/")).status_code == 404

    with_device(tmp_path, test, rate=1e6)


def test_one_address_may_ask_so_often_and_what_is_not_valid_costs_it_more(tmp_path):
    async def test(board, client):
        at = f"http://{board.address}/gossip"
        good = [await client.post(f"{at}/compare", content=body(root="0")) for _ in range(5)]
        assert {answer.status_code for answer in good} == {200}
        assert (await client.post(f"{at}/push", content=b"x")).status_code == 422
        assert (await client.post(f"{at}/compare", content=body(root="0"))).status_code == 429

    with_device(tmp_path, test, rate=0.001, burst=24)


def test_a_connection_on_which_nothing_is_asked_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(listening, "IDLE", 0.1)

    async def test(board, client):
        host, port = board.address.split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"POST /gossip/compare HTTP/1.1\r\nHost: a\r\n")
        assert await reader.read() == b""
        writer.close()
        monkeypatch.undo()
        reader, writer = await asyncio.open_connection(host, int(port))
        head = b"POST /gossip/push HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{"
        writer.write(head)
        assert b"413" in await reader.readline()
        writer.close()

    with_device(tmp_path, test, patience=0.2)


def test_who_is_still_answered_after_the_farewell_is_cut_off(monkeypatch):
    """On a slow day uvicorn does not come to it; the connection would outlive the device."""

    async def never_answers(scope, receive, send):
        await asyncio.sleep(60)

    async def never_ends(server, sockets=None):
        await asyncio.sleep(60)

    async def main():
        listener = Listener(on_loopback())
        await listener.start(never_answers)
        reader, writer = await asyncio.open_connection(*listener.address.split(":"))
        writer.write(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        await asyncio.sleep(0.1)
        await listener.aclose()
        with suppress(ConnectionResetError):
            async with asyncio.timeout(10):
                assert await reader.read() == b""
        writer.close()

    monkeypatch.setattr(listening, "FAREWELL", 0.2)
    monkeypatch.setattr(uvicorn.Server, "shutdown", never_ends)
    asyncio.run(main())


def test_whoever_asks_and_does_not_read_the_answers_is_hung_up_on(tmp_path, monkeypatch):
    monkeypatch.setattr(listening, "IDLE", 0.1)

    async def test(board, client):
        board.votes.take([vote(n, arm) for n in range(1, 61) for arm in range(3)])
        asking = body(count=32, held={str(place): "" for place in range(32)})
        head = b"POST /gossip/trade HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
        deaf = socket.create_connection(board.address.split(":"))
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        deaf.setblocking(False)
        with suppress(BlockingIOError, ConnectionError):
            for _ in range(100):
                deaf.send(head % len(asking) + asking)
        open_now = board._listener._server.server_state.connections
        while not open_now:
            await asyncio.sleep(0.01)
        async with asyncio.timeout(20):
            while open_now:
                await asyncio.sleep(0.05)
        deaf.close()

    with_device(tmp_path, test, rate=1e6)


def test_any_device_shows_the_page_of_a_server_read_only(tmp_path):
    async def test(board, client):
        at = f"http://{board.address}"
        assert "<html" in (await client.get(f"{at}/")).text
        assert (await client.get(f"{at}/views/banner")).json()["name"] == "banner"
        shown = (await client.get(f"{at}/experiments/banner")).json()
        assert shown["fingerprint"] == SPEC.fingerprint
        enrolment = {"voter": member(2).voter, "signature": member(2).sign_enrolment(board.scope)}
        for path in ("enrolments", "messages"):
            posted = await client.post(f"{at}/experiments/banner/{path}", json=enrolment)
            assert posted.status_code == 404

    with_device(tmp_path, test, make_page=page)


def test_an_address_that_cannot_be_listened_on_is_refused_in_one_line(tmp_path):
    ticket = prepare(tmp_path / "a.db", 1)

    async def main():
        settings = on_loopback(listen="203.0.113.9:7700")
        with pytest.raises(GossipError, match="cannot be listened on"):
            await AsyncDevice.join(
                "gossip:///banner", store=tmp_path / "a.db", invite=ticket, gossip=settings
            )

    asyncio.run(main())


def test_a_peer_of_another_version_is_recognized():
    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nDevote-Version: 1\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()
        writer.close()

    async def main():
        dialler = Dialler(on_loopback(listen=""))
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server:
            with pytest.raises(PeerLied, match="has version '1', this end version 2"):
                await dialler(address, "/gossip/compare", b"{}")
        with pytest.raises(Unreachable):
            await dialler(address, "/gossip/compare", b"{}")
        await dialler.aclose()

    asyncio.run(main())


def test_an_answer_without_end_is_cut_off():
    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nDevote-Version: 2\r\nContent-Length: 99999\r\n\r\n")
        writer.write(b" " * 99_999)
        with suppress(ConnectionError):
            await writer.drain()
        writer.close()

    async def main():
        dialler = Dialler(on_loopback(listen="", body=5_000))
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server:
            with pytest.raises(PeerLied, match="without end"):
                await dialler(address, "/gossip/compare", b"{}")
        await dialler.aclose()

    asyncio.run(main())


def test_a_device_dials_from_whatever_address_leads_to_a_peer():
    """Also if it listens at another: from 127.0.0.1, say, nothing leads out of the machine."""
    callers = []

    async def answer(reader, writer):
        callers.append(writer.get_extra_info("peername")[0])
        writer.close()
        await writer.wait_closed()

    async def main():
        dialler = Dialler(on_loopback(listen="127.0.0.9:0"))
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server:
            with pytest.raises(Unreachable):
                await dialler(f"127.0.0.1:{port}", "/gossip/compare", b"{}")
        await dialler.aclose()

    asyncio.run(main())
    assert callers == ["127.0.0.1"]


@pytest.mark.parametrize("mutual", [False, True])
def test_peers_use_tls_by_files_and_with_mutual_tls_strangers_are_kept_out(tmp_path, mutual):
    authority, issue = make_authority(tmp_path)
    certificate, key = issue("device")
    tls = {"certificate": certificate, "key": key, "authority": authority, "mutual": mutual}

    async def main():
        url, devices = "gossip:///banner", []
        async with asyncio.timeout(60):
            for n in (1, 2):
                ticket = prepare(tmp_path / f"{n}.db", n)
                settings = on_loopback(**tls)
                store = tmp_path / f"{n}.db"
                devices.append(
                    await AsyncDevice.join(url, store=store, invite=ticket, gossip=settings)
                )
                url = f"gossip://{devices[0].board.address}/banner"
            first = devices[0].board
            while first.answers.met == 0:
                await asyncio.sleep(0.05)
            anybody = httpx.AsyncClient(verify=False)
            asking = anybody.post(f"https://{first.address}/gossip/compare", content=body(root=""))
            if mutual:
                with pytest.raises(httpx.HTTPError):
                    await asking
            else:
                assert (await asking).status_code == 200
            plain = Dialler(on_loopback(listen=""))
            with pytest.raises(Unreachable):
                await plain(first.address, "/gossip/compare", body(root=""))
            await plain.aclose()
            await anybody.aclose()
            for device in devices:
                await device.close()

    asyncio.run(main())


def test_connections_that_ask_nothing_are_bounded_and_one_sender_has_half(tmp_path):
    async def test(board, client):
        host, port = board.address.split(":")
        opened = [await asyncio.open_connection(host, int(port)) for _ in range(20)]
        while sum(reader.at_eof() for reader, _ in opened) < 16:  # the next sweep ends them
            await asyncio.sleep(0.05)
        assert sum(reader.at_eof() for reader, _ in opened) == 16
        elsewhere = {"local_address": "127.0.0.2"}
        async with httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(**elsewhere)) as other:
            at = f"http://{board.address}/gossip/compare"
            assert (await other.post(at, content=body(root=""))).status_code == 200
        for _, writer in opened:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        while (await client.post(at, content=body(root=""))).status_code != 200:
            await asyncio.sleep(0.05)

    with_device(tmp_path, test, connections=2)


def test_pages_use_up_what_an_address_may_ask(tmp_path):
    async def test(board, client):
        answers = [await client.get(f"http://{board.address}/health") for _ in range(6)]
        assert [answer.status_code for answer in answers] == [200] * 4 + [429] * 2

    with_device(tmp_path, test, make_page=page, rate=0.001, burst=4)


def test_one_ipv6_network_counts_as_one_sender():
    assert sender("fe80::1%eth0") == sender("fe80::2")
    assert sender("fd00:0:0:1::1") != sender("fd00::1")
    assert sender("") == ""


@pytest.mark.parametrize("listen", ["[::1]:0", "[::]:0"])
def test_devices_use_ipv6_and_announce_where_they_listen(tmp_path, listen):
    async def main():
        settings = on_loopback(listen=listen, allow=("::/0",))
        async with asyncio.timeout(60):
            devices, url = [], "gossip:///banner"
            for n in (1, 2):
                ticket = prepare(tmp_path / f"{n}.db", n)
                store = tmp_path / f"{n}.db"
                devices.append(
                    await AsyncDevice.join(url, store=store, invite=ticket, gossip=settings)
                )
                port = devices[0].board.address.rpartition(":")[2]
                url = f"gossip://[::1]:{port}/banner"
            while not all(device.board.answers.met for device in devices):
                await asyncio.sleep(0.05)
            for device in devices:
                assert device.board.answers.record["address"].startswith("[")
                await device.close()

    asyncio.run(main())


def test_tls_files_that_cannot_be_used_are_named_in_one_line(tmp_path):
    authority, issue = make_authority(tmp_path)
    certificate, key = issue("device")
    _, other = issue("other")
    garbage = tmp_path / "garbage.pem"
    garbage.write_text("nothing")
    ticket = prepare(tmp_path / "a.db", 1)

    async def main():
        for files in (
            {"certificate": certificate, "key": other, "authority": authority},
            {"certificate": garbage, "key": key, "authority": authority},
            {"certificate": certificate, "key": key, "authority": garbage},
        ):
            with pytest.raises(GossipError, match="cannot be used"):
                await AsyncDevice.join(
                    "gossip:///banner",
                    store=tmp_path / "a.db",
                    invite=ticket,
                    gossip=on_loopback(**files),
                )

    asyncio.run(main())


def test_health_shows_that_tls_is_what_fails(tmp_path):
    authority, issue = make_authority(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    stranger, issue_elsewhere = make_authority(tmp_path / "elsewhere")

    async def test(board, client):
        certificate, key = issue_elsewhere("device")
        tls = {"certificate": certificate, "key": key, "authority": stranger}
        dialler = Dialler(on_loopback(listen="", **tls))
        with pytest.raises(Unreachable, match=r"over TLS: .*CERTIFICATE_VERIFY_FAILED"):
            await dialler(board.address, "/gossip/compare", body(root=""))
        await dialler.aclose()

    certificate, key = issue("device")
    with_device(tmp_path, test, certificate=certificate, key=key, authority=authority)


def test_a_device_starts_without_the_web_framework():
    code = "import sys, devote.gossip; assert not {'starlette'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
