"""Every byte that leaves a device of a survey, and when: the same whatever its user did."""

import asyncio
import random

from tests.device.recording_proxy import recording_proxy
from tests.device.test_what_leaves import (
    BASE,
    HEADERS,
    JSON_HEADERS,
    ONLY_WHEN_WOKEN,
    check_body,
    quiet,
    server,
    without_keys,
)

from devote.device import AsyncDevice
from devote.protocol import ExperimentSpec
from devote.schemes.survey import Survey

SPEC = ExperimentSpec(arms=4, name="banner", scheme=Survey(1.0, reply_after=5.0))


def check_request(request, voter, invite):
    """Whether a request is one of the five there are; returns its name."""
    headers = dict(request.headers)
    del headers["host"]
    if request.method == "POST":
        del headers["content-length"]
        join = {"content-type": "text/plain"}
        assert headers == HEADERS | (join if request.path == f"{BASE}/join" else JSON_HEADERS)
        check_body(request, voter, invite, SPEC)
        return request.path.rpartition("/")[2]
    assert request.method == "GET"
    assert request.body == b""
    if request.path == f"{BASE}/tally":
        known = headers.pop("if-none-match", '"' + 32 * "0" + '"')
        assert len(known) == 34
        assert set(known[1:-1]) <= set("0123456789abcdef")
        assert request.query == ""
    else:
        assert (request.path, request.query) == (f"{BASE}/messages", f"voter={voter}")
    assert headers == HEADERS
    return request.path.rpartition("/")[2]


async def answered(folder, reward, plays):
    """One device on a server of its own: what left it, and the requests by name."""
    folder.mkdir()
    async with server(folder, SPEC, 100) as (port, invites), recording_proxy(port) as recording:
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
        names = [check_request(request, voter, invites[0]) for request in recording.requests]
        return without_keys(recording, voter, invites[0]), names


def test_the_same_bytes_leave_whatever_the_user_did(tmp_path):
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
