"""The messages of Decentralized Elimination, and what follows from the votes received.

A ballot is a grow-only set keyed by (term, arm, voter). Everything it shows is a function of that
set alone: ballots that hold the same votes agree, whatever came late, twice or in another order.

Paper: Algorithm 2, lines 3-7.
Differs from print: the shared set is derived from the votes, never changed by hand (errata 2, 3).
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

from devote.protocol.messages import ARM, Message, Number, message
from devote.protocol.scheme import Status, Tally
from devote.protocol.spec import ExperimentSpec
from devote.rules.votes import shared_set

MAX_TERM = 2**32 - 1


@message("vote", term=Number(0, MAX_TERM), arm=ARM)
@dataclass(frozen=True, slots=True)
class Vote:
    """``voter`` estimates that ``arm`` is not epsilon-optimal.

    Paper: Definition 2, ``lambda^n_k = 1``; Algorithm 2, line 18.
    """

    experiment: str
    term: int
    arm: int
    voter: str


@message("reset", term=Number(1, MAX_TERM))
@dataclass(frozen=True, slots=True)
class Reset:
    """``voter`` opens ``term``: votes of lower terms no longer count.

    Paper: section 4, DSER4.
    Differs from print: the paper leaves open how others learn of a reset (erratum 14).
    """

    experiment: str
    term: int
    voter: str


Key: TypeAlias = tuple[int, int, str]


class Ballot(Tally):
    """A set of votes with the shared set of arms that it implies.

    >>> ballot = Ballot(ExperimentSpec(arms=3, scheme={"quorum": 2}))
    >>> for voter in "ab":
    ...     _ = ballot.add(Vote("experiment", 0, 2, voter))
    >>> ballot.shared, ballot.status(n_players=4)
    ((0, 1), 'open')
    """

    def __init__(self, spec: ExperimentSpec) -> None:
        super().__init__(spec)
        assert spec.votes_needed is not None
        self.quorum = spec.votes_needed
        self._votes: set[Key] = set()
        self.term = 0
        """The highest term seen; only its votes count (erratum 14)."""
        self._counts = [0] * spec.n_arms
        self._by_voter: dict[str, set[int]] = {}
        self.shared_mask = [1] * spec.n_arms

    @property
    def votes(self) -> frozenset[Key]:
        """All votes seen, as (term, arm, voter)."""
        return frozenset(self._votes)

    @property
    def counts(self) -> tuple[int, ...]:
        """Distinct voters against each arm in the current term."""
        return tuple(self._counts)

    @property
    def shared(self) -> tuple[int, ...]:
        """The arms not voted out.

        Paper: K(l).
        """
        return tuple(k for k, kept in enumerate(self.shared_mask) if kept)

    @property
    def answer(self) -> tuple[int, ...]:
        """The arms still shared, the one with the fewest votes first (erratum 5)."""
        return tuple(sorted(self.shared, key=lambda k: (self._counts[k], k)))

    def _refusal(self, message: Message) -> str | None:
        """Refuse a term that does not follow the last one, and any second one if nothing resets.

        The highest term counts: a message with the largest possible one would void every vote.
        """
        assert isinstance(message, Vote | Reset)
        if message.term > 0 and not self.spec.resets:
            return (
                f"term={message.term} was given, but {self.spec.algorithm} never resets and stays "
                "in term 0.\nDiscard the message."
            )
        if message.term > self.spec.last_term:
            return (
                f"term={message.term} was given, but without a server the last term is "
                f"{self.spec.last_term}.\nDiscard the message."
            )
        if message.term > self.term + 1:
            return (
                f"term={message.term} was given, but the board is in term {self.term}.\n"
                f"Open term {self.term + 1} first."
            )
        return None

    def is_early(self, message: Message) -> bool:
        """Whether the terms in between have not been received yet."""
        if not isinstance(message, Vote | Reset) or not self.spec.resets:
            return False
        if message.experiment != self.spec.name:  # else a voter could send it under any name
            return False
        return self.term + 1 < message.term <= self.spec.last_term

    def add(self, message: Message) -> bool:
        """Take in a message; returns whether it was new to this ballot."""
        if isinstance(message, Reset):
            return self._open(message.term)
        assert isinstance(message, Vote)
        key = (message.term, message.arm, message.voter)
        if key in self._votes:
            return False
        self._votes.add(key)
        if message.term > self.term:
            self._open(message.term)
        elif message.term == self.term:
            self._by_voter.setdefault(message.voter, set()).add(message.arm)
            self._counts[message.arm] += 1
            shared_set(self._counts, self.quorum, self.shared_mask)
        return True

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
        cannot be detected.

        Paper: Algorithm 2, line 22.
        Differs from print: agreement is not assumed to come (erratum 5).
        """
        if sum(self.shared_mask) == 1:
            return "agreed"
        if n_players is None or len(self._by_voter) < n_players:
            return "open"
        shared = self.shared
        finished = [
            voter
            for voter, arms in self._by_voter.items()
            if len(arms.intersection(shared)) + 1 >= len(shared)
        ]
        return "stalled" if len(finished) >= n_players else "open"

    def view(self) -> dict[str, Any]:
        """Votes against each option, and how many throw it out."""
        facts = [["voters so far", f"{len(self._by_voter):,}"]]
        if self.term:
            facts.append(["term", f"{self.term:,}"])
        return {
            "heading": "votes against",
            "counts": list(self._counts),
            "needed": self.quorum,
            "facts": facts,
        }

    def _open(self, term: int) -> bool:
        if term <= self.term:
            return False
        self.term = term
        self._by_voter = {}
        self._counts = [0] * self.spec.n_arms
        for vote_term, arm, voter in self._votes:
            if vote_term == term:
                self._by_voter.setdefault(voter, set()).add(arm)
                self._counts[arm] += 1
        shared_set(self._counts, self.quorum, self.shared_mask)
        return True

    def __len__(self) -> int:
        return len(self._votes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ballot):
            return NotImplemented
        return (self.spec, self.term, self._votes) == (other.spec, other.term, other._votes)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Ballot(term={self.term}, votes={len(self._votes)}, shared={self.shared})"
