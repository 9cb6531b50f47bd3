"""The votes one has seen, and what follows from them.

A ballot is a grow-only set keyed by (term, arm, voter). Everything it says is a function of
that set alone: ballots that hold the same votes agree, whatever came late, twice or in another
order.

Paper: Algorithm 2, lines 3-7.
Differs from print: the shared set is derived from the votes, never changed by hand (errata 2, 3).
"""

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from devote.kernels.votes import shared_set
from devote.protocol.messages import Message, Reset, Vote

Status: TypeAlias = Literal["open", "agreed", "stalled"]
Key: TypeAlias = tuple[int, int, str]


class Ballot:
    """A set of votes with the shared set of arms that it implies.

    >>> ballot = Ballot(n_arms=3, quorum=2)
    >>> for voter in "ab":
    ...     _ = ballot.add(Vote("demo", 0, 2, voter))
    >>> ballot.shared, ballot.status(n_players=4)
    ((0, 1), 'open')
    """

    def __init__(self, n_arms: int, quorum: int) -> None:
        self.n_arms = n_arms
        self.quorum = quorum
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
        """Take in a vote or a reset; returns whether it was new to this ballot."""
        if isinstance(message, Reset):
            return self._open(message.term)
        key = (message.term, message.arm, message.voter)
        if key in self._votes:
            return False
        self._votes.add(key)
        if message.term > self._term:
            self._open(message.term)
        elif message.term == self._term:
            self._count(message.arm, message.voter)
        return True

    def merge(self, other: "Ballot") -> None:
        """Take in everything another ballot holds."""
        self._votes |= other._votes
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
        if n_players is None:
            return "open"
        silent = [
            v
            for v, arms in self._by_voter.items()
            if len(arms.intersection(shared)) + 1 >= len(shared)
        ]
        return "stalled" if len(silent) >= n_players else "open"

    def _open(self, term: int) -> bool:
        if term <= self._term:
            return False
        self._term = term
        self._recount()
        return True

    def _count(self, arm: int, voter: str) -> None:
        self._by_voter.setdefault(voter, set()).add(arm)
        self._tally[arm] += 1
        shared_set(self._tally, self.quorum, self._shared_mask)

    def _recount(self) -> None:
        if self._votes:
            self._term = max(self._term, max(term for term, _, _ in self._votes))
        self._tally = [0] * self.n_arms
        self._by_voter = {}
        for term, arm, voter in self._votes:
            if term == self._term:
                self._by_voter.setdefault(voter, set()).add(arm)
                self._tally[arm] += 1
        self._shared_mask = [0] * self.n_arms
        shared_set(self._tally, self.quorum, self._shared_mask)

    def __len__(self) -> int:
        return len(self._votes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ballot):
            return NotImplemented
        mine = (self.n_arms, self.quorum, self._term, self._votes)
        return mine == (other.n_arms, other.quorum, other._term, other._votes)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Ballot(term={self._term}, votes={len(self._votes)}, shared={self.shared})"

    def to_dict(self) -> dict[str, Any]:
        """A JSON form that ``from_dict`` restores exactly."""
        return {
            "n_arms": self.n_arms,
            "quorum": self.quorum,
            "term": self._term,
            "votes": sorted([list(key) for key in self._votes]),
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "Ballot":
        """Restore what ``to_dict`` gave."""
        ballot = cls(fields["n_arms"], fields["quorum"])
        ballot._term = fields["term"]
        ballot._votes = {(term, arm, voter) for term, arm, voter in fields["votes"]}
        ballot._recount()
        return ballot

    @classmethod
    def of(cls, messages: Iterable[Message], *, n_arms: int, quorum: int) -> "Ballot":
        """The ballot that holds these messages."""
        ballot = cls(n_arms, quorum)
        for message in messages:
            ballot.add(message)
        return ballot


__all__ = ["Ballot", "Status", "Vote"]
