"""What Decentralized Elimination asks for and what it is worth."""

from dataclasses import dataclass
from typing import ClassVar

from devote import theory
from devote.protocol.errors import SpecError
from devote.protocol.player import Player
from devote.protocol.promises import Case
from devote.protocol.scheme import Scheme, Tally, check
from devote.protocol.spec import ExperimentSpec
from devote.rules.votes import quorum
from devote.schemes.decentralized import promises
from devote.schemes.decentralized.ballot import Ballot
from devote.schemes.decentralized.messages import Reset, Vote
from devote.schemes.decentralized.player import Voter

RULES = ("paper", "ceil")


@dataclass(frozen=True)
class Decentralized(Scheme):
    """Each player learns alone and votes; ``quorum`` votes eliminate an arm for all.

    ``quorum`` is a rule, ``paper`` or ``ceil``, or the number of votes itself.

    Paper: Algorithm 2.
    """

    name: ClassVar[str] = "decentralized"
    paper_name: ClassVar[str] = "Decentralized Elimination"
    summary: ClassVar[str] = "each player learns alone and votes; a quorum eliminates an arm"
    tally_form: ClassVar[type[Tally]] = Ballot
    player_form: ClassVar[type[Player]] = Voter
    kinds: ClassVar[tuple[type, ...]] = (Vote, Reset)
    remedies: ClassVar[dict[str, str]] = {
        "quorum": "'paper' is floor(log delta / log eta), 'ceil' rounds up; or a number of votes."
    }
    sends: ClassVar[str] = "votes"
    sentences: ClassVar[dict[str, str]] = {
        "vote": "player {player} votes against arm {arm}",
        "elimination": "arm {arm} eliminated",
        "reset": "player {player} resets: term {term} begins",
    }

    quorum: str | int = "paper"

    def __post_init__(self) -> None:
        if self.quorum in RULES:
            return
        if isinstance(self.quorum, str):
            raise SpecError(
                f"quorum={self.quorum!r} must be 'paper', 'ceil' or a number of votes.\n"
                f"{self.remedies['quorum']}"
            )
        check.whole("quorum", self.quorum, least=1, remedy=self.remedies["quorum"])

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

    def message_bound(self, spec: ExperimentSpec) -> int:
        """``M K - 1`` votes in each term.

        Paper: Theorem 1, the communication cost.
        """
        return theory.message_bound(self.votes_needed(spec), spec.n_arms)

    def can_stall(self, case: Case) -> bool:
        """Whether players may split over two arms for good; if their number is unknown, they may.

        Paper: Theorem 1, part 2 of its proof; errata 5 and 20.
        """
        n_players = case.n_players
        return n_players is None or theory.stall_possible(n_players, self.votes_needed(case.spec))

    why_no_sample_bound = promises.why_no_sample_bound

    def facts(self, spec: ExperimentSpec) -> dict[str, int]:
        """The quorum under both rules (erratum 6)."""
        return {f"votes by the rule {rule}": quorum(spec.delta, spec.eta, rule) for rule in RULES}

    def enough_players(self, spec: ExperimentSpec) -> int:
        """``2M - 1``: with fewer a tie can split them so that no quorum forms."""
        return 2 * self.votes_needed(spec) - 1

    def asks(self, spec: ExperimentSpec) -> str:
        """A vote against each option it gives up."""
        return f"plays until all agree; at most {spec.n_arms - 1} votes"

    bounds = promises.bounds
    promises = promises.promises
