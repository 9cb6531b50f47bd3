"""Enrolling and posting on a log that servers share: what is asked, in which order, before a no.

A refusal is final to a device, so none is given by what this server happens to have read: before
it says no, it reads all that was posted anywhere (``Log.catch_up``).
"""

from typing import TYPE_CHECKING

from devote.boards.admission import NOT_ENROLLED, Receipt, no_invite, refused
from devote.boards.board import Envelope, Outcome
from devote.boards.jetstream.administration import standing_of
from devote.boards.jetstream.fold import enrolment_subject, entry, message_subject
from devote.boards.jetstream.invites import hashed
from devote.boards.jetstream.log import Appended, Log
from devote.boards.standing import REVOKED

if TYPE_CHECKING:
    from devote.boards.jetstream.administration import JetStreamAdministration
    from devote.boards.jetstream.catalogue import Catalogue
    from devote.boards.jetstream.invites import Invites


class Admitting:
    """Lets voters and messages in; all of it runs on the connection's loop."""

    def __init__(
        self,
        catalogue: "Catalogue",
        invites: "Invites",
        administration: "JetStreamAdministration",
    ) -> None:
        self._catalogue = catalogue
        self._invites = invites
        self._administration = administration

    async def enrol(
        self, log: Log, voter: str, signature: str, invite: str | None, most: int | None
    ) -> Receipt:
        """Let a voter post; its signature is good."""
        board = log.experiment.board
        needs_invite = log.experiment.enrolment == "invite"
        key = hashed(invite or "")
        if log.fold.is_revoked(voter):
            return REVOKED
        if (receipt := _enrolled(log, voter, most)) is not None:
            if receipt.outcome is Outcome.REFUSED:
                await log.catch_up()
                receipt = _enrolled(log, voter, most)
            elif needs_invite and invite is not None:
                await self._invites.use_up(board, key, voter)
            if receipt is not None:
                return receipt
        if (closed := await self._closed(log)) is not None:
            return closed
        if needs_invite and (invite is None or not await self._invites.take(board, key, voter)):
            await log.catch_up()
            if (receipt := _enrolled(log, voter, None)) is not None:
                return receipt
            return no_invite(invite)
        subject = enrolment_subject(voter)
        appended = await log.append(subject, signature.encode())
        with log.lock:
            reason = log.fold.refused.get(subject)
        if needs_invite and reason is None:
            await self._invites.use_up(board, key, voter)
        elif needs_invite:
            await self._invites.give_back(board, key, voter)
        if reason is not None:
            return refused(reason)
        new = appended is Appended.NEW
        return Receipt(Outcome.ACCEPTED if new else Outcome.DUPLICATE)

    async def post(self, log: Log, envelope: Envelope, most: int | None) -> Receipt:
        """Post a message; its signature is good."""
        receipt = _judged(log, envelope, most)
        if receipt is not None and receipt.outcome is Outcome.REFUSED:
            await log.catch_up()
            receipt = _judged(log, envelope, most)
        if receipt is None and log.fold.is_revoked(envelope.message.voter):
            receipt = REVOKED
        if receipt := receipt or await self._closed(log):
            return receipt
        subject = message_subject(envelope.message)
        appended = await log.append(subject, entry(envelope))
        with log.lock:
            number = log.fold.number_of(envelope.message)
            reason = log.fold.refused.get(subject)
        if number is None:
            return refused(reason or "Another message answers this question.\nDiscard this one.")
        new = appended is Appended.NEW
        return Receipt(Outcome.ACCEPTED if new else Outcome.DUPLICATE, number)

    async def _closed(self, log: Log) -> Receipt | None:
        """Why an experiment takes nothing new, by all that any server was told; None if it does."""
        name, now = log.experiment.name, self._administration.clock()
        record = self._catalogue.all().get(name, {})
        if standing_of(record).refusal(name, now) is None:
            return None
        return standing_of(await self._administration.record(name)).refusal(name, now)


def _enrolled(log: Log, voter: str, most: int | None) -> Receipt | None:
    """What is to be answered to a voter who asks to be enrolled, by what has been read so far."""
    with log.lock:
        if log.fold.is_enrolled(voter):
            return Receipt(Outcome.DUPLICATE)
        if reason := log.fold.place_refusal():
            return refused(reason)
        if most is not None and len(log.fold.enrolled) >= most:
            return refused(
                f"This experiment has all of its {most} devices.",
                "Take part in another experiment.",
            )
    return None


def _judged(log: Log, envelope: Envelope, most: int | None) -> Receipt | None:
    """What is to be answered to a message, by what has been read so far."""
    message = envelope.message
    with log.lock:
        if not log.fold.is_enrolled(message.voter):
            return NOT_ENROLLED
        if number := log.fold.number_of(message):
            return Receipt(Outcome.DUPLICATE, number)
        if most is not None and log.fold.count_of(message.voter) >= most:
            return refused(f"A voter may post at most {most} messages.", "Post no more.")
        if reason := log.fold.refusal(message):
            return refused(reason)
    return None
