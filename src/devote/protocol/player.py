"""A player of Decentralized Elimination, with no I/O of any kind.

Theory of operation. Messages come in by ``receive`` at any time, in any order, any number of
times; they only ever enter the ballot. ``activate`` is the one moment at which the player acts
on them: it moves to the ballot's term if that is higher, takes out the arms that are no longer
shared, and plays one arm. ``reward`` learns, and returns the votes to send. Sending is somebody
else's business, and sending twice is harmless.

In a jury only jurors vote. A player claims a free seat once it has been active often enough,
which nothing that arms pay can influence. It is a juror once its claim comes back to it, as it
does to everybody, and then votes against all it has eliminated. A juror learns as if alone: it
takes no arm out on the others' word, until one arm is left of the vote.

Paper: Algorithm 2; the jury is this project's.
"""

from collections.abc import Sequence
from typing import Any

from devote.kernels import merge
from devote.protocol.ballot import Ballot
from devote.protocol.errors import LocalProtocolError, RemoteProtocolError
from devote.protocol.learner import Learner
from devote.protocol.messages import (
    MAX_TERM,
    Message,
    Reset,
    Seat,
    Vote,
    check_numbers,
    is_identifier,
)
from devote.protocol.protocols import get_protocol
from devote.protocol.spec import ExperimentSpec

VERSION = 1


class Player:
    """One of the N players.

    >>> spec = ExperimentSpec(arms=4, algorithm="ser3")
    >>> player = Player(spec, "n3")
    >>> player.receive(Vote(spec.name, 0, 2, "n7"))
    >>> arm = player.activate(u=0.41)
    >>> player.reward(1.0)
    []
    """

    def __init__(self, spec: ExperimentSpec, voter: str, protocol: str | None = None) -> None:
        if not is_identifier(voter):
            raise LocalProtocolError(
                f"voter={voter!r} must be 1 to 64 of A-Z a-z 0-9 _ . : -\nRename the voter."
            )
        self.spec = spec
        self.voter = voter
        self.protocol = get_protocol(protocol or spec.protocol)
        self.ballot = Ballot(
            spec.n_arms,
            self.protocol.votes_needed(spec),
            self.protocol.seats_to_fill(spec),
        )
        self.conflicts = 0
        self.activations = 0
        self._learner = Learner(spec, spec.eta)
        self._term = 0
        self._claimed: int | None = None

    @property
    def remaining(self) -> tuple[int, ...]:
        """The arms this player has not eliminated, as of its last activation.

        Paper: K^n(l^n).
        """
        return self._learner.remaining

    @property
    def shared(self) -> tuple[int, ...]:
        """The arms not voted out, by the votes received so far.

        Paper: K(l).
        """
        return self.ballot.shared

    @property
    def best(self) -> int | None:
        """The one arm left to this player, or None while there are several."""
        return self._learner.best

    @property
    def pending(self) -> int | None:
        """The arm that has been played and not yet rewarded."""
        return self._learner.pending

    @property
    def epoch(self) -> int:
        """How often this player has eliminated arms.

        Paper: l^n.
        """
        return self._learner.epoch

    @property
    def term(self) -> int:
        """The term this player is learning in."""
        return self._term

    def receive(self, message: Message) -> None:
        """Take note of a message; nothing is acted on until the next ``activate``.

        Paper: Algorithm 2, line 3.
        """
        if not isinstance(message, Vote | Reset | Seat):
            raise RemoteProtocolError(
                f"{type(message).__name__} is not a message.\n"
                "Decode it with from_bytes or from_json."
            )
        if message.experiment != self.spec.name:
            raise RemoteProtocolError(
                f"A message for experiment {message.experiment!r} reached a player of "
                f"{self.spec.name!r}.\nRoute messages by experiment."
            )
        if not is_identifier(message.voter):
            raise RemoteProtocolError(
                f"voter={message.voter!r} must be 1 to 64 of A-Z a-z 0-9 _ . : -\n"
                "Discard the message."
            )
        check_numbers(message, self.spec.n_arms)
        self.ballot.add(message)

    def activate(self, u: float) -> int:
        """Read what has been received, then play one arm.

        Paper: Algorithm 2, lines 3-13.
        """
        if self._learner.pending is None and 0.0 <= u < 1.0:
            self._read()
        arm = self._learner.activate(u)
        self.activations += 1
        return arm

    def reward(self, x: float) -> list[Message]:
        """Learn what the arm paid; returns the messages to send, usually none.

        Paper: Algorithm 2, lines 13-20.
        Differs from print: a single eliminated arm is sent too (erratum 1); no vote is sent
        twice, also not after a conflict (erratum 4); nothing is sent in a term that a peer's
        reset has ended meanwhile (erratum 14).
        """
        resets = self._learner.resets
        eliminated = self._learner.reward(x)
        if self.ballot.term > self._term:
            return []
        if self._learner.resets > resets:
            if self._term == MAX_TERM:
                return []
            self._term += 1
            return self._send([Reset(self.spec.name, self._term, self.voter)])
        return self._in_jury() if self.protocol.seats else self._vote(eliminated)

    @property
    def is_juror(self) -> bool:
        """Whether this player holds a seat in the jury."""
        return self.protocol.seats and self.voter in self.ballot.jury

    def _in_jury(self) -> list[Message]:
        if len(self.shared) == 1:
            return []
        if self.is_juror:
            return self._vote([k for k in range(self.spec.n_arms) if k not in self.remaining])
        seat = self.ballot.free_seat
        awaited = self._claimed is not None and not self.ballot.is_taken(self._claimed)
        if seat is None or awaited or self.activations < self.spec.seat_after:
            return []
        self._claimed = seat
        return [Seat(self.spec.name, seat, self.voter)]

    def _vote(self, arms: list[int]) -> list[Message]:
        sent = self.ballot.voted(self.voter)
        return self._send(
            [Vote(self.spec.name, self._term, arm, self.voter) for arm in arms if arm not in sent]
        )

    def _send(self, messages: Sequence[Message]) -> list[Message]:
        for message in messages:
            self.ballot.add(message)
        return list(messages)

    def abandon(self) -> None:
        """Forget a played arm whose reward will never come, as if it had not been played.

        The activation still counts towards a seat, which must not depend on what arms pay.
        """
        self._learner.abandon()

    def _read(self) -> None:
        if self.ballot.term > self._term:
            self._term = self.ballot.term
            self._learner.restart()
        if not self.is_juror or len(self.shared) == 1:
            self.conflicts += merge(self._learner.state, self.ballot.shared_mask)

    def to_dict(self) -> dict[str, Any]:
        """Everything needed to go on exactly here, as JSON values."""
        return {
            "version": VERSION,
            "experiment": self.spec.name,
            "fingerprint": self.spec.fingerprint,
            "voter": self.voter,
            "protocol": self.protocol.name,
            "activations": self.activations,
            "claimed": self._claimed,
            "term": self._term,
            "conflicts": self.conflicts,
            "learner": self._learner.to_dict(),
            "ballot": self.ballot.to_dict(),
        }

    @classmethod
    def from_dict(cls, spec: ExperimentSpec, fields: dict[str, Any]) -> "Player":
        """Restore what ``to_dict`` gave, for the same experiment."""
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
        player = cls(spec, fields["voter"], fields["protocol"])
        player.activations = fields["activations"]
        player._claimed = fields["claimed"]
        player._term = fields["term"]
        player.conflicts = fields["conflicts"]
        player._learner = Learner.from_dict(spec, fields["learner"])
        player.ballot = Ballot.from_dict(fields["ballot"])
        return player
