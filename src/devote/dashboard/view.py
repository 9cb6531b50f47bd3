"""One experiment as its page shows it: a function of what the board holds, kept up to date.

The rules (who is out, whether it has stalled) are the ballot's; nothing is decided here, and
nothing can be shown that was not posted. A view takes in each message once, so that a long board
costs no more per look than a short one.
"""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from devote.boards.experiment import Experiment
from devote.dashboard.bounds import failure_bounds
from devote.dashboard.timeline import Timeline
from devote.protocol import Ballot, ExperimentSpec, Message, Vote, get_protocol
from devote.protocol.messages import KINDS, from_dict, to_dict

LETTERS = 50
"""At most so many messages of one device are shown, the latest."""

_NAMES: dict[type, str] = {kind: name for name, (_, kind) in KINDS.items()}


class View:
    """What can be said of one experiment's board.

    ``number`` is that of the last message taken in.
    """

    def __init__(self, spec: ExperimentSpec) -> None:
        protocol = get_protocol(spec.protocol)
        self.spec = spec
        self.number = 0
        self.ballot = Ballot(spec.n_arms, protocol.votes_needed(spec), protocol.seats_to_fill(spec))
        self._arms = tuple(str(name) for name in spec.arms)  # type: ignore[union-attr]
        self._out_at: dict[int, int] = {}
        self._timeline = Timeline()
        self._sent: Counter[str] = Counter()
        self._shown: str | None = None
        self._letters: list[dict[str, Any]] = []

    def take(self, rows: Iterable[tuple[int, str, str]]) -> None:
        """Take in messages in the order of the board: number, JSON text and signature."""
        for number, text, signature in rows:
            message = from_dict(json.loads(text), self.spec.n_arms)
            self._count(message, number)
            self._keep(message, signature)
            self.number = number

    def render(self, experiment: Experiment) -> dict[str, Any]:
        """Everything the page shows, as JSON values."""
        spec, ballot = self.spec, self.ballot
        votes = ballot.tally
        return {
            **self.summary(experiment),
            "algorithm": spec.algorithm,
            "protocol": spec.protocol,
            "epsilon": spec.epsilon,
            "eta": spec.eta,
            "delta": spec.delta,
            "enrolment": experiment.enrolment,
            "voters": len(ballot.voters),
            "quorum": ballot.quorum,
            "jury": {"size": ballot.n_seats, "seated": len(ballot.jury)}
            if ballot.n_seats
            else None,
            "term": ballot.term,
            "arms": [
                {"name": name, "votes": votes[k], "out_at": self._out_at.get(k)}
                for k, name in enumerate(self._arms)
            ],
            "timeline": self._timeline.to_dict(spec.n_arms),
            "bounds": failure_bounds(experiment),
            "device": self._device(),
        }

    def summary(self, experiment: Experiment) -> dict[str, Any]:
        """What the list of experiments shows; ``answer`` has the fewest votes first."""
        return {
            "name": self.spec.name,
            "options": self.spec.n_arms,
            "players": experiment.players,
            "seats": experiment.seats,
            "number": self.number,
            "status": self.ballot.status(experiment.players),
            "answer": [self._arms[k] for k in self.ballot.answer],
        }

    def _count(self, message: Message, number: int) -> None:
        term, shared = self.ballot.term, self.ballot.shared
        self.ballot.add(message)
        if self.ballot.term > term:
            self._out_at = {}
        left = self.ballot.shared
        for arm in shared if len(left) < len(shared) else ():
            if arm not in left:
                self._out_at[arm] = number
        arm = message.arm if isinstance(message, Vote) else 0
        self._timeline.add(_NAMES[type(message)], arm, number)

    def _keep(self, message: Message, signature: str) -> None:
        self._sent[message.voter] += 1
        # The first to speak stays on the page: one that changed with every vote could not be read.
        self._shown = self._shown or message.voter
        if message.voter == self._shown:
            letter = {"message": to_dict(message), "signature": signature}
            about = self._arms[message.arm] if isinstance(message, Vote) else None
            self._letters = [*self._letters, {"about": about, "sent": letter}][-LETTERS:]

    def _device(self) -> dict[str, Any] | None:
        """All that one device has sent, to the letter, and how much the most talkative has."""
        if self._shown is None:
            return None
        return {
            "voter": self._shown,
            "count": self._sent[self._shown],
            "most": max(self._sent.values()),
            "letters": self._letters,
        }
