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
from devote.schemes import Survey
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


def check_request(
    request: Request, recording: Recording, voter: str, invite: str, spec: ExperimentSpec = SPEC
) -> str:
    """Whether a request is one of the six there are, and has nothing more; returns its name."""
    assert len(dict(request.headers)) == len(request.headers)
    headers = dict(request.headers)
    assert headers.pop("host") == recording.address.removeprefix("http://")
    assert request.path.startswith(f"{BASE}/")
    name = request.path.removeprefix(f"{BASE}/")
    if request.method == "POST":
        assert headers.pop("content-length") == str(len(request.body))
        join = {"content-type": "text/plain"}  # for which a browser asks nothing first
        assert headers == HEADERS | (join if name == "join" else JSON_HEADERS)
        assert request.query == ""
        check_body(request, voter, invite, spec)
        return name
    assert (request.method, request.body) == ("GET", b"")
    if name == "stream":
        assert headers.pop("accept-encoding") == "identity"
        headers["accept-encoding"] = "gzip"
        assert re.fullmatch(r"after=(0|[1-9][0-9]*)", request.query)
    elif name == "messages":
        assert request.query == f"voter={voter}"
    else:
        assert name in ("tally", f"log/{LOCAL}/1")
        assert request.query == ""
    known = headers.pop("if-none-match", None)  # a digest of public things
    assert known is None or re.fullmatch('"[0-9a-f]{32}"', known)
    assert headers == HEADERS
    return name


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
                if check_request(request, recording, voter, invite) == "stream":
                    # A number that the board gave out, the same for everybody.
                    assert int(request.query.removeprefix("after=")) <= most
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
    """Until the device has nothing to send and the wire has been silent for a while."""
    silent, before = 0, -1
    while silent < 10 or device.core.waiting or not device.core.record.bookmark.complete:
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


SURVEY = ExperimentSpec(arms=4, name="banner", scheme=Survey(1.0, reply_after=5.0))


async def answered(folder, reward, plays):
    """One device on a server of its own: what left it, and the requests by name."""
    folder.mkdir()
    async with server(folder, SURVEY, 100) as (port, invites), recording_proxy(port) as recording:
        device = await AsyncDevice.join(
            f"{recording.address}{BASE}",
            store=folder / "device.db",
            invite=invites[0],
            pace=ONLY_WHEN_WOKEN,
            dice=random.Random(1).random,
        )
        device.core.noise = lambda: 0.0  # whatever the reward, the bit is 1
        async with device:
            await quiet(recording, device)
            choice = await device.choose()
            await asyncio.sleep(0.1)  # the question has woken the loop, which reads the tally
            before = recording.sent
            if reward is not None:
                await device.reward(reward, choice)
            for _ in range(plays):
                await device.reward(1.0, await device.choose())
            assert recording.sent == before
            while not device.status().sent:
                await asyncio.sleep(0.02)
            await quiet(recording, device)
            voter = device.status().voter
            assert [m.bit for m in device.status().sent] == [1]
        names = [
            check_request(request, recording, voter, invites[0], SURVEY)
            for request in recording.requests
        ]
        return without_keys(recording, voter, invites[0]), names


def test_the_same_bytes_leave_a_device_of_a_survey_whatever_its_user_did(tmp_path):
    async def main():
        cases = enumerate(((None, 0), (1.0, 0), (0.0, 3)))
        ran = await asyncio.gather(*(answered(tmp_path / str(n), *case) for n, case in cases))
        assert len({left for left, _ in ran}) == 1
        names = ran[0][1]
        assert names.count("join") == 1
        assert names[-2:] == ["tally", "messages"]
        assert names.count("messages") == 1
        assert "stream" not in names

    asyncio.run(main())
