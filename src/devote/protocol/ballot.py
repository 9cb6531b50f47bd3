"""The votes one has seen, and what follows from them.

A ballot is a grow-only set keyed by (term, arm, voter). Everything it says is a function of
that set alone: ballots that hold the same votes agree, whatever came late, twice or in another
order.

With a jury, the claims to its seats are part of the set. From the first seat on, each is the
lowest-named claimant's who holds none before it, so that nobody has two votes. As late claims come
in a seat may pass; a board that hands out each seat once keeps it from passing at all. Only
jurors' votes count, and none before the jury is complete.

Paper: Algorithm 2, lines 3-7.
Differs from print: the shared set is derived from the votes, never changed by hand (errata 2, 3).
"""

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from devote.kernels.votes import shared_set
from devote.protocol.messages import Message, Reset, Seat

Status: TypeAlias = Literal["open", "agreed", "stalled"]
Key: TypeAlias = tuple[int, int, str]


class Ballot:
    """A set of votes with the shared set of arms that it implies.

    >>> from devote.protocol.messages import Vote
    >>> ballot = Ballot(n_arms=3, quorum=2)
    >>> for voter in "ab":
    ...     _ = ballot.add(Vote("demo", 0, 2, voter))
    >>> ballot.shared, ballot.status(n_players=4)
    ((0, 1), 'open')
    """

    def __init__(self, n_arms: int, quorum: int, n_seats: int = 0) -> None:
        self.n_arms = n_arms
        self.quorum = quorum
        self.n_seats = n_seats
        self._claims: set[tuple[int, str]] = set()
        self._holders: dict[int, str] = {}
        self._votes: set[Key] = set()
        self._term = 0
        self._tally = [0] * n_arms
        self._by_voter: dict[str, set[int]] = {}
        self._shared_mask = [1] * n_arms

    @property
    def term(self) -> int:
        """The highest term seen; only its votes count (erratum 14)."""
        return self._term

    @property
    def votes(self) -> frozenset[Key]:
        """All votes seen, as (term, arm, voter)."""
        return frozenset(self._votes)

    @property
    def tally(self) -> tuple[int, ...]:
        """Distinct voters against each arm in the current term."""
        return tuple(self._tally)

    @property
    def shared_mask(self) -> list[int]:
        """1 for each arm still shared, as ``merge`` reads it."""
        return self._shared_mask

    @property
    def shared(self) -> tuple[int, ...]:
        """The arms still shared.

        Paper: K(l).
        """
        return tuple(k for k, kept in enumerate(self._shared_mask) if kept)

    @property
    def answer(self) -> tuple[int, ...]:
        """The arms still shared, the one with the fewest votes first (erratum 5)."""
        return tuple(sorted(self.shared, key=lambda k: (self._tally[k], k)))

    def add(self, message: Message) -> bool:
        """Take in a message; returns whether it was new to this ballot."""
        if isinstance(message, Reset):
            return self._open(message.term)
        if isinstance(message, Seat):
            return self._seat(message)
        key = (message.term, message.arm, message.voter)
        if key in self._votes:
            return False
        self._votes.add(key)
        if message.term > self._term:
            self._open(message.term)
        elif message.term == self._term:
            self._by_voter.setdefault(message.voter, set()).add(message.arm)
            if not self.n_seats or (self.jury_complete and message.voter in self.jury):
                self._tally[message.arm] += 1
                shared_set(self._tally, self.quorum, self._shared_mask)
        return True

    def merge(self, other: "Ballot") -> None:
        """Take in everything another ballot holds."""
        self._votes |= other._votes
        self._claims |= other._claims
        self._term = max(self._term, other._term)
        self._recount()

    def voted(self, voter: str) -> frozenset[int]:
        """The arms a voter has voted against in the current term."""
        return frozenset(self._by_voter.get(voter, ()))

    @property
    def voters(self) -> tuple[str, ...]:
        """Everyone who has voted in the current term."""
        return tuple(sorted(self._by_voter))

    def status(self, n_players: int | None = None) -> Status:
        """Whether the votes have settled on one arm, never will, or may yet.

        Stalled: several arms are shared and every one of ``n_players`` has voted against all
        of them but at most one, so no further vote can come. Without ``n_players`` a stall
        cannot be told.

        Paper: Algorithm 2, line 22.
        Differs from print: agreement is not assumed to come (erratum 5).
        """
        shared = self.shared
        if len(shared) == 1:
            return "agreed"
        voters = self.n_seats or n_players
        if voters is None:
            return "open"
        silent = [
            voter
            for voter, arms in self._counted()
            if len(arms.intersection(shared)) + 1 >= len(shared)
        ]
        return "stalled" if len(silent) >= voters else "open"

    @property
    def jury(self) -> tuple[str, ...]:
        """Who holds the seats claimed so far."""
        return tuple(self._holders[seat] for seat in sorted(self._holders))

    @property
    def jury_complete(self) -> bool:
        """Whether every seat is taken; True where there are none."""
        return len(self._holders) == self.n_seats

    @property
    def free_seat(self) -> int | None:
        """The lowest seat nobody has claimed, None if all are taken."""
        free = set(range(1, self.n_seats + 1)) - set(self._holders)
        return min(free, default=None)

    def is_taken(self, seat: int) -> bool:
        """Whether somebody has claimed a seat."""
        return seat in self._holders

    def _seat(self, claim: Seat) -> bool:
        key = (claim.seat, claim.voter)
        if key in self._claims:
            return False
        self._claims.add(key)
        self._recount()
        return True

    def _counted(self) -> list[tuple[str, set[int]]]:
        """The voters whose votes count, with what they voted against."""
        if not self.n_seats:
            return list(self._by_voter.items())
        if not self.jury_complete:
            return []
        return [(juror, self._by_voter.get(juror, set())) for juror in self._holders.values()]

    def _open(self, term: int) -> bool:
        if term <= self._term:
            return False
        self._term = term
        self._recount()
        return True

    def _recount(self) -> None:
        self._term = max([self._term, *(term for term, _, _ in self._votes)])
        self._by_voter = {}
        for term, arm, voter in self._votes:
            if term == self._term:
                self._by_voter.setdefault(voter, set()).add(arm)
        self._holders = {}
        seated: set[str] = set()
        for seat, voter in sorted(self._claims):
            if seat <= self.n_seats and seat not in self._holders and voter not in seated:
                self._holders[seat] = voter
                seated.add(voter)
        self._tally = [0] * self.n_arms
        for _, arms in self._counted():
            for arm in arms:
                self._tally[arm] += 1
        shared_set(self._tally, self.quorum, self._shared_mask)

    def __len__(self) -> int:
        return len(self._votes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ballot):
            return NotImplemented
        return self._identity() == other._identity()

    def _identity(self) -> tuple[object, ...]:
        return (self.n_arms, self.quorum, self.n_seats, self._term, self._votes, self._claims)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Ballot(term={self._term}, votes={len(self._votes)}, shared={self.shared})"

    def to_dict(self) -> dict[str, Any]:
        """A JSON form that ``from_dict`` restores exactly."""
        return {
            "n_arms": self.n_arms,
            "quorum": self.quorum,
            "n_seats": self.n_seats,
            "term": self._term,
            "votes": sorted([list(key) for key in self._votes]),
            "claims": sorted([list(key) for key in self._claims]),
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "Ballot":
        """Restore what ``to_dict`` gave."""
        ballot = cls(fields["n_arms"], fields["quorum"], fields["n_seats"])
        ballot._term = fields["term"]
        ballot._votes = {(term, arm, voter) for term, arm, voter in fields["votes"]}
        ballot._claims = {(seat, voter) for seat, voter in fields["claims"]}
        ballot._recount()
        return ballot

    @classmethod
    def of(
        cls, messages: Iterable[Message], *, n_arms: int, quorum: int, n_seats: int = 0
    ) -> "Ballot":
        """The ballot that holds these messages."""
        ballot = cls(n_arms, quorum, n_seats)
        for message in messages:
            ballot.add(message)
        return ballot
