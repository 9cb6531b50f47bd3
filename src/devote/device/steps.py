"""What a device knows, as one record, and the steps that change it. No I/O, no clock, no chance.

Theory of operation. A step takes the ``Record`` and an event (an arm is asked for, a reward comes,
messages or a tally are read, a posted message has an outcome), with the time and the random numbers
that it needs, changes the record, and returns a ``Change``: what else to store with it, in one
transaction. A step that changes nothing returns None; one that refuses raises before it has changed
anything. ``core`` saves the record before anything leaves the device or is returned to the app, and
loads it again if that fails. ``to_post`` and ``next_in`` say what to send now and when to look
again.

    choose -> (wake) -> reward or end_play -> settle

*Time.* All moments are on one clock: seconds since 1970 when the process started, plus what a clock
that never jumps has counted since. So a wall clock that is set changes nothing while the process
runs, and what is stored still means something after a restart (``resume``).

*Plays.* A reward names its play, and the last plays are remembered with what became of them: the
reward of a play that has expired must not be counted for the play that was chosen next.

*Deciding.* A device never decides on half of the messages. Until the board has been read to its end
once, what was read is counted apart from the player: it plays all arms on its own, may send what it
has learned itself, but takes no arm out because of others, and there is no answer. The board is not
trusted: every message is checked again, by its signature and by the scheme's tally. Where the
scheme ``reads_tally`` the player reads that instead, and has to believe it.

*Answers.* Where a scheme has ``reply_after``, a play may be a question. It closes so many seconds
after the choice: a reward that has not come by then is 0. Its answer leaves a little later, at a
moment drawn together with the choice. All work that depends on whether a reward came is done before
that moment, so that it delays nothing then, and a second question comes no sooner or later because
the first has had its reward. After a restart no wait is longer than the longest there is, whatever
was done to the wall clock. An answer whose moment passed while the device was off leaves within a
second of the start, whether it was made before or not.
"""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias, get_args

from devote.boards.admission import Check, refusal
from devote.boards.board import Envelope, Outcome, Posted, TallySnapshot, page_of
from devote.boards.identity import Identity
from devote.device.errors import (
    DeviceError,
    LateReward,
    RepeatedReward,
    RewardRefused,
    UnclearReward,
    UnknownPlay,
)
from devote.protocol import ExperimentSpec, Message, Player
from devote.protocol.messages import Scope
from devote.protocol.scheme import Sending, Tally

OnExpire: TypeAlias = Literal["drop", "zero"]

EARLIEST, LATEST = 0.05, 0.25
"""An answer leaves between 1.05 and 1.25 times ``reply_after`` seconds after the choice."""

KEPT_PLAYS = 100
"""How many plays are remembered, the latest."""

KEPT_SIGNATURES = 16
"""Signatures a bookmark remembers: the same ones, in the same order, will not come by chance."""


# What a device knows.


@dataclass(frozen=True, slots=True)
class Clock:
    """Where a device takes the time from."""

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic

    def start(self) -> Callable[[], float]:
        """The time from now on: it begins as the wall clock's, and never jumps."""
        offset, monotonic = self.wall() - self.monotonic(), self.monotonic
        return lambda: offset + monotonic()


@dataclass(frozen=True, slots=True)
class Expiry:
    """After ``after`` seconds a pull is dropped as if it had not been, or counts as a reward of 0.

    ``zero`` suits rewards that can only be seen to come (a click); ``drop`` suits a reward that
    got lost. Without ``after`` a pull waits for ever. A pull is looked at when the next arm is
    asked for: a late reward that comes before that still counts, one that comes after is refused.
    """

    after: float | None = None
    on_expire: OnExpire = "drop"

    def __post_init__(self) -> None:
        if self.on_expire not in get_args(OnExpire):
            raise DeviceError(
                f"on_expire={self.on_expire!r} must be 'drop' or 'zero'.\n"
                "'drop' forgets the pull, 'zero' counts it as a reward of 0."
            )
        if self.after is not None and not self.after > 0.0:
            raise DeviceError(
                f"expire_after={self.after!r} must be more than 0 seconds.\n"
                "Leave it out for pulls that wait for ever."
            )


class Choice(int):
    """One play of one arm. It is the arm's number, so it indexes and compares as one.

    ``name`` is the arm's name. ``play`` tells this play from all others, also from other plays
    of the same arm: a random text of no meaning, which may travel with what is shown and be
    given to ``reward`` in place of the choice. It is empty if nothing is learned from this one,
    because the device does not take part, or not yet.

    >>> choice = Choice(1, name="green", play="9f3c")
    >>> ("red", "green")[choice], choice == 1, choice.name
    ('green', True, 'green')
    """

    name: str
    play: str

    def __new__(cls, arm: int, name: str, play: str) -> "Choice":
        """A play of ``arm``; only a device makes one that it knows."""
        choice = int.__new__(cls, arm)
        choice.name = name
        choice.play = play
        return choice

    @property
    def arm(self) -> int:
        """The arm's number, as a plain one."""
        return int(self)

    def __getnewargs__(self) -> tuple[int, str, str]:  # type: ignore[override]
        return int(self), self.name, self.play

    def __repr__(self) -> str:
        return f"Choice({int(self)}, name={self.name!r}, play={self.play!r})"

    __str__ = int.__repr__


@dataclass(frozen=True, slots=True)
class Bookmark:
    """How far the board has been read: all up to ``number``; ``complete`` once to its end.

    Messages are numbered 1, 2, 3, ..., and a bookmark moves on only over numbers that have all been
    read. ``anchor`` is the last signatures up to there: reading them again shows whether the board
    is still the one that was read, or was restored from a backup and has gone on otherwise.
    """

    number: int = 0
    anchor: tuple[str, ...] = ()
    complete: bool = False

    @property
    def read_from(self) -> int:
        """What to pass as ``after``, so as to see the messages of the anchor again."""
        return self.number - len(self.anchor)

    def moved(
        self, posted: Iterable[Posted], end: int | None = None
    ) -> tuple["Bookmark", list[Posted]]:
        """The bookmark after reading these, and the messages it has moved over, in their order.

        ``end`` is given if the board was read up to that number.
        """
        found = {p.number: p for p in posted}
        number, passed = self.number, []
        while number + 1 in found:
            number += 1
            passed.append(found[number])
        anchor = (*self.anchor, *(p.envelope.signature for p in passed))[-KEPT_SIGNATURES:]
        complete = self.complete or (end is not None and number >= end)
        return Bookmark(number, anchor, complete), passed

    def holds(self, posted: Iterable[Posted]) -> bool:
        """Whether what was read before is where it was, in what was read from ``read_from``."""
        there = {p.number: p.envelope.signature for p in posted}
        return self.anchor == tuple(map(there.get, range(self.read_from + 1, self.number + 1)))


class Entry(NamedTuple):
    """A message in the outbox and what became of it.

    ``delivery`` is about the board there is now: it has acknowledged the message (``sent``), or
    shown it. ``has_left``: some board has acknowledged it; one that a restored board has lost waits
    again, and has left all the same. It is not sent before ``leaves_at``. Nothing is ever removed,
    but for an answer that the board shows to be another one than was sent before.
    """

    envelope: Envelope
    delivery: Literal["waiting", "sent", "shown", "refused"] = "waiting"
    has_left: bool = False
    leaves_at: float | None = None


@dataclass(eq=False, repr=False)
class Record:
    """One device in one experiment. Its store saves it, and only the steps change it.

    ``scope`` is the board and the specification of the first join, for good. ``plays`` is a text:
    see ``_noted``. ``pending_at`` is when the pending arm was chosen and ``reply_at`` when its
    answer is to leave. ``outbox`` has every message that the device has produced, oldest first.
    ``signer`` is the key of the board's servers since the first join, empty if they sign nothing.

    ``tally`` counts what was read: the player's own once the board has been read to its end.
    ``closes``, which is not stored, is when a reward for the last question is too late, whether it
    has come or not.
    """

    scope: Scope
    spec: ExperimentSpec
    players: int | None
    identity: Identity
    player: Player
    plays: str
    bookmark: Bookmark
    outbox: dict[Message, Entry]
    pending_at: float | None = None
    reply_at: float | None = None
    signer: str = ""

    tally: Tally = field(init=False)
    closes: float | None = None
    sending: Sending = field(init=False)

    def __post_init__(self) -> None:
        about, self.sending = self.spec.scheme.about, self.spec.scheme.sending
        is_own = self.bookmark.complete or about.reads_tally
        self.tally = self.player.tally if is_own else self.spec.scheme.tally(self.spec)

    def __repr__(self) -> str:
        return f"Record({self.spec.name!r})"


class Change(NamedTuple):
    """What a step has changed beside the record's own fields, to be stored with them at once.

    ``outbox`` has the entries that are new or changed, ``removed`` the messages of those that are
    gone, ``read`` what was read of the board. ``rewind``: the board is read from its beginning
    again; ``keep`` or ``forget`` what others have posted. ``reloads``: the record is to be loaded
    again, because messages were taken back. ``sends``: there may be something to send, now or at
    its moment. ``forged``: some of what was read is not valid.
    """

    outbox: Sequence[Entry] = ()
    removed: Sequence[Message] = ()
    read: Sequence[Posted] = ()
    rewind: Literal["keep", "forget"] | None = None
    reloads: bool = False
    sends: bool = False
    forged: bool = False


NOTHING_ELSE = Change()
"""As at most pulls: the record's own fields only."""


# Plays and what became of them: one text, 14 letters a play, of which the last may be pending.

_NAME, _ENTRY = 12, 14
_PENDING, _REWARDED, _EXPIRED = "P", "R", "X"
_ANSWERED = "A"
"""The answer to a question is made, with a reward or because none came; which is not kept."""


def _noted(plays: str, play: str, fate: str) -> str:
    """The same with what became of a play: a new one, or the last.

    >>> _noted(_noted("", "9f3c00aa11bb", "P"), "9f3c00aa11bb", "R")
    '9f3c00aa11bbR '
    """
    text = plays.removesuffix(f"{play}P ") + f"{play}{fate} "
    return text[-KEPT_PLAYS * _ENTRY :]


_REFUSALS: dict[str, tuple[type[RewardRefused], str]] = {
    _EXPIRED: (
        LateReward,
        "This reward came too late: its play had expired and is not pending any more. "
        "It is not counted.\nUse a longer expire_after if such rewards are to count.",
    ),
    _ANSWERED: (
        LateReward,
        "This play is answered for: it has had its reward, or none came in time, which "
        "is a reward of 0. This one is not counted.\nThere is nothing left to do.",
    ),
    _REWARDED: (
        RepeatedReward,
        "This play has had its reward, which counts once.\nThere is nothing left to do.",
    ),
    "": (
        UnknownPlay,
        f"This is none of the last {KEPT_PLAYS} plays of this device.\n"
        "Pass what choose() or pending() gave, or its text .play.",
    ),
}


def _check_play(plays: str, choice: Choice | str | None, *, is_asked: bool) -> None:
    """Raise unless a reward for this choice is one for the pending play.

    ``is_asked``: the pending play is a question, for which no other's reward may count.
    """
    if choice is None:
        if _EXPIRED in plays or (is_asked and _ANSWERED in plays):
            raise UnclearReward(
                "A play has expired and its reward may still come, so it is not clear which "
                "play this one is for.\nPass what choose() gave: reward(x, choice)."
            )
        return
    play = choice.play if isinstance(choice, Choice) else choice
    at = plays.rfind(play) if isinstance(play, str) and len(play) == _NAME else -1
    fate = "" if at < 0 or at % _ENTRY else plays[at + _NAME]
    if fate != _PENDING:
        kind, text = _REFUSALS[fate]
        raise kind(text)


# What the app does.


def choose(
    record: Record,
    now: float,
    u: float,
    draw: Callable[[], float],
    jitter: float,
    segment: str | None = None,
) -> Change:
    """Play an arm; there must be none that awaits its reward.

    ``u`` picks the arm, ``draw`` gives noise for schemes that blur what they send, ``jitter`` gives
    the moment of the answer; all are uniform on [0, 1) and drawn once. ``segment`` is the kind of
    user, which only the player knows. The play's name is random, so that one lost in a power cut
    stays lost.
    """
    player, after = record.player, record.sending.reply_after
    noise = draw() if record.sending.noisy else 0.0
    player.activate(u, noise, ask=_is_free(record, now), segment=segment, draws=draw)
    record.pending_at, record.reply_at = now, None
    if after is not None and player.is_asked:
        record.closes = now + after
        record.reply_at = record.closes + after * (EARLIEST + (LATEST - EARLIEST) * jitter)
    record.plays = _noted(record.plays, os.urandom(_NAME // 2).hex(), _PENDING)
    if (added := _add(record, player.outgoing())) or record.reply_at is not None:
        return Change(added, sends=True)
    return NOTHING_ELSE


def wake(record: Record, noise: float) -> Change:
    """The app has asked again while a play awaits its reward: that is an activation too."""
    record.player.wake(noise)
    added = _add(record, record.player.outgoing())
    return Change(added, sends=bool(added))


def reward(record: Record, x: float, choice: Choice | str | None) -> Change:
    """Learn what the choice paid; a question whose time is over must have been ended."""
    is_asked = record.player.is_asked
    _check_play(record.plays, choice, is_asked=is_asked)
    messages = record.player.reward(x)
    return _end(record, _ANSWERED if is_asked else _REWARDED, messages)


def end_play(record: Record, now: float, expiry: Expiry | None = None) -> Change | None:
    """End the pending play if its time is over; a question then has the answer of a reward of 0.

    An expiry is given when the next arm is asked for. Then also a play ends that is no question,
    if it has taken too long or if the next one may be a question.
    """
    player = record.player
    if player.pending is None or record.pending_at is None:
        return None
    waits = None if expiry is None else expiry.after
    is_late = waits is not None and now - record.pending_at >= waits
    if player.is_asked:
        if not is_late and record.closes is not None and now < record.closes:
            return None
        fate = _ANSWERED
    elif expiry is None:
        return None
    elif player.may_ask and _is_free(record, now):
        # Nor later, because a play that nobody asks about has not had its reward.
        fate = _ANSWERED
    elif is_late:
        fate = _EXPIRED
        if expiry.on_expire == "zero":
            return _end(record, fate, player.reward(0.0))
    else:
        return None
    player.abandon()
    return _end(record, fate, player.outgoing())


def pending(record: Record) -> Choice | None:
    """The choice that awaits its reward."""
    arm = record.player.pending
    if arm is None:
        return None
    return Choice(arm, record.spec.arm_names[arm], record.plays[-_ENTRY:][:_NAME])


def _is_free(record: Record, now: float) -> bool:
    """Whether no answer is held back: only then may another question be put."""
    return record.sending.reply_after is None or not any(
        _is_held(entry, now) for entry in record.outbox.values()
    )


def _end(record: Record, fate: str, messages: Sequence[Message]) -> Change:
    """End the pending play, with the messages that it gives rise to."""
    is_answer = fate == _ANSWERED
    added = _add(record, messages, record.reply_at if is_answer else None)
    record.pending_at = record.reply_at = None
    record.plays = _noted(record.plays, record.plays[-_ENTRY:][:_NAME], fate)
    if not added:
        return NOTHING_ELSE
    # An answer is posted when its time comes; its reward must not wake anybody.
    return Change(added, sends=not is_answer)


def _add(
    record: Record, messages: Sequence[Message], leaves_at: float | None = None
) -> Sequence[Entry]:
    """Sign what the player sends and put it into the outbox, but for what is there already."""
    if not messages:  # as at most pulls
        return ()
    sign = record.identity.sign
    fresh = [message for message in messages if message not in record.outbox]
    return _put(record, [Entry(sign(m, record.scope), leaves_at=leaves_at) for m in fresh])


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
    if outcome is Outcome.REFUSED:
        return Change(_put(record, [record.outbox[envelope.message]._replace(delivery="refused")]))
    return Change(_put(record, [_acknowledged(record, envelope)]))


def _acknowledged(record: Record, envelope: Envelope) -> Entry:
    """The entry of a message that the board has; it may have shown it already."""
    known = record.outbox.get(envelope.message)
    is_shown = known is not None and known.delivery == "shown"
    return Entry(envelope, "shown" if is_shown else "sent", has_left=True)


def leaves_in(record: Record, now: float) -> float | None:
    """Seconds until the next answer leaves, whether it is made already or not."""
    moments = [record.reply_at, *(entry.leaves_at for entry in record.outbox.values())]
    return min((at - now for at in moments if at is not None and at > now), default=None)


def next_in(record: Record, now: float) -> float | None:
    """Seconds until a question closes or an answer leaves.

    The same whether the question has had its reward or not.
    """
    closes = None if record.closes is None or record.closes <= now else record.closes - now
    moments = (closes, leaves_in(record, now))
    return min((moment for moment in moments if moment is not None), default=None)


def _is_held(entry: Entry, now: float) -> bool:
    return entry.delivery == "waiting" and entry.leaves_at is not None and now < entry.leaves_at


def _is_refused(record: Record, entry: Entry) -> bool:
    return entry.delivery == "refused" and record.player.still_wants(entry.envelope.message)


def _put(record: Record, entries: list[Entry]) -> list[Entry]:
    record.outbox |= {entry.envelope.message: entry for entry in entries}
    return entries


def _wait_again(record: Record, *lost: str) -> list[Entry]:
    """Offer again what the board has lost: what is delivered so."""
    entries = [entry for entry in record.outbox.values() if entry.delivery in lost]
    return _put(record, [entry._replace(delivery="waiting") for entry in entries])


# What is read.


def read(record: Record, posted: Iterable[Posted], end: int | None, check: Check) -> Change | None:
    """Take in what was read of the board; ``end`` if it was read up to that number.

    An own message that the board has acknowledged, but does not show at its end, waits again.
    """
    before = record.bookmark
    record.bookmark, passed = before.moved(posted, end)
    valid = [p for p in passed if _take_in(record, p.envelope, check)]
    own = [record.outbox[p.envelope.message] for p in valid if p.envelope.message in record.outbox]
    shown = _put(record, [entry._replace(delivery="shown", has_left=True) for entry in own])
    if record.bookmark.complete and not before.complete:
        record.player.tally = record.tally
        count_own(record)
    at_end = end is not None and record.bookmark.number >= end
    lost = _wait_again(record, "sent") if at_end else []
    if not lost and record.bookmark == before:
        return None
    return Change([*shown, *lost], read=valid, forged=len(valid) < len(passed))


def count_own(record: Record) -> None:
    """Have the player count its own messages before the board shows them.

    Not where order matters: there it reads them on the board, as all others do.
    """
    if not record.spec.scheme.about.needs_order:
        for message in record.outbox:
            record.player.receive(message)


def _take_in(record: Record, envelope: Envelope, check: Check) -> bool:
    """Count a message, unless it is not valid."""
    is_valid = (
        refusal(envelope, record.spec, record.scope, check) is None
        and record.tally.refusal(envelope.message) is None
    )
    if is_valid:
        record.tally.add(envelope.message)
    return is_valid


def needs_log(record: Record, snapshot: TallySnapshot) -> bool:
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
    return Change(_wait_again(record, "sent") if snapshot.number < before.number else ())


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
    unsent = (m for m, e in record.outbox.items() if e.delivery in ("waiting", "refused"))
    false = [message for message in unsent if tally.refusal(message) is not None]
    there = [_acknowledged(record, envelope) for envelope in own]
    return Change(there, removed=false, reloads=True)


def rewind(record: Record, *, forget: bool = False) -> Change:
    """Read the board from its beginning again, and offer it all own messages again.

    That they were once read there says nothing about the board there is now. What others have
    posted is kept, unless it was taken back (``forget``), or means something only in the order of
    the board.
    """
    forget = forget or record.spec.scheme.about.needs_order
    record.bookmark = Bookmark(complete=record.bookmark.complete and not forget)
    again = _wait_again(record, "waiting", "sent", "shown", "refused")
    return Change(again, rewind="forget" if forget else "keep", reloads=True)


# What a restart does.


def resume(record: Record, now: float, jitter: float) -> Change | None:
    """Go on after a restart, with a play that is pending and answers that are held back.

    If the clock was set back since, what is stored is corrected.
    """
    before, after = (record.pending_at, record.reply_at), record.sending.reply_after
    if record.pending_at is not None:
        record.pending_at = min(record.pending_at, now)
    if after is not None and record.pending_at is not None and record.reply_at is not None:
        record.closes = record.pending_at + after
        record.reply_at = _leaves_at(after, record.reply_at, now, jitter)
    moved = []
    for entry in record.outbox.values():
        if after is not None and entry.delivery == "waiting" and entry.leaves_at is not None:
            leaves_at = _leaves_at(after, entry.leaves_at, now, jitter)
            if leaves_at != entry.leaves_at:
                moved.append(entry._replace(leaves_at=leaves_at))
    if not moved and (record.pending_at, record.reply_at) == before:
        return None
    return Change(_put(record, moved))


def _leaves_at(after: float, leaves_at: float, now: float, jitter: float) -> float:
    if leaves_at <= now:
        return now + jitter * min(1.0, LATEST * after)
    return min(leaves_at, now + (1.0 + LATEST) * after)
