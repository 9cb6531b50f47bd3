"""What every board does, whatever it is made of.

A new board joins by its line in ``devote.boards.BOARDS`` and a way to set it up here.
"""

import asyncio
import importlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from tests.boards.live import SPEC, identity, open_store, seat, serving, vote

from devote.boards import BOARDS
from devote.boards.board import Board, EndOfBacklog, Envelope, Event, Outcome, Posted
from devote.boards.experiment import Experiment
from devote.boards.faults import Faults, FaultyBoard, MockClock
from devote.boards.http import HttpBoard
from devote.boards.identity import Identity
from devote.boards.memory import MemoryBoard
from devote.boards.server import Settings, create_app
from devote.boards.sqlite import SqliteBoard
from devote.protocol import ExperimentSpec, Reset, Seat, Vote

SEATED = [identity(n) for n in range(1, 6)]
STRANGER = identity(99)


@asynccontextmanager
async def memory(spec: ExperimentSpec, seated: Sequence[Identity], folder: Path):
    yield MemoryBoard(spec, seats=[voter.voter for voter in seated])


@asynccontextmanager
async def sqlite(spec: ExperimentSpec, seated: Sequence[Identity], folder: Path):
    with open_store(folder / "board.db") as store:
        store.create(Experiment(spec))
        for voter in seated:
            seat(store, voter)
        yield SqliteBoard(store, spec.name)


@asynccontextmanager
async def http(spec: ExperimentSpec, seated: Sequence[Identity], folder: Path):
    with open_store(folder / "board.db") as store:
        store.create(Experiment(spec))
        async with AsyncExitStack() as stack:
            url = await stack.enter_async_context(serving(create_app(store, Settings())))
            board = await stack.enter_async_context(HttpBoard(f"{url}/experiments/{spec.name}"))
            for voter in seated:
                assert await board.claim_seat(voter) is Outcome.ACCEPTED
            yield board


@asynccontextmanager
async def faultless_link(spec: ExperimentSpec, seated: Sequence[Identity], folder: Path):
    async with memory(spec, seated, folder) as board:
        yield FaultyBoard(board, Faults(), MockClock(), seed=0)


OPENERS = {"memory": memory, "sqlite": sqlite, "http": http}


@pytest.fixture(params=[*BOARDS, "faultless link"])
def check(request, tmp_path):
    """Run a coroutine with a fresh board of each kind."""
    opener = {**OPENERS, "faultless link": faultless_link}[request.param]

    def run(test: Callable[[Board], Awaitable[None]], spec: ExperimentSpec = SPEC) -> None:
        async def main() -> None:
            async with asyncio.timeout(20), opener(spec, SEATED, tmp_path) as board:
                await test(board)

        asyncio.run(main())

    return run


async def take(board: Board, count: int, after: int = 0) -> list[Event]:
    """The first events of a stream."""
    stream = board.stream(after)
    try:
        return [await anext(stream) for _ in range(count)]
    finally:
        await stream.aclose()


def test_every_listed_board_is_tested_and_can_be_imported():
    assert set(OPENERS) == set(BOARDS)
    for place in BOARDS.values():
        module, _, name = place.partition(":")
        assert hasattr(getattr(importlib.import_module(module), name), "publish")


def test_a_message_is_accepted_once_and_a_duplicate_ever_after(check):
    async def test(board: Board) -> None:
        envelope = vote(SEATED[0])
        assert await board.publish(envelope) is Outcome.ACCEPTED
        assert await board.publish(envelope) is Outcome.DUPLICATE
        assert (await board.snapshot()).posted == (Posted(1, envelope),)

    check(test)


def _denied() -> dict[str, Envelope]:
    good, other = SEATED[0], SEATED[1]
    return {
        "forged signature": Envelope(vote(good).message, "0" * 128),
        "another's key": Envelope(Vote("banner", 0, 0, good.voter), vote(other).signature),
        "signature of another arm": Envelope(vote(good, 1).message, vote(good, 0).signature),
        "signature of another term": Envelope(
            Vote("banner", 1, 0, good.voter), vote(good).signature
        ),
        "signature of another kind": Envelope(
            Reset("banner", 1, good.voter), vote(good, term=1).signature
        ),
        "no seat": vote(STRANGER),
        "unknown arm": vote(good, SPEC.n_arms),
        "another experiment": vote(good, experiment="other"),
        "a term where nothing resets": vote(good, term=1),
        "a seat where there is no jury": good.sign(Seat("banner", 1, good.voter)),
        "key in capitals": Envelope(Vote("banner", 0, 0, good.voter.upper()), vote(good).signature),
        "signature in capitals": Envelope(vote(good).message, vote(good).signature.upper()),
    }


@pytest.mark.parametrize("case", list(_denied()))
def test_what_is_against_the_rules_is_denied_and_changes_nothing(check, case):
    async def test(board: Board) -> None:
        await board.publish(vote(SEATED[2], 3))
        before = await board.snapshot()
        assert await board.publish(_denied()[case]) is Outcome.DENIED
        assert await board.snapshot() == before

    check(test)


def test_each_kind_voter_term_and_arm_has_a_place_of_its_own(check):
    spec = ExperimentSpec(arms=4, name="banner", quorum=2, algorithm="ser4", phi=0.01)

    async def test(board: Board) -> None:
        a, b = SEATED[:2]
        different = [
            vote(a, 0),
            vote(a, 1),
            vote(b, 0),
            a.sign(Reset("banner", 1, a.voter)),
            b.sign(Reset("banner", 1, b.voter)),
            a.sign(Reset("banner", 2, a.voter)),
            vote(a, 0, term=1),
        ]
        for envelope in different:
            assert await board.publish(envelope) is Outcome.ACCEPTED
        for envelope in different:
            assert await board.publish(envelope) is Outcome.DUPLICATE
        posted = (await board.snapshot()).posted
        assert posted == tuple(Posted(n + 1, e) for n, e in enumerate(different))

    check(test, spec)


def test_a_jury_has_the_seats_it_has_and_no_more(check):
    spec = ExperimentSpec(arms=4, name="banner", protocol="jury")

    async def test(board: Board) -> None:
        a, b = SEATED[:2]
        beyond = spec.jury_size + 1
        assert await board.publish(a.sign(Seat("banner", beyond, a.voter))) is Outcome.DENIED
        for juror, place in ((a, 1), (b, spec.jury_size)):
            claim = juror.sign(Seat("banner", place, juror.voter))
            assert await board.publish(claim) is Outcome.ACCEPTED
            assert await board.publish(claim) is Outcome.DUPLICATE
        assert (await board.snapshot()).number == 2

    check(test, spec)


JURY = ExperimentSpec(arms=4, name="banner", protocol="jury")
RESETTING = ExperimentSpec(arms=4, name="banner", quorum=2, algorithm="ser4", phi=0.01)


def claim(voter: Identity, place: int) -> Envelope:
    return voter.sign(Seat("banner", place, voter.voter))


def reset(voter: Identity, term: int) -> Envelope:
    return voter.sign(Reset("banner", term, voter.voter))


def test_a_place_in_the_jury_is_had_by_one_voter_and_a_voter_has_one_place(check):
    async def test(board: Board) -> None:
        a, b = SEATED[:2]
        assert await board.publish(claim(a, 1)) is Outcome.ACCEPTED
        assert await board.publish(claim(b, 1)) is Outcome.DENIED
        assert await board.publish(claim(a, 2)) is Outcome.DENIED
        assert await board.publish(claim(a, 1)) is Outcome.DUPLICATE
        assert await board.publish(claim(b, 2)) is Outcome.ACCEPTED
        held = [posted.envelope for posted in (await board.snapshot()).posted]
        assert held == [claim(a, 1), claim(b, 2)]

    check(test, JURY)


def test_of_many_who_claim_the_same_place_at_once_one_has_it(check):
    async def test(board: Board) -> None:
        for place in range(1, len(SEATED) + 1):
            outcomes = await asyncio.gather(*(board.publish(claim(v, place)) for v in SEATED))
            assert outcomes.count(Outcome.ACCEPTED) == 1
            assert outcomes.count(Outcome.DENIED) == len(SEATED) - 1
        held = [posted.envelope.message for posted in (await board.snapshot()).posted]
        assert {message.voter for message in held} == {voter.voter for voter in SEATED}

    check(test, JURY)


@pytest.mark.parametrize("far", [2, 2**32 - 1])
@pytest.mark.parametrize("kind", ["vote", "reset"])
def test_a_term_that_skips_one_is_denied_so_that_no_seat_can_use_them_all_up(check, kind, far):
    async def test(board: Board) -> None:
        a, b = SEATED[:2]
        skipping = vote(a, term=far) if kind == "vote" else reset(a, far)
        assert await board.publish(skipping) is Outcome.DENIED
        assert (await board.snapshot()).number == 0
        for term in (1, 2, 3):
            assert await board.publish(reset(b, term)) is Outcome.ACCEPTED
        assert await board.publish(reset(b, 5)) is Outcome.DENIED
        assert await board.publish(vote(a, term=4)) is Outcome.ACCEPTED
        assert await board.publish(reset(a, 1)) is Outcome.ACCEPTED
        assert await board.publish(reset(b, 5)) is Outcome.ACCEPTED

    check(test, RESETTING)


def test_a_snapshot_begins_after_the_number_given(check):
    async def test(board: Board) -> None:
        empty = await board.snapshot()
        assert (empty.number, empty.posted) == (0, ())
        for arm in range(4):
            await board.publish(vote(SEATED[0], arm))
        later = await board.snapshot(2)
        assert later.number == 4
        assert [posted.number for posted in later.posted] == [3, 4]
        assert (await board.snapshot(4)).posted == ()

    check(test)


def test_a_number_below_the_one_asked_for_tells_that_the_board_has_lost_some(check):
    async def test(board: Board) -> None:
        await board.publish(vote(SEATED[0]))
        snapshot = await board.snapshot(7)
        assert (snapshot.number, snapshot.posted) == (1, ())

    check(test)


def test_a_stream_gives_the_backlog_then_its_end_then_what_comes(check):
    async def test(board: Board) -> None:
        first, second = vote(SEATED[0]), vote(SEATED[1])
        await board.publish(first)
        stream = board.stream()
        assert await anext(stream) == Posted(1, first)
        assert await anext(stream) == EndOfBacklog(1)
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await board.publish(second)
        assert await waiting == Posted(2, second)
        await stream.aclose()

    check(test)


def test_the_stream_of_an_empty_board_says_at_once_that_it_is_empty(check):
    async def test(board: Board) -> None:
        assert await take(board, 1) == [EndOfBacklog(0)]

    check(test)


def test_a_stream_resumes_after_the_number_given(check):
    async def test(board: Board) -> None:
        sent = [vote(SEATED[0], arm) for arm in range(4)]
        for envelope in sent:
            await board.publish(envelope)
        assert await take(board, 3, after=2) == [
            Posted(3, sent[2]),
            Posted(4, sent[3]),
            EndOfBacklog(4),
        ]

    check(test)


def test_many_listeners_all_hear_every_message_in_the_same_order(check):
    async def test(board: Board) -> None:
        listening = [asyncio.ensure_future(take(board, 9)) for _ in range(20)]
        await asyncio.sleep(0.05)
        posts = [vote(voter, arm) for voter in SEATED[:2] for arm in range(4)]
        await asyncio.gather(*map(board.publish, posts))
        heard = [[e for e in await one if isinstance(e, Posted)] for one in listening]
        assert all(events == heard[0] for events in heard)
        assert {event.envelope for event in heard[0]} == set(posts)

    check(test)


def test_the_same_votes_make_the_same_set_in_whatever_order_they_are_posted(check, tmp_path):
    posts = [vote(voter, arm) for voter in SEATED for arm in range(4)]

    async def test(board: Board) -> None:
        outcomes = await asyncio.gather(*map(board.publish, [*posts, *reversed(posts)]))
        assert sorted(outcomes).count(Outcome.ACCEPTED) == len(posts)
        snapshot = await board.snapshot()
        assert snapshot.number == len(posts)
        assert [posted.number for posted in snapshot.posted] == list(range(1, len(posts) + 1))
        assert {posted.envelope for posted in snapshot.posted} == set(posts)
        assert await board.snapshot() == snapshot

    check(test)


def test_when_the_outcome_is_unknown_posting_again_is_safe(check):
    async def test(board: Board) -> None:
        envelope = vote(SEATED[0])
        lost = asyncio.ensure_future(board.publish(envelope))
        await asyncio.sleep(0)
        lost.cancel()
        await asyncio.wait([lost])
        assert await board.publish(envelope) in (Outcome.ACCEPTED, Outcome.DUPLICATE)
        assert await board.publish(envelope) is Outcome.DUPLICATE
        assert (await board.snapshot()).posted == (Posted(1, envelope),)

    check(test)
