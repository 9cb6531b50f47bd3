"""A scheme's half on a device: a learner, a tally of what was read, messages to send; no I/O.

Theory of operation. Messages come in by ``receive``; they only ever enter the tally. ``activate``
is the one moment at which the player acts on them: the scheme reads the tally, may send something,
and the subroutine plays one arm. ``reward`` learns, and the scheme may send something again. What
is to be sent is fetched with ``outgoing``; ``reward`` fetches it for you. Sending is somebody
else's business, and sending twice is harmless.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any

from devote.protocol.errors import LocalProtocolError, RemoteProtocolError
from devote.protocol.learner import Learner, LearnerSettings
from devote.protocol.messages import Message, check_fields, is_identifier
from devote.protocol.spec import ExperimentSpec

VERSION = 2


class Player:
    """One of the N players; a scheme overrides the three hooks ``_read``, ``_wake``, ``_learn``.

    >>> spec = ExperimentSpec(arms=4, algorithm="ser3")
    >>> player = spec.scheme.player(spec, "n3")
    >>> arm = player.activate(u=0.41)
    >>> player.reward(1.0)
    []
    """

    def __init__(self, spec: ExperimentSpec, voter: str, n_players: int | None = None) -> None:
        if not is_identifier(voter):
            raise LocalProtocolError(
                f"voter={voter!r} must be 1 to 64 of A-Z a-z 0-9 _ . : -\nRename the voter."
            )
        self.spec = spec
        self.voter = voter
        self.tally = spec.scheme.tally(spec)
        self.conflicts = 0
        self.activations = 0
        self.learner = Learner(self._settings(n_players))
        self._outgoing: list[Message] = []

    @property
    def remaining(self) -> tuple[int, ...]:
        """The arms this player has not eliminated, as of its last activation.

        Paper: K^n(l^n).
        """
        return self.learner.remaining

    @property
    def shared(self) -> tuple[int, ...]:
        """The arms still open to all, by the messages received so far.

        Paper: K(l).
        """
        return self.tally.shared

    @property
    def best(self) -> int | None:
        """The one arm left to this player, or None while there are several."""
        return self.learner.best

    @property
    def pending(self) -> int | None:
        """The arm that has been played and not yet rewarded."""
        return self.learner.pending

    @property
    def epoch(self) -> int:
        """How often this player has eliminated arms.

        Paper: l^n.
        """
        return self.learner.epoch

    def receive(self, message: Message) -> None:
        """Take note of a message; nothing is acted on until the next ``activate``.

        Paper: Algorithm 2, line 3.
        """
        check_fields(message, self.spec.n_arms)
        if message.experiment != self.spec.name:
            raise RemoteProtocolError(
                f"A message for experiment {message.experiment!r} reached a player of "
                f"{self.spec.name!r}.\nRoute messages by experiment."
            )
        if type(message) not in self.spec.scheme.about.messages:
            raise RemoteProtocolError(
                f"{type(message).__name__} is no message of {self.spec.scheme.name}.\nDiscard it."
            )
        self.tally.add(message)

    @property
    def settled(self) -> int | None:
        """The arm that the group has settled on, by the messages received so far."""
        return self.tally.answer[0] if self.tally.status() == "agreed" else None

    @property
    def is_asked(self) -> bool:
        """Whether the pending play is one that is answered, ``Sending.reply_after`` after it."""
        return False

    @property
    def instead(self) -> int | None:
        """What to show in place of the pending play, if its arm must not be shown again."""
        return None

    @property
    def may_ask(self) -> bool:
        """Whether the next play could be one that is answered."""
        return False

    def read(self, public: dict[str, Any]) -> None:
        """Take over the public form of the tally, where the scheme has devices read that."""

    def public(self, n_players: int | None = None) -> dict[str, Any]:
        """The public form of the tally, by what this player has read."""
        return self.tally.public(n_players)

    def recall(self, message: Message) -> None:
        """Learn that it has sent this before: the board holds it, and the store has lost it."""

    def check_segment(self, segment: str | None) -> None:
        """Refuse a segment that ``activate`` could not be given; here there are none."""
        if segment is not None:
            raise LocalProtocolError(
                f"Experiment {self.spec.name!r} has no segments, and one was given.\nLeave it out."
            )

    def activate(
        self,
        u: float,
        noise: float = 0.0,
        *,
        ask: bool = True,
        segment: str | None = None,
        draws: Callable[[], float] | None = None,
    ) -> int:
        """Read what has been received, then play one arm.

        ``u`` is the uniform number with which the subroutine plays, ``noise`` one from [0, 1)
        for schemes that blur what they send. Without ``ask`` the play is none that is answered.
        ``segment`` is the kind of user, where the scheme has segments; ``draws`` then gives as
        many uniform numbers as its noise takes.

        Paper: Algorithm 2, lines 3-13.
        """
        if self.learner.pending is not None or not 0.0 <= u < 1.0:
            return self.learner.activate(u)  # which refuses, before anything is changed
        self.check_segment(segment)
        self.activations += 1
        self._read()
        self._wake(noise)
        return self.learner.activate(u)

    def wake(self, noise: float = 0.0) -> None:
        """The user is back while a play still awaits its reward, and is shown it again.

        That is an activation too. If it were not, users who click would be active more often, and
        what a scheme does at an activation would depend on what arms pay.
        """
        self.activations += 1
        self._wake(noise)

    def reward(self, x: float) -> list[Message]:
        """Learn what the arm paid; returns the messages to send, usually none.

        Paper: Algorithm 2, lines 13-20.
        """
        resets = self.learner.resets
        eliminated = self.learner.reward(x)
        self._learn(eliminated, was_reset=self.learner.resets > resets)
        return self.outgoing()

    def abandon(self) -> None:
        """Forget a played arm whose reward will never come, as if it had not been played.

        The activation still counts: what a scheme does at an activation must not depend on
        what arms pay. A scheme may send an answer all the same: fetch ``outgoing``.
        """
        self.learner.abandon()

    def outgoing(self) -> list[Message]:
        """The messages to send now; each is handed out once."""
        messages, self._outgoing = self._outgoing, []
        return messages

    def still_wants(self, message: Message) -> bool:
        """Whether a message of its own that the board has refused is worth offering again."""
        return True

    def _settings(self, n_players: int | None) -> LearnerSettings:
        """What the learner on this device runs with."""
        return self.spec.scheme.learner(self.spec, n_players)

    def _read(self) -> None:
        """Act on what has been received."""

    def _wake(self, noise: float) -> None:
        """Send what follows from an activation."""

    def _learn(self, eliminated: list[int], *, was_reset: bool) -> None:
        """Send what follows from a reward."""

    def _send(self, messages: Iterable[Message]) -> None:
        self._outgoing += messages

    def to_dict(self) -> dict[str, Any]:
        """Everything needed to go on exactly here but the tally, as JSON values.

        Whoever restores a player hands it the messages of the board again.
        """
        assert not self._outgoing, "messages that were not fetched would be lost"
        return {
            "version": VERSION,
            "experiment": self.spec.name,
            "fingerprint": self.spec.fingerprint,
            "voter": self.voter,
            "activations": self.activations,
            "conflicts": self.conflicts,
            "learner": self.learner.to_dict(),
            "own": self._own(),
        }

    def to_json(self) -> str:
        """``to_dict`` as JSON text."""
        return json.dumps(self.to_dict())

    def _own(self) -> dict[str, Any]:
        """What the scheme keeps for itself, as JSON values."""
        return {}

    def _restore(self, own: dict[str, Any]) -> None:
        """Take over what ``_own`` gave."""


def restore_player(
    spec: ExperimentSpec,
    fields: dict[str, Any],
    messages: Iterable[Message] = (),
    n_players: int | None = None,
) -> Player:
    """The player that ``to_dict`` saved, given these messages again."""
    if fields.get("version") != VERSION:
        raise LocalProtocolError(
            f"A saved player of version {fields.get('version')!r} is not {VERSION}.\n"
            "Load it with the version of devote that saved it."
        )
    if fields["fingerprint"] != spec.fingerprint:
        raise LocalProtocolError(
            f"This player was saved in experiment {fields['experiment']!r} with another "
            f"specification than the one given ({spec.name!r}).\n"
            "Restore it with the spec it was created with."
        )
    player = spec.scheme.player(spec, fields["voter"], n_players)
    player.activations = fields["activations"]
    player.conflicts = fields["conflicts"]
    player.learner = player.learner.restored(fields["learner"])
    player._restore(fields["own"])
    for message in messages:
        player.receive(message)
    return player
