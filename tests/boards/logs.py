"""Logs for tests: honest ones of every scheme, on a board and as a reader gets them."""

import random
from dataclasses import asdict
from typing import Any

from examples.scheme.first_to_finish import Finished
from tests.boards.local import here, scope
from tests.server.live import body, identity

from devote.boards.board import Envelope
from devote.boards.logs import Statement
from devote.boards.store import SqliteStore, add_voters
from devote.boards.verification import Verification
from devote.protocol import ExperimentSpec, Message, to_json
from devote.protocol.messages import OPERATOR, Scope, Withdrawal, entry
from devote.schemes import Answer, Claim, Pick, Reset, SegmentedAnswer, Survey, Vote
from devote.schemes.survey.signed_subsets import pack

NAME = "banner"


def survey_spec(**changes: Any) -> ExperimentSpec:
    """A survey that ten thousand answers do not decide."""
    given = {"epsilon": 0.01, "scheme": Survey(1.0)}
    return ExperimentSpec(arms=4, name=NAME, **{**given, **changes})


def survey_answers(
    count: int, first: int = 1, where: Scope | None = None, **changes: Any
) -> list[Envelope]:
    """Signed answers of as many devices, all options alike."""
    where = where or scope(survey_spec(**changes))
    draw = random.Random(7)
    sent = []
    for number in range(first, first + count):
        voter = identity(number)
        answer = Answer(NAME, draw.randrange(4), draw.randrange(2), 1, number - 1, voter.voter)
        sent.append(voter.sign(answer, where))
    return sent


def _sign(spec: ExperimentSpec, *sent: tuple[int, type, Any]) -> list[Envelope]:
    """Each voter by number, the kind of its message and the fields between name and voter."""
    signed = []
    for number, kind, *fields in sent:
        voter = identity(number)
        message: Message = kind(NAME, *fields, voter.voter)
        signed.append(voter.sign(message, scope(spec)))
    return signed


def _votes() -> tuple[ExperimentSpec, list[Envelope]]:
    spec = ExperimentSpec(arms=4, name=NAME, scheme={"quorum": 2})
    votes = [(voter, Vote, 0, arm) for arm in (0, 1, 3) for voter in (1, 2)]
    return spec, _sign(spec, *votes)


def _terms() -> tuple[ExperimentSpec, list[Envelope]]:
    scheme = {"quorum": 2}
    spec = ExperimentSpec(arms=3, name=NAME, algorithm="ser4", options={"phi": 0.01}, scheme=scheme)
    first = [(1, Vote, 0, 0), (2, Vote, 0, 0), (2, Reset, 1)]
    then = [(1, Vote, 1, 2), (3, Reset, 2), (1, Vote, 2, 1), (2, Vote, 2, 1)]
    return spec, _sign(spec, *first, *then)


def _jury() -> tuple[ExperimentSpec, list[Envelope]]:
    spec = ExperimentSpec(arms=3, name=NAME, scheme={"name": "jury", "seats": 9, "seat_after": 5})
    claims = [(voter, Claim) for voter in range(1, 10)]
    return spec, _sign(spec, *claims, *((voter, Pick, voter % 2) for voter in range(1, 10)))


def _survey() -> tuple[ExperimentSpec, list[Envelope]]:
    return survey_spec(), survey_answers(40)


def _withdrawn() -> tuple[ExperimentSpec, list[Envelope]]:
    spec = survey_spec()
    message = Withdrawal(NAME, 2)
    entered = Envelope(message, entry(message, scope(spec)))
    return spec, [*survey_answers(30), entered, *survey_answers(10, first=31)]


def _segments() -> tuple[ExperimentSpec, list[Envelope]]:
    names, draw = ("phone", "tablet", "desktop"), random.Random(3)
    spec = survey_spec(epsilon=0.3, scheme=Survey(2.0, segments=names))
    signs = [[draw.choice((-1, 1)) if k == n % 3 else 0 for k in range(3)] for n in range(40)]
    answers = [(n, SegmentedAnswer, n % 4, *pack(signs[n - 1]), 1, 0) for n in range(1, 41)]
    return spec, _sign(spec, *answers)


def _liars() -> tuple[ExperimentSpec, list[Envelope]]:
    """A survey up to its decision; its first three answers lie, for a bad arm and against the best.

    Without ``liars`` it would be decided 32 answers sooner.
    """
    spec = survey_spec(epsilon=0.3, scheme=Survey(None, liars=3))
    draw, tally, sent = random.Random(1), spec.scheme.tally(spec), []
    for arm, bit in ((3, 1), (1, 0), (3, 1)):
        sent.append((len(sent) + 1, Answer, arm, bit, 1, 0))
    while tally.status() == "open":
        if len(tally) >= len(sent):
            arm = draw.choice(tally.asked)
            bit = int(draw.random() < (0.1, 0.9, 0.5, 0.2)[arm])
            sent.append((len(sent) + 1, Answer, arm, bit, 1, len(tally)))
        number, kind, *fields = sent[len(tally)]
        tally.add(kind(NAME, *fields, identity(number).voter))
    return spec, _sign(spec, *sent)


def _outside() -> tuple[ExperimentSpec, list[Envelope]]:
    spec = ExperimentSpec(arms=3, name=NAME, scheme="first_to_finish")
    return spec, _sign(spec, *((voter, Finished, voter % 3) for voter in range(1, 6)))


HONEST = {
    "decentralized": _votes,
    "terms": _terms,
    "jury": _jury,
    "survey": _survey,
    "segments": _segments,
    "liars": _liars,
    "withdrawn": _withdrawn,
    "first_to_finish": _outside,
}
"""For each scheme specifications and logs that its board would have taken."""


def items(envelopes: list[Envelope]) -> list[dict[str, Any]]:
    """A log as a server gives it."""
    return [{"number": n, **body(envelope)} for n, envelope in enumerate(envelopes, start=1)]


def voters(envelopes: list[Envelope]) -> set[str]:
    return {envelope.message.voter for envelope in envelopes} - {OPERATOR}


def fold(spec: ExperimentSpec, envelopes: list[Envelope]) -> Statement:
    """What an honest server publishes of a log."""
    tally = spec.scheme.tally(spec)
    for envelope in envelopes:
        assert tally.refusal(envelope.message) is None
        tally.add(envelope.message)
    values = {**asdict(scope(spec)), **tally.public(None)}
    return Statement("tally", len(envelopes), values)


def check(spec, log, enrolled, statements=(), remembered=(), players=None, count=0):
    """The report on a log of items."""
    experiment = here(spec, players=players, enrolled=count)
    verification = Verification(experiment, enrolled, statements)
    for item in log:
        verification.take(item)
    return verification.report(remembered)


def fill(store: SqliteStore, spec: ExperimentSpec, envelopes: list[Envelope], first: int) -> None:
    """An experiment with the ``first`` of these messages, and all who say them enrolled."""
    store.create(here(spec))
    with store.database.write() as db:
        add_voters(db, NAME, voters(envelopes))
        db.executemany(
            "INSERT INTO messages VALUES (?, ?, ?, ?, ?)",
            [
                (NAME, number, e.message.voter, to_json(e.message), e.signature)
                for number, e in enumerate(envelopes[:first], start=1)
            ],
        )
