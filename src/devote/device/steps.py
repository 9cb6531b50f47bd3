"""The steps of a device: an event changes the record and says what to save. No I/O, no clock.

Theory of operation. A device is a record and the events that happen to it: an arm is asked for, a
reward comes, messages or a tally are read, a posted message has an outcome, time passes. Each step
takes the record and an event, with the time and the random numbers that it needs, changes the
record, and returns a ``Change``: what to store, in one transaction, and whether there may be
something to send once it is stored. A step that changes nothing returns None; one that refuses
raises before it has changed anything. Whoever drives the steps saves the change before anything
leaves the device or is returned to the app, so whatever anybody outside knows of is on disk. If the
change cannot be saved, the record is thrown away and loaded again. ``to_post`` and ``next_moment``
say what to send now and when to look again.

    choose -> (wake) -> reward, close_question or expire -> settle

*Deciding.* A device never decides on half of the messages. Until the board has been read to its end
once, what was read is counted apart from the player (``unread``): it plays all arms on its own, may
send what it has learned itself, but takes no arm out because of others, and there is no answer. The
board is not trusted: every message is checked again, by its signature and by the scheme's tally.
Where the scheme ``reads_tally`` the player reads that instead, and has to believe it.

*Answers.* Where a scheme has ``reply_after``, a play may be a question. It closes so many seconds
after the choice: a reward that has not come by then is 0. Its answer leaves a little later, at a
moment drawn together with the choice, whatever the arm pays. All work that depends on whether a
reward came is done before that moment, so that it delays nothing then, and a second question comes
no sooner or later because the first has had its reward. After a restart (``resume``) no wait is
longer than the longest there is, so a wall clock that was set back in between neither sends early
nor holds an answer for ever. An answer whose moment passed while the device was off leaves within a
second of the start, whether it was made before or not.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from devote.boards.admission import refusal
from devote.boards.board import Envelope, Outcome, Posted, TallySnapshot, page_of
from devote.device.record import Bookmark, Choice, Entry, Expiry, Fate, Record
from devote.protocol import Message
from devote.protocol.scheme import Tally
from devote.protocol.wire import Scope

Check: TypeAlias = Callable[[Envelope, Scope], bool]

EARLIEST, LATEST = 0.05, 0.25
"""An answer leaves between 1.05 and 1.25 times ``reply_after`` seconds after the choice."""


class Draw(NamedTuple):
    """What chance decides of a new play, drawn once.

    ``u`` picks the arm, ``noise`` is for schemes that blur what they send, ``jitter`` gives the
    moment of the answer; all are uniform on [0, 1). ``play`` names the play.
    """

    u: float
    noise: float
    jitter: float
    play: str


class Change(NamedTuple):
    """What a step has changed, to be stored in one transaction.

    ``row`` has the changed columns of the device's row, ``outbox`` the entries that are new or
    changed, ``removed`` those that are gone, ``read`` what was read of the board. ``rewind``: the
    board is read from its beginning again; ``keep`` or ``forget`` what others have posted.
    ``is_durable``: it must survive a power cut before the next thing happens. ``erases``: what was
    overwritten must not stay in the files. ``reloads``: the record is to be loaded again, because
    messages were taken back. ``wakes``: there may be something to send, now or at its moment.
    """

    row: Mapping[str, object] = MappingProxyType({})
    outbox: Sequence[Entry] = ()
    removed: Sequence[Message] = ()
    read: Sequence[Posted] = ()
    rewind: Literal["keep", "forget"] | None = None
    is_durable: bool = False
    erases: bool = False
    reloads: bool = False
    wakes: bool = False


# What the app does.


def choose(record: Record, now: float, draw: Draw) -> Change:
    """Play an arm; there must be none that awaits its reward."""
    record.player.activate(draw.u, draw.noise, ask=_is_free(record, now))
    after = record.spec.scheme.sending.reply_after
    record.pending_at, record.reply_at = now, None
    if after is not None and record.player.is_asked:
        record.closes = now + after
        record.reply_at = record.closes + after * (EARLIEST + (LATEST - EARLIEST) * draw.jitter)
    return _save_play(record, "pending", draw.play, record.player.outgoing())


def wake(record: Record, noise: float) -> Change:
    """The app has asked again while a play awaits its reward: that is an activation too."""
    record.player.wake(noise)
    added = _add(record, record.player.outgoing())
    row = {"player": record.player.to_json()}
    return Change(row, added, is_durable=bool(added), wakes=bool(added))


def reward(record: Record, x: float, choice: Choice | str | None) -> Change:
    """Learn what the choice paid; a question whose time is over must have been closed."""
    is_asked = record.player.is_asked
    record.plays.check(choice, is_asked=is_asked)
    return _end_play(record, "answered" if is_asked else "rewarded", record.player.reward(x))


def close_question(record: Record, now: float) -> Change | None:
    """Answer with a reward of 0 if the time for the pending question is over."""
    if not record.player.is_asked or (record.closes is not None and now < record.closes):
        return None
    return _abandon(record, "answered")


def expire(record: Record, now: float, expiry: Expiry) -> Change | None:
    """End the pending play if its reward has taken too long, or if another may be asked about."""
    player = record.player
    if player.pending is None or record.pending_at is None:
        return None
    if not player.is_asked and player.may_ask and _is_free(record, now):
        # Nor later, because a play that nobody asks about has not had its reward.
        return _abandon(record, "answered")
    if not expiry.is_due(now - record.pending_at):
        return None
    if player.is_asked:
        return _abandon(record, "answered")
    if expiry.on_expire == "zero":
        return _end_play(record, "expired", player.reward(0.0))
    return _abandon(record, "expired")


def pending(record: Record) -> Choice | None:
    """The choice that awaits its reward."""
    arm, play = record.player.pending, record.plays.pending
    if arm is None or play is None:
        return None
    return Choice(arm, record.spec.arm_names[arm], play)


def _is_free(record: Record, now: float) -> bool:
    """Whether no answer is held back: only then may another question be put."""
    return record.spec.scheme.sending.reply_after is None or not any(
        _is_held(entry, now) for entry in record.outbox.values()
    )


def _abandon(record: Record, fate: Fate) -> Change:
    record.player.abandon()
    return _end_play(record, fate, record.player.outgoing())


def _end_play(record: Record, fate: Fate, messages: Sequence[Message]) -> Change:
    play = record.plays.pending
    assert play is not None  # a pending arm and its pending play are stored together
    return _save_play(record, fate, play, messages)


def _save_play(record: Record, fate: Fate, play: str, messages: Sequence[Message]) -> Change:
    """Store what became of a play, with the messages that it gives rise to."""
    leaves_at = record.reply_at if fate == "answered" else None
    added = _add(record, messages, leaves_at)
    if fate != "pending":
        record.pending_at = record.reply_at = None
    record.plays = record.plays.noted(play, fate)
    row = {
        "player": record.player.to_json(),
        "pending_at": record.pending_at,
        "reply_at": record.reply_at,
        "plays": record.plays.text,
    }
    # An answer is posted when its time comes; its reward must not wake anybody.
    is_question = fate == "pending" and record.reply_at is not None
    return Change(
        row,
        added,
        is_durable=bool(added),
        erases=bool(added) and leaves_at is not None,
        wakes=is_question or (bool(added) and fate != "answered"),
    )


def _add(
    record: Record, messages: Sequence[Message], leaves_at: float | None = None
) -> tuple[Entry, ...]:
    """Sign what the player sends and put it into the outbox, but for what is there already."""
    if not messages:  # as at most pulls
        return ()
    added = [
        Entry(record.identity.sign(message, record.scope), leaves_at=leaves_at)
        for message in messages
        if message not in record.outbox
    ]
    return _replace(record, added)


# What is sent.


def to_post(record: Record, now: float) -> tuple[Envelope, ...]:
    """What is to be posted now, oldest first, with what was refused and is still wanted."""
    due = [entry for entry in record.outbox.values() if not _is_held(entry, now)]
    return tuple([e.envelope for e in due if e.delivery == "waiting" or _is_refused(record, e)])


def is_refused(record: Record) -> bool:
    """Whether the board has refused something that is still wanted."""
    return any(_is_refused(record, entry) for entry in record.outbox.values())


def settle(record: Record, envelope: Envelope, outcome: Outcome) -> Change:
    """Note what became of a posted message."""
    entry = record.outbox[envelope.message]
    if outcome is Outcome.REFUSED:
        entry = entry._replace(delivery="refused")
    else:
        entry = entry._replace(delivery="sent", has_left=True)
    return Change(outbox=_replace(record, [entry]))


def next_moment(record: Record, now: float) -> float | None:
    """When a question closes or an answer leaves next.

    The same moments whether the question has had its reward or not.
    """
    moments = [record.closes, *_leaving(record)]
    return min((at for at in moments if at is not None and at > now), default=None)


def leaves_in(record: Record, now: float) -> float | None:
    """Seconds until the next answer leaves, whether it is made already or not."""
    return min((at - now for at in _leaving(record) if at is not None and at > now), default=None)


def _leaving(record: Record) -> list[float | None]:
    return [record.reply_at, *(entry.leaves_at for entry in record.outbox.values())]


def _is_held(entry: Entry, now: float) -> bool:
    return entry.delivery == "waiting" and entry.leaves_at is not None and now < entry.leaves_at


def _is_refused(record: Record, entry: Entry) -> bool:
    return entry.delivery == "refused" and record.player.still_wants(entry.envelope.message)


def _replace(record: Record, entries: Iterable[Entry]) -> tuple[Entry, ...]:
    changed = tuple(entries)
    record.outbox |= {entry.envelope.message: entry for entry in changed}
    return changed


def _wait_again(record: Record, lost: Callable[[Entry], bool]) -> tuple[Entry, ...]:
    """Offer again what the board has lost."""
    entries = [entry for entry in record.outbox.values() if lost(entry)]
    return _replace(record, [entry._replace(delivery="waiting") for entry in entries])


# What is read.


class Reading(NamedTuple):
    """What came of reading, and whether some of it was not valid."""

    change: Change | None
    is_forged: bool


def read(record: Record, posted: Iterable[Posted], end: int | None, check: Check) -> Reading:
    """Take in what was read of the board; ``end`` if it was read up to that number."""
    before = record.bookmark
    bookmark, passed = before.moved(posted, end)
    valid = [p for p in passed if _take_in(record, p.envelope, check)]
    own = (p.envelope for p in valid if p.envelope.message.voter == record.identity.voter)
    record.seen.update(envelope.signature for envelope in own)
    record.bookmark = bookmark
    if bookmark.complete and record.unread is not None:
        _begin_to_decide(record, record.unread)
    lost: tuple[Entry, ...] = ()
    if end is not None and bookmark.number >= end:  # what was acknowledged but is not there
        lost = _wait_again(
            record, lambda e: e.delivery == "sent" and e.envelope.signature not in record.seen
        )
    change = None
    if lost or bookmark != before:
        change = Change(_row_of(bookmark), lost, read=valid)
    return Reading(change, len(valid) < len(passed))


def _row_of(bookmark: Bookmark) -> dict[str, object]:
    return {
        "cursor": bookmark.number,
        "anchor": " ".join(bookmark.anchor),
        "complete": bookmark.complete,
    }


def _take_in(record: Record, envelope: Envelope, check: Check) -> bool:
    """Count a message, unless it is not valid."""
    message = envelope.message
    tally = record.player.tally if record.unread is None else record.unread
    if refusal(envelope, record.spec, record.scope, check) or tally.refusal(message) is not None:
        return False
    if record.unread is None:
        record.player.receive(message)
    else:
        record.unread.add(message)
    return True


def _begin_to_decide(record: Record, unread: Tally) -> None:
    """The board has been read to its end: the player gets to know all of it."""
    record.player.tally, record.unread = unread, None
    # Where order matters the player reads its own messages on the board, as all others do.
    if not record.spec.scheme.about.needs_order:
        for message in record.outbox:
            record.player.receive(message)


def needs(record: Record, snapshot: TallySnapshot) -> bool:
    """Whether the log is to be read, by what the tally shows.

    It need not be while the tally shows what follows from the messages that were read: further
    votes have decided nothing yet. They are read when their page is full, or at the next look at
    all of it. Where the order of the board matters, or terms may begin, every message does.
    """
    bookmark, scheme = record.bookmark, record.spec.scheme
    if not bookmark.complete or snapshot.number < bookmark.number:
        return True
    if snapshot.number == bookmark.number:
        return False
    if scheme.about.needs_order or record.spec.resets:
        return True
    own = record.player.public(record.players)
    same = all(snapshot.tally.get(name) == own[name] for name in ("status", "shared"))
    return not same or page_of(snapshot.number + 1) > page_of(bookmark.number + 1)


def read_tally(record: Record, snapshot: TallySnapshot) -> Change | None:
    """Take in the board's tally, in place of the messages.

    A board that has fewer messages than before was restored from a backup: it is offered again
    what it has lost.
    """
    before = record.bookmark
    record.player.read(snapshot.tally)
    if before.complete and snapshot.number == before.number:
        return None
    record.bookmark = Bookmark(snapshot.number, complete=True)
    lost: tuple[Entry, ...] = ()
    if snapshot.number < before.number:
        lost = _wait_again(record, lambda entry: entry.delivery == "sent")
    row = {"player": record.player.to_json(), "cursor": snapshot.number, "complete": True}
    return Change(row, lost)


def recall(record: Record, held: Iterable[Envelope], check: Check) -> Change | None:
    """Take in what the board holds of this device, of which the store may be an older copy.

    What was sent before is not sent again; an answer that differs from it is never sent.
    """
    own = [e for e in held if e.message.voter == record.identity.voter]
    own = [e for e in own if refusal(e, record.spec, record.scope, check) is None]
    if not own:
        return None
    tally = record.spec.scheme.tally(record.spec)
    for envelope in own:
        tally.add(envelope.message)
        record.player.recall(envelope.message)
    unsent = (m for m, entry in record.outbox.items() if entry.delivery != "sent")
    false = [message for message in unsent if tally.refusal(message) is not None]
    return Change(
        {"player": record.player.to_json()},
        [Entry(envelope, "sent", has_left=True) for envelope in own],
        removed=false,
        is_durable=True,
        erases=True,
        reloads=True,
    )


def rewind(record: Record, *, forget: bool = False) -> Change:
    """Read the board from its beginning again, and offer it all own messages again.

    That they were once read there says nothing about the board there is now. What others have
    posted is kept, unless it was taken back (``forget``), or means something only in the order of
    the board.
    """
    forget = forget or record.spec.scheme.about.needs_order
    bookmark = Bookmark(complete=record.bookmark.complete and not forget)
    return Change(
        _row_of(bookmark),
        _wait_again(record, lambda _: True),
        rewind="forget" if forget else "keep",
        reloads=True,
    )


# What a restart does.


def resume(record: Record, now: float, jitter: float) -> Change | None:
    """Go on after a restart, with a play that is pending and answers that are held back.

    If the clock was set back since, what is stored is corrected.
    """
    after = record.spec.scheme.sending.reply_after
    pending_at = None if record.pending_at is None else min(record.pending_at, now)
    reply_at, held = record.reply_at, []
    if after is not None:
        if pending_at is not None and reply_at is not None:
            record.closes = pending_at + after
            reply_at = _leaves_at(after, reply_at, now, jitter)
        for entry in record.outbox.values():
            if entry.delivery == "waiting" and entry.leaves_at is not None:
                leaves_at = _leaves_at(after, entry.leaves_at, now, jitter)
                held.append(entry._replace(leaves_at=leaves_at))
    corrected = [entry for entry in held if entry != record.outbox[entry.envelope.message]]
    if not corrected and (pending_at, reply_at) == (record.pending_at, record.reply_at):
        return None
    record.pending_at, record.reply_at = pending_at, reply_at
    row = {"pending_at": pending_at, "reply_at": reply_at}
    return Change(row, _replace(record, corrected))


def _leaves_at(after: float, leaves_at: float, now: float, jitter: float) -> float:
    if leaves_at <= now:
        return now + jitter * min(1.0, LATEST * after)
    return min(leaves_at, now + (1.0 + LATEST) * after)
