"""A player who votes against what it has eliminated.

Paper: Algorithm 2.
"""

from typing import Any

from devote.protocol.messages import Message
from devote.protocol.player import Player
from devote.protocol.spec import ExperimentSpec
from devote.rules import merge
from devote.schemes.decentralized.ballot import Ballot
from devote.schemes.decentralized.messages import Reset, Vote


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
        for message in messages:
            self.tally.add(message)
        self._say(messages)

    def _own(self) -> dict[str, Any]:
        return {"term": self.term}

    def _restore(self, own: dict[str, Any]) -> None:
        self.term = own["term"]
