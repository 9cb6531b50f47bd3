"""One message or one voter, within a transaction on the file of a board store.

A store makes many of these in one transaction, so that they wait for the disk together.
"""

import sqlite3

from devote.boards.administration import barred, barred_voter
from devote.boards.admission import NOT_ENROLLED, Receipt, no_invite, refused
from devote.boards.board import Envelope, Outcome
from devote.boards.experiment import Experiment
from devote.boards.history import History
from devote.boards.invites import use_invite
from devote.protocol import to_json


def post_one(
    db: sqlite3.Connection, history: History, envelope: Envelope, most: int | None, now: float
) -> Receipt:
    """Post a message to the board whose history this is; ``most`` bounds those of one voter.

    What is there already is a duplicate also when nothing new is taken any more.
    """
    message, name = envelope.message, history.spec.name
    voter, text = message.voter, to_json(message)
    if not is_enrolled(db, name, voter):
        return NOT_ENROLLED
    there = db.execute(
        "SELECT number FROM messages WHERE experiment=? AND message=?", (name, text)
    ).fetchone()
    if there:
        return Receipt(Outcome.DUPLICATE, number=there[0])
    if told := barred_voter(db, name, voter) or barred(db, name, now):
        return told
    (posted,) = db.execute(
        "SELECT count(*) FROM messages WHERE experiment=? AND voter=?", (name, voter)
    ).fetchone()
    if most is not None and posted >= most:
        return refused(f"A voter may post at most {most} messages.", "Post no more.")
    if reason := history.tally.refusal(message):
        return refused(reason)
    number = history.number + 1
    row = (name, number, voter, text, envelope.signature)
    db.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?)", row)
    history.add(number, text, envelope.signature, message)
    return Receipt(Outcome.ACCEPTED, number=number)


def enrol_one(
    db: sqlite3.Connection,
    experiment: Experiment,
    voter: str,
    invite: str | None,
    most: int | None,
    now: float,
) -> Receipt:
    """Let a voter post; ``most`` bounds the voters beside the experiment's own players.

    An invite is used up only if one was needed and the voter enrolled. It is changed in its place,
    so that nothing tells when it was used.
    """
    name = experiment.name
    if told := barred_voter(db, name, voter):
        return told
    if is_enrolled(db, name, voter):
        return Receipt(Outcome.DUPLICATE)
    if told := barred(db, name, now):
        return told
    bounds = [bound for bound in (experiment.players, most) if bound is not None]
    if bounds and experiment.enrolled >= min(bounds):
        return refused(
            f"This experiment has all of its {min(bounds)} devices.",
            "Take part in another experiment.",
        )
    if experiment.enrolment == "invite" and not (invite and use_invite(db, name, invite, now)):
        return no_invite(invite)
    db.execute("INSERT INTO enrolled VALUES (?, ?)", (name, voter))
    return Receipt(Outcome.ACCEPTED)


def is_enrolled(db: sqlite3.Connection, experiment: str, voter: str) -> bool:
    """Whether a voter may post."""
    query = "SELECT 1 FROM enrolled WHERE experiment = ? AND voter = ?"
    return db.execute(query, (experiment, voter)).fetchone() is not None
