"""A device that answers a survey: it plays one arm, sends one noisy bit, and is not asked again.

The noise is drawn when the arm is chosen and kept with that choice, so that no crash draws it
again. The reward makes the bit; both reward and noise are then forgotten. Once a device has given
all its answers, or the survey is decided, it plays the arm that leads.
"""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

from devote.kernels import merge
from devote.kernels.randomizer import blur_reward
from devote.protocol.errors import LocalProtocolError, RemoteProtocolError
from devote.protocol.learner import is_reward
from devote.protocol.messages import Message
from devote.protocol.player import Player
from devote.protocol.spec import ExperimentSpec
from devote.schemes.survey.messages import Answer
from devote.schemes.survey.tally import Answers

if TYPE_CHECKING:
    from devote.schemes.survey.scheme import Survey

NO_TALLY = "What was read is not the public tally of a survey.\nDiscard it, and read again."


@dataclass(frozen=True)
class Told:
    """What a device knows of the tally: the arms asked about, who leads, whether it is decided."""

    asked: tuple[int, ...]
    leader: int
    is_decided: bool

    @classmethod
    def read(cls, public: dict[str, Any], n_arms: int) -> "Told":
        """Read the public form of a tally, which may be a peer's nonsense."""
        try:
            told = cls(tuple(public["shared"]), public["answer"][0], public["status"] != "open")
        except (LookupError, TypeError):
            raise RemoteProtocolError(NO_TALLY) from None
        arms = (*told.asked, told.leader)
        are_arms = all(type(arm) is int and 0 <= arm < n_arms for arm in arms)
        if not are_arms or not 0 < len(set(told.asked)) == len(told.asked):
            raise RemoteProtocolError(NO_TALLY)
        return told


class Respondent(Player):
    """One device of a survey."""

    tally: Answers

    def __init__(self, spec: ExperimentSpec, voter: str, eta: float | None = None) -> None:
        super().__init__(spec, voter, eta)
        self._survey = cast("Survey", spec.scheme)
        self._given = 0
        self._noise: float | None = None
        """The noise of the question that awaits its reward; None while there is none."""
        self._told: Told | None = None

    @property
    def answers_left(self) -> int:
        """How many more answers this device may give."""
        return self._survey.answers - self._given

    @property
    def reply_after(self) -> float:
        """Seconds after the choice at which an answer is sent, click or no click."""
        return self._survey.reply_after

    @property
    def shared(self) -> tuple[int, ...]:
        """The arms still asked about, by what was read last."""
        return self._knows().asked

    def read(self, public: dict[str, Any]) -> None:
        """Take over the public form of the tally, instead of the messages themselves."""
        self._told = Told.read(public, self.spec.n_arms)

    def receive(self, message: Message) -> None:
        """Take in an answer; one of its own, that a lost store forgot, counts as given."""
        super().receive(message)
        assert isinstance(message, Answer)
        if message.voter == self.voter and message.number > self._given:
            self._given = message.number
            self._noise = None

    def activate(self, u: float, noise: float = 0.0) -> int:
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
        elif self.answers_left > 0:
            self._noise = noise
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
            self._say([Answer(self.spec.name, arm, bit, self._given, self.voter)])
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
        """An answer that was refused is never sent again: its noise is spent, it is given."""
        return False

    def _knows(self) -> Told:
        if self._told is not None:
            return self._told
        tally = self.tally
        return Told(tally.shared, tally.leader, tally.status() != "open")

    def _own(self) -> dict[str, Any]:
        told = None if self._told is None else asdict(self._told)
        return {"given": self._given, "noise": self._noise, "told": told}

    def _restore(self, own: dict[str, Any]) -> None:
        self._given, self._noise = own["given"], own["noise"]
        told = own["told"]
        if told is not None:
            self._told = Told(tuple(told["asked"]), told["leader"], told["is_decided"])
