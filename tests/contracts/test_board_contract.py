"""What every board does, whatever it is made of and however the group decides.

A new board joins by a line in ``OPENERS``, a new scheme by one in ``SCHEMES``.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest
from tests.boards.faults import Faults, FaultyBoard, MockClock
from tests.boards.local import here, scope
from tests.boards.memory import MemoryBoard
from tests.boards.nodes import fresh_address
from tests.server.live import body, enrol_all, identity, open_store, serving, vote

from devote.boards.board import (
    Board,
    EndOfBacklog,
    EnrolmentRefused,
    Envelope,
    Event,
    Outcome,
    Posted,
)
from devote.boards.http import HttpBoard
from devote.boards.identity import Identity
from devote.boards.jetstream.store import JetStreamStore
from devote.boards.sqlite import SqliteBoard
from devote.protocol import ExperimentSpec
from devote.schemes import Answer, Claim, Jury, Pick, Reset, Survey, Vote
from devote.server import Settings, create_app

ENROLLED = [identity(n) for n in range(1, 21)]
GOOD, OTHER = ENROLLED[:2]
STRANGER = identity(99)


DECENTRALIZED = ExperimentSpec(arms=4, name="banner", scheme={"quorum": 2})
RESETTING = DECENTRALIZED.with_(algorithm="ser4", options={"phi": 0.01})
JURY = ExperimentSpec(arms=4, name="banner", scheme=Jury())
SURVEY = ExperimentSpec(arms=4, name="banner", scheme=Survey())
SMALL_JURY = JURY.with_(scheme=Jury(seats=2), eta=0.1)


def reset(voter: Identity, term: int, spec: ExperimentSpec = RESETTING) -> Envelope:
    return voter.sign(Reset("banner", term, voter.voter), scope(spec))


def claim(
    voter: Identity, experiment: str = "banner", spec: ExperimentSpec = SMALL_JURY
) -> Envelope:
    return voter.sign(Claim(experiment, voter.voter), scope(spec))


def pick(voter: Identity, arm: int = 0, spec: ExperimentSpec = SMALL_JURY) -> Envelope:
    return voter.sign(Pick("banner", arm, voter.voter), scope(spec))


def answer(
    voter: Identity,
    arm: int = 0,
    bit: int = 1,
    number: int = 1,
    seen: int = 0,
    experiment: str = "banner",
    spec: ExperimentSpec = SURVEY,
) -> Envelope:
    return voter.sign(Answer(experiment, arm, bit, number, seen, voter.voter), scope(spec))


@dataclass(frozen=True)
class SchemeInUse:
    """A scheme as boards meet it.

    ``messages`` are twenty messages that may be posted in any order. After ``first`` the
    messages in ``against_the_rules`` are refused. ``foreign`` are other schemes' messages.
    """

    spec: ExperimentSpec
    messages: tuple[Envelope, ...]
    first: tuple[Envelope, ...]
    against_the_rules: dict[str, Envelope]
    foreign: tuple[Envelope, ...]


SCHEMES = {
    "decentralized": SchemeInUse(
        DECENTRALIZED,
        messages=tuple(vote(voter, arm) for voter in ENROLLED[:5] for arm in range(4)),
        first=(vote(ENROLLED[2], 3),),
        against_the_rules={
            "forged signature": Envelope(vote(GOOD).message, "0" * 128),
            "another's key": Envelope(Vote("banner", 0, 0, GOOD.voter), vote(OTHER).signature),
            "signature of another arm": Envelope(vote(GOOD, 1).message, vote(GOOD, 0).signature),
            "signature of another term": Envelope(
                Vote("banner", 1, 0, GOOD.voter), vote(GOOD).signature
            ),
            "signature of another kind": Envelope(
                Reset("banner", 1, GOOD.voter), vote(GOOD, term=1).signature
            ),
            "not enrolled": vote(STRANGER),
            "unknown arm": vote(GOOD, DECENTRALIZED.n_arms),
            "another experiment": vote(GOOD, experiment="other"),
            "a term where nothing resets": vote(GOOD, term=1),
            "key in capitals": Envelope(
                Vote("banner", 0, 0, GOOD.voter.upper()), vote(GOOD).signature
            ),
            "signature in capitals": Envelope(vote(GOOD).message, vote(GOOD).signature.upper()),
        },
        foreign=(claim(GOOD, spec=DECENTRALIZED), pick(GOOD, spec=DECENTRALIZED)),
    ),
    "jury": SchemeInUse(
        JURY,
        messages=tuple(claim(voter, spec=JURY) for voter in ENROLLED),
        first=(claim(GOOD, spec=JURY), pick(GOOD, 3, spec=JURY), claim(OTHER, spec=JURY)),
        against_the_rules={
            "forged signature": Envelope(claim(ENROLLED[2], spec=JURY).message, "0" * 128),
            "another's key": Envelope(
                pick(OTHER, spec=JURY).message, pick(GOOD, spec=JURY).signature
            ),
            "signature of another arm": Envelope(
                pick(OTHER, 1, spec=JURY).message, pick(OTHER, 0, spec=JURY).signature
            ),
            "signature of another kind": Envelope(
                pick(OTHER, spec=JURY).message, claim(OTHER, spec=JURY).signature
            ),
            "not enrolled": claim(STRANGER, spec=JURY),
            "unknown arm": pick(OTHER, JURY.n_arms, spec=JURY),
            "another experiment": claim(ENROLLED[2], experiment="other", spec=JURY),
            "a pick without a seat": pick(ENROLLED[2], spec=JURY),
            "a second pick": pick(GOOD, 2, spec=JURY),
        },
        foreign=(vote(GOOD, spec=JURY), reset(GOOD, 1, JURY)),
    ),
    "survey": SchemeInUse(
        SURVEY,
        messages=tuple(answer(voter, n % 4, n % 2) for n, voter in enumerate(ENROLLED)),
        first=(answer(GOOD, 3),),
        against_the_rules={
            "forged signature": Envelope(answer(OTHER).message, "0" * 128),
            "another's key": Envelope(answer(OTHER).message, answer(GOOD).signature),
            "signature of another arm": Envelope(answer(OTHER, 1).message, answer(OTHER).signature),
            "signature of another bit": Envelope(
                answer(OTHER, bit=0).message, answer(OTHER).signature
            ),
            "not enrolled": answer(STRANGER),
            "unknown arm": answer(OTHER, SURVEY.n_arms),
            "another experiment": answer(OTHER, experiment="other"),
            "a second answer": answer(GOOD, 2),
            "the other bit": answer(GOOD, 3, 0),
            "another snapshot": answer(GOOD, 3, seen=1),
            "more answers than there are": answer(OTHER, number=2),
        },
        foreign=(vote(GOOD, spec=SURVEY), claim(GOOD, spec=SURVEY), pick(GOOD, spec=SURVEY)),
    ),
}


@asynccontextmanager
async def memory(spec: ExperimentSpec, enrolled: Sequence[Identity], folder: Path):
    yield MemoryBoard(spec, enrolled=[voter.voter for voter in enrolled])


@asynccontextmanager
async def sqlite(spec: ExperimentSpec, enrolled: Sequence[Identity], folder: Path):
    with open_store(folder / "board.db") as store:
        store.create(here(spec))
        enrol_all(store, enrolled)
        yield SqliteBoard(store, spec.name)


@asynccontextmanager
async def jetstream(spec: ExperimentSpec, enrolled: Sequence[Identity], folder: Path):
    store = await asyncio.to_thread(JetStreamStore, fresh_address())
    with closing(store):
        store.create(here(spec))
        requests = [(spec.name, voter.voter, None) for voter in enrolled]
        assert all(receipt.outcome is Outcome.ACCEPTED for receipt in store.enrol_all(requests))
        yield SqliteBoard(store, spec.name)


@asynccontextmanager
async def http(spec: ExperimentSpec, enrolled: Sequence[Identity], folder: Path):
    async with sqlite(spec, enrolled, folder) as board, AsyncExitStack() as stack:
        url = await stack.enter_async_context(serving(create_app(board.store, Settings())))
        yield await stack.enter_async_context(HttpBoard(f"{url}/experiments/{spec.name}"))


@asynccontextmanager
async def http_on_jetstream(spec: ExperimentSpec, enrolled: Sequence[Identity], folder: Path):
    async with jetstream(spec, enrolled, folder) as board, AsyncExitStack() as stack:
        url = await stack.enter_async_context(serving(create_app(board.store, Settings())))
        yield await stack.enter_async_context(HttpBoard(f"{url}/experiments/{spec.name}"))


@asynccontextmanager
async def faultless_link(spec: ExperimentSpec, enrolled: Sequence[Identity], folder: Path):
    async with memory(spec, enrolled, folder) as board:
        yield FaultyBoard(board, Faults(), MockClock(), seed=0)


OPENERS = {
    "memory": memory,
    "sqlite": sqlite,
    "jetstream": jetstream,
    "http": http,
    "http on jetstream": http_on_jetstream,
    "faultless link": faultless_link,
}


async def why_refused(board: Board, envelope: Envelope) -> str:
    """The reason that a board gives, which ``publish`` does not tell."""
    if isinstance(board, FaultyBoard):
        return await why_refused(board.board, envelope)
    if isinstance(board, MemoryBoard):
        return board.post(envelope).reason
    if isinstance(board, SqliteBoard):
        return board.store.post("banner", envelope).reason
    assert isinstance(board, HttpBoard)
    async with httpx.AsyncClient() as client:
        answer = await client.post(f"{board.url}/messages", json=body(envelope))
        return answer.json()["error"]


@pytest.fixture(params=OPENERS)
def check(request, tmp_path):
    """Run a coroutine with a fresh board of each kind."""
    opener = OPENERS[request.param]

    def run(
        test: Callable[[Board], Awaitable[None]],
        spec: ExperimentSpec = DECENTRALIZED,
        enrolled: Sequence[Identity] = ENROLLED,
    ) -> None:
        async def main() -> None:
            async with asyncio.timeout(20), opener(spec, enrolled, tmp_path) as board:
                await test(board)

        asyncio.run(main())

    return run


@pytest.fixture(params=SCHEMES)
def used(request):
    return SCHEMES[request.param]


async def take(board: Board, count: int, after: int = 0) -> list[Event]:
    """The first events of a stream."""
    stream = board.stream(after)
    try:
        return [await anext(stream) for _ in range(count)]
    finally:
        await stream.aclose()


def test_a_device_learns_what_the_experiment_is_and_enrols(check, used):
    async def test(board: Board) -> None:
        assert replace(await board.fetch_experiment(), enrolled=0) == here(used.spec)
        envelope = used.messages[-1]
        voter = next(voter for voter in ENROLLED if voter.voter == envelope.message.voter)
        assert await board.publish(envelope) is Outcome.REFUSED
        assert await board.enrol(voter) is Outcome.ACCEPTED
        assert await board.enrol(voter) is Outcome.DUPLICATE
        assert await board.publish(envelope) is Outcome.ACCEPTED

    check(test, used.spec, ENROLLED[:2])


@pytest.mark.parametrize("opener", ["sqlite", "http"])
def test_a_device_that_may_not_enrol_is_refused(tmp_path, opener):
    closed = here(DECENTRALIZED.with_(name="closed"), "invite")

    async def main() -> None:
        async with OPENERS[opener](DECENTRALIZED, [], tmp_path) as board:
            with open_store(tmp_path / "board.db") as store:
                store.create(closed)
                (invite,) = store.invite("closed", 1)
                other: Board = (
                    HttpBoard(board.url.replace("banner", "closed"))
                    if isinstance(board, HttpBoard)
                    else SqliteBoard(store, "closed")
                )
                async with other:
                    with pytest.raises(EnrolmentRefused, match="needs an invite"):
                        await other.enrol(GOOD)
                    assert await other.enrol(GOOD, invite) is Outcome.ACCEPTED
                    with pytest.raises(
                        EnrolmentRefused, match="used already, expired, revoked or unknown"
                    ):
                        await other.enrol(OTHER, invite)

    asyncio.run(main())


def test_a_message_is_accepted_once_and_a_duplicate_ever_after(check, used):
    async def test(board: Board) -> None:
        envelope = used.messages[0]
        assert await board.publish(envelope) is Outcome.ACCEPTED
        assert await board.publish(envelope) is Outcome.DUPLICATE
        assert (await board.snapshot()).posted == (Posted(1, envelope),)

    check(test, used.spec)


def test_what_is_against_the_rules_is_refused_and_changes_nothing(check, used):
    async def test(board: Board) -> None:
        for envelope in used.first:
            assert await board.publish(envelope) is Outcome.ACCEPTED
        before = await board.snapshot()
        for case, envelope in used.against_the_rules.items():
            assert await board.publish(envelope) is Outcome.REFUSED, case
            assert "\n" in await why_refused(board, envelope), f"{case}: a remedy is missing"
            assert await board.snapshot() == before, case

    check(test, used.spec)


def test_another_schemes_message_is_refused_with_the_reason_and_changes_nothing(check, used):
    async def test(board: Board) -> None:
        for envelope in used.first:
            assert await board.publish(envelope) is Outcome.ACCEPTED
        before = await board.snapshot()
        for envelope in used.foreign:
            assert await board.publish(envelope) is Outcome.REFUSED
            reason = await why_refused(board, envelope)
            assert f"whose scheme {used.spec.scheme.name} has no such message" in reason
        assert await board.snapshot() == before
        assert await board.publish(used.messages[2]) is Outcome.ACCEPTED

    check(test, used.spec)


def test_each_kind_voter_term_and_arm_has_a_place_of_its_own(check):
    async def test(board: Board) -> None:
        a, b = ENROLLED[:2]
        different = [
            vote(a, 0, spec=RESETTING),
            vote(a, 1, spec=RESETTING),
            vote(b, 0, spec=RESETTING),
            reset(a, 1),
            reset(b, 1),
            reset(a, 2),
            vote(a, 0, term=1, spec=RESETTING),
        ]
        for envelope in different:
            assert await board.publish(envelope) is Outcome.ACCEPTED
        for envelope in different:
            assert await board.publish(envelope) is Outcome.DUPLICATE
        posted = (await board.snapshot()).posted
        assert posted == tuple(Posted(n + 1, e) for n, e in enumerate(different))

    check(test, RESETTING)


def test_a_jury_has_the_seats_it_has_and_no_more(check):
    async def test(board: Board) -> None:
        a, b, c = ENROLLED[:3]
        for juror in (a, b):
            assert await board.publish(claim(juror)) is Outcome.ACCEPTED
        assert await board.publish(claim(c)) is Outcome.REFUSED
        assert await board.publish(claim(a)) is Outcome.DUPLICATE
        assert await board.publish(pick(b)) is Outcome.ACCEPTED
        assert await board.publish(pick(b)) is Outcome.DUPLICATE
        held = [posted.envelope for posted in (await board.snapshot()).posted]
        assert held == [claim(a), claim(b), pick(b)]

    check(test, SMALL_JURY)


def test_of_many_who_claim_at_once_as_many_have_a_seat_as_there_are(check):
    async def test(board: Board) -> None:
        outcomes = await asyncio.gather(*(board.publish(claim(voter)) for voter in ENROLLED))
        assert outcomes.count(Outcome.ACCEPTED) == 2
        assert outcomes.count(Outcome.REFUSED) == len(ENROLLED) - 2
        held = [posted.envelope.message.voter for posted in (await board.snapshot()).posted]
        jurors = [
            voter.voter
            for voter, outcome in zip(ENROLLED, outcomes, strict=True)
            if outcome is Outcome.ACCEPTED
        ]
        assert sorted(held) == sorted(jurors)

    check(test, SMALL_JURY)


@pytest.mark.parametrize("far", [2, 2**32 - 1])
@pytest.mark.parametrize("kind", ["vote", "reset"])
def test_a_term_that_skips_one_is_refused_so_that_no_voter_can_use_them_all_up(check, kind, far):
    async def test(board: Board) -> None:
        a, b = ENROLLED[:2]
        skipping = vote(a, term=far, spec=RESETTING) if kind == "vote" else reset(a, far)
        assert await board.publish(skipping) is Outcome.REFUSED
        assert (await board.snapshot()).number == 0
        for term in (1, 2, 3):
            assert await board.publish(reset(b, term)) is Outcome.ACCEPTED
        assert await board.publish(reset(b, 5)) is Outcome.REFUSED
        assert await board.publish(vote(a, term=4, spec=RESETTING)) is Outcome.ACCEPTED
        assert await board.publish(reset(a, 1)) is Outcome.ACCEPTED
        assert await board.publish(reset(b, 5)) is Outcome.ACCEPTED

    check(test, RESETTING)


def test_a_snapshot_begins_after_the_number_given(check, used):
    async def test(board: Board) -> None:
        empty = await board.snapshot()
        assert (empty.number, empty.posted) == (0, ())
        for envelope in used.messages[:4]:
            await board.publish(envelope)
        later = await board.snapshot(2)
        assert later.number == 4
        assert [posted.number for posted in later.posted] == [3, 4]
        assert (await board.snapshot(4)).posted == ()

    check(test, used.spec)


def test_a_number_below_the_one_asked_for_shows_that_the_board_has_lost_some(check, used):
    async def test(board: Board) -> None:
        await board.publish(used.messages[0])
        snapshot = await board.snapshot(7)
        assert (snapshot.number, snapshot.posted) == (1, ())

    check(test, used.spec)


def test_a_stream_gives_the_backlog_then_its_end_then_what_comes(check, used):
    async def test(board: Board) -> None:
        first, second = used.messages[:2]
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

    check(test, used.spec)


def test_the_stream_of_an_empty_board_ends_its_backlog_at_once(check, used):
    async def test(board: Board) -> None:
        assert await take(board, 1) == [EndOfBacklog(0)]

    check(test, used.spec)


def test_a_stream_resumes_after_the_number_given(check, used):
    async def test(board: Board) -> None:
        sent = used.messages[:4]
        for envelope in sent:
            await board.publish(envelope)
        assert await take(board, 3, after=2) == [
            Posted(3, sent[2]),
            Posted(4, sent[3]),
            EndOfBacklog(4),
        ]

    check(test, used.spec)


def test_many_listeners_all_receive_every_message_in_the_same_order(check, used):
    async def test(board: Board) -> None:
        listening = [asyncio.ensure_future(take(board, 9)) for _ in range(20)]
        await asyncio.sleep(0.05)
        posts = used.messages[:8]
        await asyncio.gather(*map(board.publish, posts))
        received = [[e for e in await one if isinstance(e, Posted)] for one in listening]
        assert all(events == received[0] for events in received)
        assert {event.envelope for event in received[0]} == set(posts)

    check(test, used.spec)


def test_the_same_messages_make_the_same_set_in_whatever_order_they_are_posted(check, used):
    posts = used.messages

    async def test(board: Board) -> None:
        outcomes = await asyncio.gather(*map(board.publish, [*posts, *reversed(posts)]))
        assert sorted(outcomes).count(Outcome.ACCEPTED) == len(posts)
        snapshot = await board.snapshot()
        assert snapshot.number == len(posts)
        assert [posted.number for posted in snapshot.posted] == list(range(1, len(posts) + 1))
        assert {posted.envelope for posted in snapshot.posted} == set(posts)
        assert await board.snapshot() == snapshot

    check(test, used.spec)


def test_when_the_outcome_is_unknown_posting_again_is_safe(check, used):
    async def test(board: Board) -> None:
        envelope = used.messages[0]
        lost = asyncio.ensure_future(board.publish(envelope))
        await asyncio.sleep(0)
        lost.cancel()
        await asyncio.wait([lost])
        assert await board.publish(envelope) in (Outcome.ACCEPTED, Outcome.DUPLICATE)
        assert await board.publish(envelope) is Outcome.DUPLICATE
        assert (await board.snapshot()).posted == (Posted(1, envelope),)

    check(test, used.spec)


def test_a_board_has_the_messages_of_one_voter(check, used):
    async def test(board: Board) -> None:
        for envelope in used.messages:
            assert await board.publish(envelope) is Outcome.ACCEPTED
        voter = used.messages[3].message.voter
        own = tuple(e for e in used.messages if e.message.voter == voter)
        assert await board.sent_by(voter) == own
        assert await board.sent_by(STRANGER.voter) == ()

    check(test, used.spec)


def test_answers_are_counted_until_the_decision_also_about_arms_not_asked_about_now(check):
    spec = SURVEY.with_(epsilon=0.5, scheme=Survey(None))

    async def test(board: Board) -> None:
        voters = map(identity, range(1, 200))
        counted = spec.scheme.tally(spec)
        while 0 in counted.asked:
            for arm, bit in ((0, 0), (1, 1), (2, 1), (3, 1)):
                sent = answer(next(voters), arm, bit, seen=len(counted), spec=spec)
                assert await board.publish(sent) is Outcome.ACCEPTED
                counted.add(sent.message)
        assert counted.asked == (1, 2, 3)
        before = counted.counts
        late = answer(next(voters), 0, seen=2, spec=spec)
        assert await board.publish(late) is Outcome.ACCEPTED
        assert counted.add(late.message)
        assert counted.counts == (before[0] + 1, *before[1:])
        current = (await board.tally()).tally
        assert (current["asked"], current["counts"]) == ([1, 2, 3], list(counted.counts))
        assert current["snapshot"] == len(counted)
        while counted.status() == "open":
            for arm, bit in ((1, 1), (2, 0), (3, 0)):
                sent = answer(next(voters), arm, bit, seen=len(counted), spec=spec)
                if counted.refusal(sent.message) is None:
                    assert await board.publish(sent) is Outcome.ACCEPTED
                    counted.add(sent.message)
        late = answer(next(voters), 1, spec=spec)
        assert await board.publish(late) is Outcome.REFUSED
        assert "is decided" in await why_refused(board, late)
        assert (await board.tally()).tally == counted.public()

    check(test, spec, [identity(n) for n in range(1, 200)])


def test_the_tally_is_what_the_messages_come_to(check, used):
    async def test(board: Board) -> None:
        counted = used.spec.scheme.tally(used.spec)
        tags = set()
        for number, envelope in enumerate((None, *used.messages[:5])):
            if envelope is not None:
                assert await board.publish(envelope) is Outcome.ACCEPTED
                counted.add(envelope.message)
            current = await board.tally()
            assert (current.number, current.scope) == (number, scope(used.spec))
            assert current.tally == counted.public()
            assert await board.tally() == current
            assert len(current.to_json()) < 400
            tags.add(current.tag)
        assert len(tags) == 6

    check(test, used.spec)
