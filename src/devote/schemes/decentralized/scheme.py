"""What Decentralized Elimination asks for and what it is worth."""

from dataclasses import dataclass
from typing import ClassVar

from devote.protocol.errors import SpecError
from devote.protocol.planning import Case, Guarantees, Planning
from devote.protocol.scheme import About, Scheme, check
from devote.protocol.spec import ExperimentSpec
from devote.rules.votes import quorum
from devote.schemes.decentralized import promises
from devote.schemes.decentralized.ballot import Ballot
from devote.schemes.decentralized.messages import Reset, Vote
from devote.schemes.decentralized.player import Voter

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
        return promises.guarantees(self, case)

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
