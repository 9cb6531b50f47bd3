"""A device that listens: what it refuses, and TLS, also in both directions."""

import asyncio
import json
import subprocess
import sys

import httpx
import pytest
from tests.gossip.fleets import SPEC, member, on_loopback, prepare
from tests.server.certificates import make_authority

from devote.dashboard import add_page
from devote.fleet import AsyncDevice
from devote.gossip import GossipBoard
from devote.gossip.dialler import Dialler
from devote.gossip.exchange import NotThisExperiment, Unreachable
from devote.gossip.listener import _Impatient
from devote.gossip.settings import GossipError
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
    monkeypatch.setattr(_Impatient, "patience", 0.1)

    async def test(board, client):
        host, port = board.address.split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"POST /gossip/compare HTTP/1.1\r\nHost: a\r\n")
        assert await reader.read() == b""
        writer.close()
        reader, writer = await asyncio.open_connection(host, int(port))
        head = b"POST /gossip/push HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{"
        writer.write(head)
        assert b"413" in await reader.readline()
        writer.close()

    with_device(tmp_path, test, patience=0.2)


def test_any_device_shows_the_page_of_a_server_read_only(tmp_path):
    async def test(board, client):
        at = f"http://{board.address}"
        assert "<html" in (await client.get(f"{at}/")).text
        assert (await client.get(f"{at}/views/banner")).json()["name"] == "banner"
        told = (await client.get(f"{at}/experiments/banner")).json()
        assert told["fingerprint"] == SPEC.fingerprint
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


def test_a_peer_of_another_version_is_told_apart():
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
            with pytest.raises(NotThisExperiment, match="speaks version '1', this end version 2"):
                await dialler(address, "/gossip/compare", b"{}")
        with pytest.raises(Unreachable):
            await dialler(address, "/gossip/compare", b"{}")
        await dialler.aclose()

    asyncio.run(main())


@pytest.mark.parametrize("mutual", [False, True])
def test_peers_speak_tls_by_files_and_with_mutual_tls_strangers_are_kept_out(tmp_path, mutual):
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
                url = f"gossip://{devices[0]._board.address}/banner"
            first = devices[0]._board
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


def test_a_device_starts_without_the_web_framework():
    code = "import sys, devote.gossip; assert not {'fastapi', 'starlette'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
