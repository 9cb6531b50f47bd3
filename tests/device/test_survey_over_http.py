"""A survey with real devices and a real server: it ends, and everybody knows how."""

import asyncio
import random
from contextlib import suppress

import httpx
from tests.server.live import open_store, serving

from devote.boards.board import Experiment
from devote.boards.http import HttpBoard
from devote.device import AsyncDevice, RewardRefused
from devote.device.sync import Pace
from devote.protocol import ExperimentSpec
from devote.schemes.survey import Survey
from devote.server import Settings, create_app

N_DEVICES = 120
MEANS = (0.95, 0.1, 0.05)
SPEC = ExperimentSpec(
    arms=["green", "blue", "red"],
    name="button",
    scheme=Survey(4.0, reply_after=1.0),
)
PACE = Pace(every=0.5)


async def take_part(url, board, n):
    """One device, used once, which hears how it ended.

    In 20,000 simulated runs none was wrong, and the most answers needed were 92.
    """
    device = await AsyncDevice.join(url, store=":memory:", board=board, pace=PACE)
    async with device:
        choice = await device.choose()
        if random.Random(n).random() < MEANS[choice]:
            with suppress(RewardRefused):  # on a slow machine it may come too late, and is 0
                await device.reward(1.0, choice)
        while device.best() is None:
            await asyncio.sleep(0.1)
        await asyncio.sleep(
            SPEC.scheme.sending.reply_after
        )  # until then its own question may be open
        return device.best(), await device.choose(), device.status()


def test_a_survey_over_http_ends_and_every_device_knows_who_has_won(tmp_path):
    async def main():
        with open_store(tmp_path / "server.db") as store:
            store.create(Experiment(SPEC))
            async with asyncio.timeout(100), serving(create_app(store, Settings())) as address:
                url = f"{address}/experiments/button"
                async with httpx.AsyncClient(limits=httpx.Limits(max_connections=8)) as client:
                    board = HttpBoard(url, client, fresh=0.2, timeout=60.0)
                    ran = await asyncio.gather(
                        *(take_part(url, board, n) for n in range(N_DEVICES))
                    )
                    told, log = await board.tally(), await board.snapshot()
        assert {(best, played.arm) for best, played, _ in ran} == {(0, 0)}
        sent = [message for _, _, status in ran for message in status.sent]
        held = [posted.envelope.message for posted in log.posted]
        assert len(held) == len(set(held)) < N_DEVICES
        assert set(sent) <= set(held)
        assert len({message.voter for message in held}) == len(held)
        counted = SPEC.scheme.tally(SPEC)
        for message in held:
            assert counted.add(message)
        assert (told.number, told.tally) == (len(held), counted.public())

    asyncio.run(main())
