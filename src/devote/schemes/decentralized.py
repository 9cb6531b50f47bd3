"""Decentralized Elimination: players vote arms out, and a quorum eliminates an arm for all.

A ballot is a grow-only set keyed by (term, arm, voter). Everything it shows is a function of that
set alone: ballots that hold the same votes agree, whatever came late, twice or in another order.

Paper: Algorithm 2, lines 3-7.
Differs from print: the shared set is derived from the votes, never changed by hand (errata 2, 3).
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

from devote import theory
from devote.protocol.errors import SpecError
from devote.protocol.messages import ARM, Message, Number, message
from devote.protocol.planning import Bound, Case, Guarantees, Planning, Promise
from devote.protocol.player import Player
from devote.protocol.scheme import About, Scheme, Status, Tally, check
from devote.protocol.spec import ExperimentSpec
from devote.rules import merge
from devote.rules.votes import quorum, shared_set
from devote.schemes.lone import alone, one_device, right_answer

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


class Voter(Player):
    """One player of Decentralized Elimination.

    Reading moves it to the ballot's term if that is higher, and takes out the arms that are no
    longer shared. Its own votes are on its ballot at once: they rest on its own rewards only.
    """

    tally: Ballot

    def __init__(self, spec: ExperimentSpec, voter: str, n_players: int | None = None) -> None:
        super().__init__(spec, voter, n_players)
        self.term = 0
        """The term this player is learning in."""

    def _read(self) -> None:
        if self.tally.term > self.term:
            self.term = self.tally.term
            self.learner.restart()
        self.conflicts += merge(self.learner.state, self.tally.shared_mask)

    def _learn(self, eliminated: list[int], *, was_reset: bool) -> None:
        """Vote against what was eliminated, or open the next term.

        Differs from print: a single eliminated arm is sent too (erratum 1); no vote is sent
        twice, also not after a conflict (erratum 4); nothing is sent in a term that a peer's
        reset has ended meanwhile (erratum 14).
        """
        if self.tally.term > self.term:
            return
        messages: list[Message] = []
        if was_reset:
            if self.term < self.spec.last_term:
                self.term += 1
                messages = [Reset(self.spec.name, self.term, self.voter)]
        elif eliminated:
            sent = self.tally.voted(self.voter)
            messages = [
                Vote(self.spec.name, self.term, arm, self.voter)
                for arm in eliminated
                if arm not in sent
            ]
        for sent_now in messages:
            self.tally.add(sent_now)
        self._send(messages)

    def _own(self) -> dict[str, Any]:
        return {"term": self.term}

    def _restore(self, own: dict[str, Any]) -> None:
        self.term = own["term"]


SAYS_NOTHING = 0.99
"""A bound above this is not shown, because it means nothing."""


def bounds(scheme: "Decentralized", case: Case) -> tuple[Bound, ...]:
    """Bounds on a wrong answer, the boldest first and the soundest last.

    Paper: Theorem 1.
    Differs from print: any M of N players can vote an arm out (errata 7 and 19).
    """
    spec, n, votes = case.spec, case.n_players, scheme.votes_needed(case.spec)
    claim = (
        f"What the paper prints: eta to the power of {votes}. It holds for {votes} devices chosen "
        "beforehand."
    )
    claimed = Bound("claimed", theory.claimed_failure(spec.eta, votes), claim)
    if n is not None and n < votes:
        return (claimed,)
    found = alone(spec, spec.eta)
    broken = case.broken if n is not None else "more devices may still join"
    if n == votes and found.bound is not None and not broken:
        value = theory.vote_failure(n, lone=min(1.0, found.bound), quorum=votes)
        text = f"Here all {votes} must be wrong together: the claim holds, and more."
        return (claimed, Bound("proved", value, text))
    lone = found.wrong_vote
    if broken or lone is None or n is None:
        why = broken or f"{spec.algorithm}: {found.why}"
        return (replace(claimed, text=f"{claim} Nothing is proved here: {why}."),)
    value = theory.vote_failure(n, lone=min(1.0, lone), quorum=votes)
    text = (
        f"Any {votes} of {n} can throw an arm out, and one device votes against the only "
        f"good arm with probability at most {lone:.2g}"
    )
    if value > SAYS_NOTHING:
        text += ": too much for a bound on the vote. Use a jury, or another subroutine."
        return (replace(claimed, text=f"{claim} {text}"),)
    if case.n_optimal == 1:
        return (claimed, Bound("proved", value, f"{text}: this bound follows."))
    text += ": this bound follows, where one arm alone is good."
    if case.n_optimal is not None:
        text += f" Here {case.n_optimal} arms are good, which it does not cover."
    text += " With several good arms use a jury."
    return (claimed, Bound("if one arm is good", value, text))


def _no_sample_bound(case: Case, votes: int) -> str:
    """Why Theorem 2 bounds no samples here; empty where it does.

    Paper: Theorem 2; erratum 15.
    """
    if case.broken:
        return f"Theorem 2 does not apply: {case.broken}."
    if case.n_optimal is None:
        return "Theorem 2 holds where one arm is epsilon-optimal, and here that is not known."
    if theory.theorem_2_holds(case.n_optimal, quorum=votes):
        return ""
    return (
        f"Theorem 2 does not hold here: {case.n_optimal} arms are epsilon-optimal, so {votes} "
        f"devices that are done may keep different arms. It takes up to {2 * votes - 1} of them."
    )


def _guarantees(scheme: "Decentralized", case: Case) -> Guarantees:
    """Every bound and promise with its standing.

    Paper: Theorem 1: the answer, the communication cost (``M K - 1`` votes in each term; erratum
    2), one answer (part 2 of its proof; errata 5 and 20), the privacy level (erratum 8).
    """
    spec, votes, n = case.spec, scheme.votes_needed(case.spec), case.n_players
    found = bounds(scheme, case)
    message_bound = theory.message_bound(votes, spec.n_arms)
    can_stall = n is None or n < votes or theory.stall_possible(n, votes)
    when = " in each term, a reset apart" if spec.resets else ""
    one_answer = Promise(
        "one answer",
        "proved",
        f"{n} players are at least 2 x {votes} - 1: no split can stall.",
    )
    if can_stall:
        one_answer = Promise(
            "one answer",
            "refuted",
            f"Up to 2 x {votes} - 2 players can split over two near-equal arms so that no quorum "
            f"forms; the {'term' if spec.resets else 'run'} then ends as stalled. "
            f"Use {2 * votes - 1} players or more to rule it out.",
        )
    rows = (
        right_answer(found),
        one_device(case, spec.eta),
        Promise(
            "few messages",
            "proved",
            f"At most {message_bound} votes are broadcast{when}, if each is read "
            "before the next device wakes.",
        ),
        one_answer,
        Promise(
            "privacy",
            "refuted",
            "Rewards stay on the device. But its votes point at its best arm: the paper claims at "
            f"most {1 - spec.eta:.2g} certainty, and its inequality runs the other way (success at "
            "least that). Measured at eta .9 on problem 1, from a voter's own messages against a "
            "claimed cap of .1: .811 [.799, .823] at N = 32, .419 [.404, .435] at N = 64; who "
            "voted against all arms but one is named every time (2,712 of 2,712).",
        ),
    )
    return Guarantees(
        bounds=found,
        promises=rows,
        message_bound=message_bound,
        can_stall=can_stall,
        no_sample_bound=_no_sample_bound(case, votes),
    )


RULES = ("paper", "ceil")
QUORUM = "'paper' is floor(log delta / log eta), 'ceil' rounds up; or a number of votes."


@dataclass(frozen=True)
class Decentralized(Scheme):
    """Each player learns alone and votes; ``quorum`` votes eliminate an arm for all.

    ``quorum`` is a rule, ``paper`` or ``ceil``, or the number of votes itself.

    Paper: Algorithm 2.
    """

    name: ClassVar[str] = "decentralized"
    about: ClassVar[About] = About(
        summary="each player learns alone and votes; a quorum eliminates an arm",
        source="Decentralized Elimination",
        messages=(Vote, Reset),
        sends="votes",
        parameters={"quorum": QUORUM},
    )

    quorum: str | int = "paper"

    def __post_init__(self) -> None:
        if self.quorum in RULES:
            return
        if isinstance(self.quorum, str):
            raise SpecError(
                f"quorum={self.quorum!r} must be 'paper', 'ceil' or a number of votes.\n{QUORUM}"
            )
        check.whole("quorum", self.quorum, least=1, remedy=QUORUM)

    def tally(self, spec: ExperimentSpec) -> Ballot:
        """An empty ballot."""
        return Ballot(spec)

    def player(self, spec: ExperimentSpec, voter: str, n_players: int | None = None) -> Voter:
        """A player who votes."""
        return Voter(spec, voter, n_players)

    def check(self, spec: ExperimentSpec) -> None:
        """Refuse a delta that one vote would meet.

        Paper: Algorithm 2 asks for ``delta <= eta^2``, that is M >= 2.
        """
        votes = self.votes_needed(spec)
        if isinstance(self.quorum, str) and votes < 2:
            raise SpecError(
                f"delta={spec.delta} with eta={spec.eta} needs {votes} vote to "
                "eliminate an arm, but delta must be at most eta^2.\n"
                "Use a lower delta, a lower eta, or give the quorum as a number."
            )

    def fewest_players(self, spec: ExperimentSpec) -> int:
        """The quorum: fewer players can never eliminate an arm.

        Paper: Algorithm 2 asks for ``delta >= eta^N``, which is M <= N.
        """
        return self.votes_needed(spec)

    def too_few(self, spec: ExperimentSpec, n_players: int) -> str:
        """How many votes it takes, and why."""
        needed = self.votes_needed(spec)
        cause = f"delta={spec.delta} with eta={spec.eta}"
        remedy = "a lower eta, or a higher delta"
        if needed == self.quorum:
            cause, remedy = f"quorum={needed}", "or a lower quorum"
        return (
            f"{cause} needs {needed} votes to eliminate an arm, but there are {n_players} "
            f"players.\nUse at least {needed} players, {remedy}."
        )

    def votes_needed(self, spec: ExperimentSpec) -> int:
        """M, the number of votes that eliminate an arm.

        Paper: Algorithm 2, line 6.
        """
        if isinstance(self.quorum, str):
            return quorum(spec.delta, spec.eta, self.quorum)
        return self.quorum

    def guarantees(self, case: Case) -> Guarantees:
        """The paper's claims, and what is proved of them."""
        return _guarantees(self, case)

    def planning(self, spec: ExperimentSpec) -> Planning:
        """A vote against each option that a device gives up.

        With fewer than ``2M - 1`` players a tie can split them so that no quorum forms.
        """
        return Planning(
            enough_players=2 * self.votes_needed(spec) - 1,
            asks=f"plays until all agree; at most {spec.n_arms - 1} votes",
            numbers={
                f"votes by the rule {rule}": quorum(spec.delta, spec.eta, rule) for rule in RULES
            },
        )
