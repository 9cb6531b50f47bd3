"""The ways players can work together, and what each asks of the subroutine.

Paper: section 5.1, the two baselines beside Decentralized Elimination.
"""

import difflib
from dataclasses import dataclass

from devote.protocol.errors import SpecError
from devote.protocol.spec import ExperimentSpec


@dataclass(frozen=True)
class Protocol:
    """How players share: who learns, at which failure probability, and what is sent."""

    name: str
    paper_name: str
    summary: str
    votes: bool = False
    pools: bool = False
    seats: bool = False

    def subroutine_eta(self, spec: ExperimentSpec, n_players: int) -> float:
        """The failure probability handed to the subroutine.

        Paper: eta in Algorithm 2; ``delta/N`` for 1-privacy, delta for 0-privacy (section 5.1).
        """
        if self.votes:
            return spec.eta
        return spec.delta if self.pools else spec.delta / n_players

    def votes_needed(self, spec: ExperimentSpec) -> int:
        """Votes that eliminate an arm: the quorum, or the jury less those who may be absent.

        Paper: Algorithm 2, line 6.
        """
        return spec.jury_size - spec.absent if self.seats else spec.votes_needed

    def seats_to_fill(self, spec: ExperimentSpec) -> int:
        """The number of jurors, 0 where everybody votes."""
        return spec.jury_size if self.seats else 0

    def check(self, spec: ExperimentSpec, n_players: int) -> None:
        """Refuse a number of players with which the protocol cannot work."""
        if self.votes:
            needed = self.seats_to_fill(spec) or self.votes_needed(spec)
            spec.check_players(n_players, votes_needed=needed)
        elif not isinstance(n_players, int) or isinstance(n_players, bool) or n_players < 1:
            raise SpecError(
                f"n_players={n_players!r} must be a whole number, 1 or more.\nSomebody must play."
            )


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol(
            name="decentralized",
            paper_name="Decentralized Elimination",
            summary="each player learns alone and votes; a quorum eliminates an arm for all",
            votes=True,
        ),
        Protocol(
            name="jury",
            paper_name="(this project's)",
            summary="as decentralized, but a fixed jury votes and an arm goes when all of it agree",
            votes=True,
            seats=True,
        ),
        Protocol(
            name="isolated",
            paper_name="1-privacy",
            summary="each player learns alone and says nothing",
        ),
        Protocol(
            name="pooled",
            paper_name="0-privacy",
            summary="every sample is sent to everybody: one learner in effect",
            pools=True,
        ),
    )
}


def get_protocol(name: str) -> Protocol:
    """The protocol of that name.

    >>> get_protocol("isolated").paper_name
    '1-privacy'
    """
    try:
        return PROTOCOLS[name]
    except KeyError:
        near = difflib.get_close_matches(str(name), PROTOCOLS, n=1, cutoff=0.4)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise SpecError(
            f"protocol={name!r} is not known.\n{hint}Use one of: {', '.join(PROTOCOLS)}."
        ) from None
