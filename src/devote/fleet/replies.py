"""When an answer leaves: at a moment that is fixed when the arm is chosen, whatever the arm pays.

A question closes ``after`` seconds after the choice: a reward that has not come by then is 0. Its
answer leaves a little later, at a moment drawn together with the choice. All work that depends on
whether a reward came is done before that moment, so that it delays nothing then.

While the process runs, moments are on the monotonic clock, which never jumps. Only across a restart
the wall clock tells how much of a wait is left: never more than the longest wait there is, so a
clock that was set back neither sends early nor holds an answer for ever. An answer whose moment
passed while the device was off leaves within a second of the start, closed before or not.
"""

import math
from collections.abc import Callable

from devote.fleet.clock import Clock
from devote.fleet.saved import Saved
from devote.fleet.store import Store

EARLIEST, LATEST = 0.05, 0.25
"""An answer leaves between 1.05 and 1.25 times ``after`` seconds after the choice."""


class Replies:
    """The moments of the open question and of the answers that are held back.

    ``dice`` gives uniform numbers in [0, 1), which have nothing to do with any reward.

    >>> clock = Clock(wall=lambda: 1000.0, monotonic=lambda: 7.0)
    >>> replies = Replies(clock, dice=lambda: 0.5)
    >>> replies.ask(after=60.0)
    1069.0
    >>> replies.hold("c0ffee")
    >>> replies.is_held("c0ffee"), replies.next_moment
    (True, 67.0)
    """

    def __init__(self, clock: Clock, dice: Callable[[], float]) -> None:
        self._clock = clock
        self._dice = dice
        self._closes = -math.inf
        self._leaves = -math.inf
        self._held: dict[str, float] = {}

    def ask(self, after: float) -> float:
        """A question is put; returns when its answer is to leave, by the wall clock."""
        now = self._clock.monotonic()
        self._closes = now + after
        self._leaves = self._closes + self._margin(after)
        return self._clock.wall() + self._leaves - now

    def hold(self, signature: str) -> None:
        """The open question has its answer, which is held back until it is to leave."""
        self._held[signature] = self._leaves

    def resume(self, store: Store, saved: Saved, *, is_asked: bool) -> float | None:
        """Go on after a restart, with a question that is open and answers that are held back.

        If the clock was set back since, what is stored is corrected. Returns when the answer to
        the open question is to leave, as it is stored now.
        """
        now, wall, reply_at = self._clock.monotonic(), self._clock.wall(), saved.reply_at
        after = saved.spec.scheme.reply_after
        if after is None:
            return reply_at
        if is_asked and saved.pending_at is not None and saved.reply_at is not None:
            self._closes = now + min(after, max(0.0, saved.pending_at + after - wall))
            self._leaves = now + self._left(after, saved.reply_at)
            if saved.pending_at > wall:
                reply_at = wall + saved.reply_at - saved.pending_at
                store.save_moments(wall, reply_at)
        for envelope, leaves_at in store.held():
            left = self._left(after, leaves_at)
            self._held[envelope.signature] = now + left
            if wall + left < leaves_at:
                store.save_reply_at(envelope, wall + left)
        return reply_at

    @property
    def is_closed(self) -> bool:
        """Whether the reward of the question that was put last comes too late."""
        return self._clock.monotonic() >= self._closes

    def is_held(self, signature: str) -> bool:
        """Whether an answer is held back now."""
        return self._held.get(signature, -math.inf) > self._clock.monotonic()

    @property
    def next_moment(self) -> float | None:
        """When a question closes or an answer leaves next, on the monotonic clock.

        The same moments whether the question has had its reward or not.
        """
        now = self._clock.monotonic()
        moments = (self._closes, self._leaves, *self._held.values())
        return min((moment for moment in moments if moment > now), default=None)

    @property
    def leaves_in(self) -> float | None:
        """Seconds until the next answer leaves, whether it is made already or not."""
        now = self._clock.monotonic()
        moments = (self._leaves, *self._held.values())
        return min((moment - now for moment in moments if moment > now), default=None)

    def _left(self, after: float, reply_at: float) -> float:
        left = reply_at - self._clock.wall()
        if left <= 0.0:
            return self._dice() * min(1.0, LATEST * after)
        return min(left, (1.0 + LATEST) * after)

    def _margin(self, after: float) -> float:
        return after * (EARLIEST + (LATEST - EARLIEST) * self._dice())
