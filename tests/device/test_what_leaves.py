"""Every byte that leaves a device, recorded on the wire, is an allowed message and no more.

What is left to an eavesdropper besides the votes is when they were sent.
"""

import asyncio
import json
import random
import re
from collections.abc import Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.boards.local import here, scope
from tests.boards.memory import LOCAL
from tests.device.recording_proxy import Recording, Request, recording_proxy
from tests.server.live import open_store, serving

from devote.boards.board import Envelope
from devote.boards.identity import verify, verify_join
from devote.device import AsyncDevice
from devote.device.sync import Pace
from devote.protocol import ExperimentSpec
from devote.protocol.messages import from_dict, to_dict
from devote.server import Settings, create_app

SPEC = ExperimentSpec(arms=4, name="banner", epsilon=1.0, scheme={"quorum": 5})
PLAYERS = 6
MEANS = (0.9, 0.2, 0.2, 0.1)
QUICK = Pace(every=0.2, base=0.05, cap=0.5)
ONLY_WHEN_WOKEN = Pace(every=1e6)
BASE = "/experiments/banner"
HEADERS = {
    "accept": "*/*",
    "accept-encoding": "gzip",
    "connection": "keep-alive",
    "user-agent": "devote",
}
JSON_HEADERS = {"content-type": "application/json"}


class CookieSetter:
    """A server that tries to tell its visitors apart."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._count = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def marked(message: Any) -> None:
            if message["type"] == "http.response.start":
                self._count += 1
                cookie = b"who=%d; Path=/; Max-Age=99999" % self._count
                message["headers"] = [*message["headers"], (b"set-cookie", cookie)]
            await send(message)

        await self._app(scope, receive, marked)


@asynccontextmanager
async def server(folder: Path, spec: ExperimentSpec = SPEC, players: int = PLAYERS):
    """A server that sets cookies; gives its port and invites."""
    with open_store(folder / "server.db") as store:
        store.create(here(spec, "invite", players))
        invites = store.invite("banner", players)
        app = create_app(store, Settings())
        app.add_middleware(CookieSetter)
        async with serving(app) as address:
            yield int(address.rpartition(":")[2]), invites


def check_headers(request: Request, recording: Recording) -> None:
    assert len(dict(request.headers)) == len(request.headers)
    headers = dict(request.headers)
    assert headers.pop("host") == recording.address.removeprefix("http://")
    if request.method == "POST":
        assert headers.pop("content-length") == str(len(request.body))
        join = {"content-type": "text/plain"}  # for which a browser asks nothing first
        assert headers == HEADERS | (join if request.path == f"{BASE}/join" else JSON_HEADERS)
    else:
        if request.path == f"{BASE}/stream":
            assert headers.pop("accept-encoding") == "identity"
            headers["accept-encoding"] = "gzip"
        known = headers.pop("if-none-match", None)  # a digest of public things
        assert known is None or (re.fullmatch('"[0-9a-f]{32}"', known) and request.path != BASE)
        assert headers == HEADERS


def check_body(request: Request, voter: str, invite: str, spec: ExperimentSpec = SPEC) -> None:
    fields = json.loads(request.body)
    if request.path == f"{BASE}/join":
        assert set(fields) == {"v", "voter", "signature", "invite"}
        assert (fields["v"], fields["voter"], fields["invite"]) == (2, voter, invite)
        signature = fields["signature"]
        assert verify_join(voter=voter, experiment="banner", invite=invite, signature=signature)
        return
    assert request.path == f"{BASE}/messages"
    assert set(fields) == {"message", "signature"}
    message = from_dict(fields["message"], SPEC.n_arms)
    assert to_dict(message) == fields["message"]
    assert message.voter == voter
    assert verify(Envelope(message, fields["signature"]), scope(spec))


def check_request(request: Request, voter: str, invite: str, most: int) -> None:
    """Whether a request is one of the five there are."""
    if request.method == "POST":
        assert request.query == ""
        check_body(request, voter, invite)
        return
    assert request.method == "GET"
    assert request.body == b""
    if request.path in (f"{BASE}/tally", f"{BASE}/log/{LOCAL}/1"):
        assert request.query == ""
        return
    assert request.path == f"{BASE}/stream"
    after = re.fullmatch(r"after=(0|[1-9][0-9]*)", request.query)
    assert after is not None
    assert int(after[1]) <= most  # a number that the board gave out, the same for everybody


def test_every_byte_of_a_whole_experiment_is_an_allowed_message(tmp_path):
    async def play(device: AsyncDevice, rng: random.Random) -> None:
        while device.status().state == "open" or device.status().waiting:
            arm = await device.choose()
            await device.reward(float(rng.random() < MEANS[arm]))
            await asyncio.sleep(0.005)

    async def one(port: int, n: int, invite: str) -> tuple[Recording, str, int]:
        async with recording_proxy(port) as recording:
            url = f"{recording.address}{BASE}"
            path = tmp_path / f"{n}.db"
            device = await AsyncDevice.join(url, store=path, invite=invite, pace=QUICK)
            async with device:
                await play(device, random.Random(n))
                assert device.best() == 0
                voter, sent = device.status().voter, len(device.status().sent)
        return recording, voter, sent

    async def main() -> None:
        async with server(tmp_path) as (port, invites):
            ran = await asyncio.gather(*(one(port, n, i) for n, i in enumerate(invites)))
        most = sum(sent for _, _, sent in ran)
        for (recording, voter, sent), invite in zip(ran, invites, strict=True):
            requests = recording.requests
            assert len(requests) >= 4
            for request in requests:
                check_headers(request, recording)
                check_request(request, voter, invite, most)
            posts = [r for r in requests if r.method == "POST"]
            assert sum(r.path == f"{BASE}/join" for r in posts) == 1
            votes = {r.body for r in posts if r.path == f"{BASE}/messages"}
            assert len(votes) == sent
            assert b"cookie" not in recording.sent.lower()
            assert b"." not in b"".join(r.body for r in posts)  # no fraction of anything

    asyncio.run(main())


def without_keys(recording: Recording, voter: str, invite: str) -> bytes:
    """What left a device, with what names it in place of its key, signatures, invite and port."""
    text = recording.sent.replace(voter.encode(), b"VOTER").replace(invite.encode(), b"INVITE")
    text = text.replace(recording.address.removeprefix("http://").encode(), b"HOST")
    text = re.sub(rb"[0-9a-f]{128}", b"SIGNATURE", text)
    return re.sub(rb'"[0-9a-f]{32}"', b"TAG", text)  # a digest of signatures of fresh keys


async def played_alone(
    folder: Path, pay: Callable[[int], float], pulls_between: int
) -> tuple[bytes, int, tuple[int, ...]]:
    """One device on a server of its own: what left it, its pulls, and its votes."""
    folder.mkdir()
    async with server(folder) as (port, invites), recording_proxy(port) as recording:
        url = f"{recording.address}{BASE}"
        rng = random.Random(1)
        device = await AsyncDevice.join(
            url,
            store=folder / "device.db",
            invite=invites[0],
            pace=ONLY_WHEN_WOKEN,
            dice=rng.random,
        )
        async with device:
            pulls = 0
            await quiet(recording, device)
            while len(device.status().remaining) > 1:
                arm = await device.choose()
                await device.reward(pay(arm))
                pulls += 1
                if device.core.waiting:
                    await quiet(recording, device)
            for _ in range(pulls_between):
                await device.choose()
                await device.reward(0.5)
            voter = device.status().voter
            votes = tuple(message.arm for message in device.status().sent)
        await asyncio.sleep(0.05)
        return without_keys(recording, voter, invites[0]), pulls + pulls_between, votes


async def quiet(recording: Recording, device: AsyncDevice) -> None:
    """Until the device has nothing to say and the wire has been silent for a while."""
    silent, before = 0, -1
    while silent < 10 or device.core.waiting or not device.core.bookmark.complete:
        now = len(recording.sent)
        silent = silent + 1 if now == before else 0
        before = now
        await asyncio.sleep(0.03)


def test_the_same_votes_from_other_rewards_and_other_pulls_leave_the_same_bytes(tmp_path):
    async def main() -> None:
        sure = await played_alone(tmp_path / "a", (1.0, 0.6, 0.3, 0.0).__getitem__, 0)
        slow = await played_alone(tmp_path / "b", (0.65, 0.51, 0.405, 0.3).__getitem__, 40)
        assert sure[2] == slow[2] == (3, 2, 1)
        assert slow[1] > 1.5 * sure[1]
        assert sure[0] == slow[0]

    asyncio.run(main())


@pytest.mark.parametrize("pay", [lambda arm: 0.5, lambda arm: arm / 10.0])
def test_pulls_without_a_vote_leave_no_byte(tmp_path, pay):
    spec = SPEC.with_(epsilon=0.05)

    async def main() -> None:
        async with server(tmp_path, spec) as (port, invites), recording_proxy(port) as recording:
            url = f"{recording.address}{BASE}"
            device = await AsyncDevice.join(
                url, store=tmp_path / "device.db", invite=invites[0], pace=ONLY_WHEN_WOKEN
            )
            async with device:
                await quiet(recording, device)
                before = recording.sent
                for _ in range(60):
                    await device.reward(pay(await device.choose()))
                assert not device.core.waiting
                assert device.status().sent == ()
                await asyncio.sleep(0.2)
                assert recording.sent == before

    asyncio.run(main())
