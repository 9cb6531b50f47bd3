"""A device that answers a survey: it plays one arm, sends one noisy bit, and is not asked again.

The noise is drawn when the arm is chosen and kept with that choice, so that no crash draws it
again. The reward makes the bit; both reward and noise are then forgotten. Once a device has given
all its answers, or the survey is decided, it plays the arm that leads.
"""

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from devote.protocol.errors import LocalProtocolError, RemoteProtocolError
from devote.protocol.learner import LearnerSettings, is_reward
from devote.protocol.messages import Message
from devote.protocol.player import Player
from devote.protocol.scheme import Status
from devote.protocol.spec import ExperimentSpec
from devote.protocol.wire import WHOLE
from devote.rules import merge
from devote.rules.randomizer import blur_reward
from devote.schemes.survey.messages import Answer
from devote.schemes.survey.tally import Answers

if TYPE_CHECKING:
    from devote.schemes.survey.scheme import Survey

NO_TALLY = "What was read is not the public tally of a survey.\nDiscard it, and read again."


@dataclass(frozen=True)
class Told:
    """What a device knows of the tally.

    ``shared`` has the arms that may still be the answer, ``answer`` the same with the likeliest
    first, ``asked`` those among which a device draws. ``snapshot`` numbers what was read.
    """

    status: Status
    shared: tuple[int, ...]
    answer: tuple[int, ...]
    asked: tuple[int, ...]
    snapshot: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    @classmethod
    def read(cls, public: dict[str, Any], n_arms: int) -> "Told":
        """Read the public form of a tally, which may be a peer's nonsense."""
        try:
            told = cls(
                public["status"],
                tuple(public["shared"]),
                tuple(public["answer"]),
                tuple(public["asked"]),
                public["snapshot"],
            )
            are_arms = all(type(arm) is int and 0 <= arm < n_arms for arm in told.shared)
            is_right = are_arms and len(set(told.shared)) == len(told.shared) > 0
            is_right = is_right and sorted(told.answer) == sorted(told.shared)
            is_right = is_right and len(set(told.asked)) == len(told.asked) > 0
            is_right = is_right and set(told.asked) <= set(told.shared)
            is_right = is_right and type(told.snapshot) is int and 0 <= told.snapshot <= WHOLE
        except (LookupError, TypeError):
            is_right = False
        if not is_right or told.status != ("open" if len(told.shared) > 1 else "agreed"):
            raise RemoteProtocolError(NO_TALLY)
        return told

    @property
    def leader(self) -> int:
        """The arm that looks best."""
        return self.answer[0]

    @property
    def is_decided(self) -> bool:
        """Whether nothing is asked any more."""
        return self.status != "open"


class Respondent(Player):
    """One device of a survey."""

    tally: Answers

    def __init__(self, spec: ExperimentSpec, voter: str, n_players: int | None = None) -> None:
        super().__init__(spec, voter, n_players)
        self._survey = cast("Survey", spec.scheme)
        self._given = 0
        self._noise: float | None = None
        """The noise of the question that awaits its reward; None while there is none."""
        self._seen = 0
        """The snapshot from which that question's arm was drawn."""
        self._told: Told | None = None

    def _settings(self, n_players: int | None) -> LearnerSettings:
        """One that keeps nothing: the board learns, a device only remembers what it played."""
        board = super()._settings(n_players)
        return replace(board, algorithm="naive", options={}, liars=0)

    @property
    def answers_left(self) -> int:
        """How many more answers this device may give."""
        return self._survey.answers - self._given

    @property
    def is_asked(self) -> bool:
        """Whether the pending play is one that the survey asks about."""
        return self._noise is not None

    @property
    def may_ask(self) -> bool:
        """Whether answers are left and wanted."""
        return self.answers_left > 0 and not self._knows().is_decided

    @property
    def shared(self) -> tuple[int, ...]:
        """The arms that may still be the answer, by what was read last."""
        return self._knows().shared

    def read(self, public: dict[str, Any]) -> None:
        """Take over the public form of the tally, instead of the messages themselves."""
        self._told = Told.read(public, self.spec.n_arms)

    def public(self, n_players: int | None = None) -> dict[str, Any]:
        """The public form of the tally, by what this player has read."""
        return self._knows().to_dict()

    def receive(self, message: Message) -> None:
        """Take in an answer; one of its own, that a lost store forgot, counts as given."""
        super().receive(message)
        if message.voter == self.voter:
            self.recall(message)

    def recall(self, message: Message) -> None:
        """An answer that is on the board has been given: the question is not asked again."""
        assert isinstance(message, Answer)
        if message.number > self._given:
            self._given = message.number
            self._noise = None

    def activate(self, u: float, noise: float = 0.0, *, ask: bool = True) -> int:
        """Play an arm: one that the survey asks about, drawn with ``u``; or the one that leads.

        ``noise`` is kept until the reward comes.
        """
        if self.pending is not None or not 0.0 <= u < 1.0:
            return self.learner.activate(u)  # which refuses, before anything is changed
        if not 0.0 <= noise < 1.0:
            raise LocalProtocolError("The noise must be in [0, 1).\nPass random.random().")
        self.activations += 1
        known = self._knows()
        if known.is_decided:
            mask = [int(k == known.leader) for k in range(self.spec.n_arms)]
            self.conflicts += merge(self.learner.state, mask)
        elif ask and self.answers_left > 0:
            self._noise, self._seen = noise, known.snapshot
            return self.learner.activate(u, known.asked[int(u * len(known.asked))])
        return self.learner.activate(u, known.leader)

    def reward(self, x: float) -> list[Message]:
        """Make the answer, and forget what it was made of."""
        if self.pending is None or not is_reward(x):
            self.learner.reward(x)  # which refuses, before anything is changed
        arm = self.pending
        assert arm is not None
        self.learner.abandon()  # it is the board's learner that learns
        if self._noise is not None:
            bit = blur_reward(float(x), self._noise, self._survey.truths)
            self._noise = None
            self._given += 1
            self._say([Answer(self.spec.name, arm, bit, self._given, self._seen, self.voter)])
        return self.outgoing()

    def abandon(self) -> None:
        """A reward that has not come counts as 0; an answer is then to be fetched and sent.

        Without one the answers would be those of people who clicked. Its noise is spent, and is
        not drawn again.
        """
        if self.pending is None:
            self.learner.abandon()  # which refuses
        self._say(self.reward(0.0))

    def still_wants(self, message: Message) -> bool:
        """An answer is of use until the survey is decided; no other is ever given in its place.

        Refused all the same, it is kept and offered again: perhaps the device is not enrolled.
        """
        return not self._knows().is_decided

    def _knows(self) -> Told:
        if self._told is not None:
            return self._told
        tally = self.tally
        return Told(tally.status(), tally.shared, tally.answer, tally.asked, len(tally))

    def _own(self) -> dict[str, Any]:
        told = None if self._told is None else self._told.to_dict()
        return {"given": self._given, "noise": self._noise, "seen": self._seen, "told": told}

    def _restore(self, own: dict[str, Any]) -> None:
        self._given, self._noise, self._seen = own["given"], own["noise"], own["seen"]
        if own["told"] is not None:
            self._told = Told.read(own["told"], self.spec.n_arms)
