"""A device with a segment: what it plays and answers, and that nothing else tells the segment."""

import asyncio
import json
import logging
import random
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import httpx
import pytest
from tests.boards.local import here, scope
from tests.device.worlds import ME, URL, HandClock, PretendServer, set_up
from tests.schemes.segments import NAMES, deciding, public, row, segmented_spec
from tests.server.live import open_store

from devote.boards.board import Experiment, TallySnapshot
from devote.boards.http import HEADERS, HttpBoard
from devote.boards.logs import Statement
from devote.boards.verification import Verification
from devote.device import AsyncDevice, Device, LateReward, steps
from devote.device.core import Core
from devote.device.store import Store
from devote.device.sync import Pace, Terms, join, run_forever
from devote.protocol import ExperimentSpec, LocalProtocolError
from devote.schemes import Survey
from devote.server import Settings, create_app

AFTER = 60.0
SPEC = segmented_spec(name="banner", reply_after=AFTER)
PLAIN = SPEC.with_(scheme=Survey(4.0, reply_after=AFTER))


def new_core(path=":memory:", spec=SPEC, decided=None, **options):
    core = Core(set_up(path, spec, players=None), **options)
    if decided is not None:
        read(core, decided)
    return core


def read(core, decided):
    """Have it read a tally."""
    tally = public(decided, status="agreed" if len(decided) == 3 else "open")
    core.change(steps.read_tally, TallySnapshot.of(scope(SPEC), 7 + len(decided), tally))


@pytest.mark.parametrize("z", range(3))
def test_a_decided_segment_plays_its_answer_and_best_is_its_own(z):
    hand = HandClock()
    core = new_core(clock=hand.clock, decided=(0, 2))
    assert core.best() is None, "of which segment?"
    choice = core.choose(0.5, segment=NAMES[z])
    assert choice == (1 if z == 1 else z)
    assert core.best() == (None if z == 1 else z)
    assert core.record.player.is_asked
    core.reward(1.0, choice)
    hand.pass_(2 * AFTER)
    [answer] = [envelope.message for envelope in core.waiting]
    assert (answer.arm, answer.seen) == (1, 7), "drawn as if nothing were decided"
    for u in (0.0, 0.9):
        choice = core.choose(u, segment=NAMES[z])
        assert choice == z, "an undecided segment plays what leads there"
        core.reward(0.0, choice)
    read(core, (0, 1, 2))
    assert core.best() == z
    core.close()


def test_the_segment_is_kept_over_a_restart_and_cannot_be_changed(tmp_path):
    core = new_core(tmp_path / "device.db", decided=(1,))
    first = core.choose(0.5, segment="tablet")
    core.close()
    core = Core(Store.open(tmp_path / "device.db"))
    assert core.best() == 1
    before = core.record.player.to_json()
    with pytest.raises(LocalProtocolError, match="another segment before") as error:
        core.choose(0.5, segment="phone")
    assert "tablet" not in str(error.value)
    assert core.record.player.to_json() == before
    assert core.choose(0.5, segment="tablet").play == first.play
    core.close()


@pytest.mark.parametrize(
    ("spec", "segment", "part"),
    [
        (SPEC, "watch", "no segment of 'banner'.\nUse one of: phone, tablet, desktop"),
        (SPEC, "", "no segment of 'banner'"),
        (SPEC, 1, "no segment of 'banner'"),
        (SPEC, None, "'banner' has segments, and none was given"),
        (PLAIN, "phone", "'banner' has no segments, and one was given"),
    ],
)
def test_a_wrong_segment_is_refused_and_nothing_changes(spec, segment, part):
    core = new_core(spec=spec)
    before = core.record.player.to_json()
    with pytest.raises(LocalProtocolError) as error:
        core.choose(0.5, segment=segment)
    assert part in str(error.value)
    assert core.record.player.to_json() == before
    assert core.pending() is None
    core.close()


def test_nothing_that_a_device_shows_or_logs_tells_its_segment(caplog):
    shown = []
    with caplog.at_level(logging.DEBUG):
        for segment in NAMES:
            core = new_core(clock=HandClock().clock, decided=(0, 2), jitter=lambda: 0.5)
            core.reward(1.0, core.choose(0.5, segment=segment))
            status = core.status()
            shown.append((repr(status), str(status), repr(core.record)))
            assert repr(core) == object.__repr__(core)
            core.close()
    assert len(set(shown)) == 1
    assert not [record for record in caplog.records if record.name.startswith("devote")]


def test_both_kinds_of_device_take_a_segment(tmp_path):
    board = PretendServer(SPEC, players=None, enrolled=None)
    with Device.join(URL, store=tmp_path / "a.db", board=board) as device:
        assert device.segments == NAMES
        choice = device.choose(segment="phone")
        assert device.choose(segment="phone").play == choice.play
        assert device.best() is None

    async def main():
        board = PretendServer(SPEC, players=None, enrolled=None)
        async with await AsyncDevice.join(URL, store=tmp_path / "b.db", board=board) as device:
            choice = await device.choose(segment="phone")
            assert (await device.choose(segment="phone")).play == choice.play

    asyncio.run(main())


VECTORS = Path(__file__).parents[1] / "vectors"
PRIVACY = {(3, 1): 4.0, (3, 2): 1.0, (10, 3): 2.0, (40, 30): 0.5, (64, 1): 4.0}


def test_the_vectors_of_answers_come_out_of_the_device_that_ships():
    """Those that the browser's client runs: noise in, the answer out, over a store."""
    hand = HandClock()
    for vector in json.loads((VECTORS / "signed_subsets.json").read_text()):
        names = [f"kind {z}" for z in range(vector["segments"])]
        privacy = PRIVACY[len(names), vector["subset"]]
        scheme = Survey(privacy, segments=tuple(names), subset=vector["subset"])
        core = new_core(spec=SPEC.with_(scheme=scheme), clock=hand.clock)
        assert (scheme.subsets.own, scheme.subsets.other) == (vector["own"], vector["other"])
        core.noise = iter([0.5, *vector["uniforms"]]).__next__  # the first hides a bit
        core.reward(vector["reward"], core.choose(0.0, segment=names[vector["segment"]]))
        assert next(core.noise.__self__, None) is None
        hand.pass_(2 * AFTER)
        [answer] = [envelope.message for envelope in core.waiting]
        assert (answer.low, answer.high) == (vector["low"], vector["high"])
        core.close()


def test_the_vectors_of_logs_are_counted_by_verify_as_they_are_shown():
    vectors = json.loads((VECTORS / "tallies.json").read_text())
    logs = [vector for vector in vectors if "segments" in vector["spec"]["scheme"]]
    for vector in logs:
        spec = ExperimentSpec.from_dict(vector["spec"])
        voters = {item["message"]["voter"] for item in vector["log"]}
        experiment = Experiment(spec, "open", enrolled=len(voters), board=vector["board"])
        taken, shown, scope = [], [], asdict(experiment.scope)
        for item, is_taken, tally in zip(
            vector["log"], vector["taken"], vector["tallies"], strict=True
        ):
            if is_taken:
                taken.append({"number": len(taken) + 1, **item})
                shown.append(Statement("tally", len(taken), {**scope, **tally}))
        verification = Verification(experiment, voters, shown)
        for item in taken:
            verification.take(item)
        report = verification.report()
        assert report.ok, report.findings
        assert report.checked["count"] == len(taken)
        assert report.head == vector["head"]
        decided = [row["status"] for row in vector["tallies"][-1]["segments"]]
        assert [status for status, _ in report.segments] == decided
    assert len(logs) >= 2


# What leaves, and when.


@dataclass
class Recorder(httpx.AsyncBaseTransport):
    """Notes the moment and all of each request but what the answer hides; may alter tallies."""

    hand: HandClock
    server: httpx.ASGITransport
    alter: dict
    noted: list = field(default_factory=list)
    answers: list = field(default_factory=list)

    async def handle_async_request(self, request):
        body = json.loads(await request.aread() or "null")
        if request.url.path.endswith("/messages") and body:
            hidden = {name: body["message"].pop(name) for name in ("low", "high")}
            self.answers.append((body["message"], hidden))
            body["signature"] = "-"
        headers = dict(request.headers)
        headers.pop("content-length", None)  # which follows from the digits of the answer
        self.noted.append(
            (round(self.hand.monotonic, 3), request.method, str(request.url), headers, body)
        )
        response = await self.server.handle_async_request(request)
        if not self.alter or not await response.aread():
            return response
        content = response.json()
        tally = content.get("tally", {})
        tally.get("tally", tally).update(self.alter)  # that of a join is one deeper
        lost = ("content-length", "content-encoding")
        kept = {k: v for k, v in response.headers.items() if k not in lost}
        return httpx.Response(response.status_code, headers=kept, json=content)


def traffic(path, segment, *, clicks, alter, seed=3):
    """All requests of a device from its join on: it plays every 20 s for ten minutes."""
    hand = HandClock()

    async def main(app):
        recorder = Recorder(hand, httpx.ASGITransport(app), alter)
        client = httpx.AsyncClient(transport=recorder, headers=HEADERS)
        wake = asyncio.Event()
        core = Core(
            store,
            starts=False,
            clock=hand.clock,
            dice=random.Random(seed).random,
            noise=random.Random(f"{seed} noise").random,
            jitter=random.Random(f"{seed} jitter").random,
            on_message=wake.set,
        )
        board = HttpBoard(URL, client)
        await join(core, board, Terms(url=URL))

        def play():
            choice = core.choose(segment=segment)
            if clicks:
                with suppress(LateReward):
                    core.reward(1.0, choice)

        moments = [20.0 * n for n in range(1, 30)]

        async def pause(seconds, woken):
            until = hand.monotonic + seconds
            while moments and moments[0] <= until and not woken.is_set():
                hand.pass_(max(0.0, moments.pop(0) - hand.monotonic))
                play()
            if not moments:
                raise asyncio.CancelledError
            if not woken.is_set():
                hand.pass_(max(0.0, until - hand.monotonic))

        with pytest.raises(asyncio.CancelledError):
            await run_forever(core, board, wake=wake, dice=lambda: 0.5, pace=PACE, pause=pause)
        assert core.health.sync is None
        await client.aclose()
        return recorder, core.best()

    store = Store.open(":memory:")
    store.identity("banner", ME)
    try:
        with open_store(path) as on_server:
            return asyncio.run(main(create_app(on_server, Settings())))
    finally:
        store.close()


PACE = Pace(every=30.0)
ALTERED = {
    "honest": {},
    "asks about one arm": {"asked": [1]},
    "says that one segment is decided": {"segments": [row(0, True), row(1, False), row(2, False)]},
    "says that two are decided": {"segments": [row(0, True), row(1, False), row(2, True)]},
    "shows other leaders": {"segments": [row(2, False), row(2, False), row(0, False)]},
}


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """The store of a server, on whose board the first segment is decided."""
    path = tmp_path_factory.mktemp("server") / "server.db"
    with open_store(path) as store:
        store.create(here(SPEC, "open"))
        for voter, answer in deciding(SPEC, 0):
            store.admit_known("banner", [voter.voter])
            store.post("banner", voter.sign(answer, scope(SPEC)))
    return path


@pytest.mark.parametrize("alter", ALTERED.values(), ids=ALTERED)
@pytest.mark.parametrize("clicks", [True, False])
def test_every_segment_makes_the_same_requests_at_the_same_moments(board, tmp_path, clicks, alter):
    """Whatever the server shows: it may lie about any segment, and about any arm."""
    noted, found = {}, {}
    for segment in NAMES:
        path = shutil.copy(board, tmp_path / f"{segment}.db")
        recorder, best = traffic(path, segment, clicks=clicks, alter=alter)
        noted[segment], found[segment] = recorder.noted, best
        assert len(recorder.answers) == 1
        assert len(recorder.noted) > 10
    assert noted["phone"] == noted["tablet"] == noted["desktop"]
    rows = alter.get("segments", [row(2, True), row(1, False), row(2, False)])
    best = {
        n: r["leader"] if r["status"] == "agreed" else None
        for n, r in zip(NAMES, rows, strict=True)
    }
    assert found == best, "it has read what was altered"
