"""A device of a survey: which arm it plays, which one it answers about, and what it sends.

The arm that is asked about is drawn uniformly from the public tally alone, so it says nothing of
the device. All noise is drawn with it and stored, so that no crash draws it again; the reward makes
the answer, and reward and noise are then forgotten. Once a device has given all its answers, or the
survey is decided, it plays the arm that leads.

With segments the device keeps its own one, by which arms lead for it and by which its answer is
made; it is never sent. Once its segment is decided the device plays that answer, and still answers
about an arm that is drawn as before, with a fair coin in place of a reward: neither the arm nor
silence tells its segment.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from devote.protocol.errors import LocalProtocolError, RemoteProtocolError
from devote.protocol.learner import LearnerSettings, is_reward
from devote.protocol.messages import WHOLE, Message
from devote.protocol.player import Player
from devote.protocol.scheme import Status
from devote.protocol.spec import ExperimentSpec
from devote.rules import merge
from devote.rules.randomizer import blur_reward
from devote.schemes.survey.signed_subsets import Noise, draw_noise, pack, signed_subset
from devote.schemes.survey.tally import Answer, SegmentedAnswer, SurveyTally

if TYPE_CHECKING:
    from devote.schemes.survey.scheme import Survey

NO_TALLY = "What was read is not the public tally of a survey.\nDiscard it, and read again."
COIN = 0.5
"""The reward in an answer of a decided segment."""


@dataclass(frozen=True)
class SegmentSnapshot:
    """What a device knows of one segment: its status and the arm that leads or has won."""

    status: Status
    leader: int

    @property
    def is_decided(self) -> bool:
        """Whether the leader is the answer."""
        return self.status != "open"


@dataclass(frozen=True)
class TallySnapshot:
    """What a device knows of the tally.

    ``shared`` has the arms that may still be an answer, ``answer`` the same with the likeliest
    first, ``asked`` those among which a device draws. ``snapshot`` is its number; ``withdrawn`` has
    the arms that the operator has withdrawn.
    """

    status: Status
    shared: tuple[int, ...]
    answer: tuple[int, ...]
    asked: tuple[int, ...]
    snapshot: int
    segments: tuple[SegmentSnapshot, ...] = ()
    withdrawn: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        optional = ("segments", "withdrawn")
        return {k: v for k, v in asdict(self).items() if v or k not in optional}

    @classmethod
    def read(cls, public: dict[str, Any], spec: ExperimentSpec) -> "TallySnapshot":
        """Read the public form of a tally, which may be a peer's nonsense."""
        try:
            found = cls.of_tally(public)
            is_right = found._is_right(spec)
        except (LookupError, TypeError):
            is_right = False
        if not is_right:
            raise RemoteProtocolError(NO_TALLY)
        return found

    @classmethod
    def of_tally(cls, public: dict[str, Any]) -> "TallySnapshot":
        """The same of a tally of one's own."""
        return cls(
            public["status"],
            tuple(public["shared"]),
            tuple(public["answer"]),
            tuple(public["asked"]),
            public["snapshot"],
            tuple(SegmentSnapshot(z["status"], z["leader"]) for z in public.get("segments", ())),
            tuple(public.get("withdrawn", ())),
        )

    def _is_right(self, spec: ExperimentSpec) -> bool:
        shared, rows = self.shared, self.segments
        is_open = any(not row.is_decided for row in rows) if rows else len(shared) > 1
        return (
            all(type(arm) is int and 0 <= arm < spec.n_arms for arm in shared)
            and len(set(shared)) == len(shared) > 0
            and sorted(self.answer) == sorted(shared)
            and len(set(self.asked)) == len(self.asked) > 0
            and set(self.asked) <= set(shared)
            and type(self.snapshot) is int
            and 0 <= self.snapshot <= WHOLE
            and self.status == ("open" if is_open else "agreed")
            and not set(self.withdrawn) & set(shared)
            and len(rows) == len(spec.scheme.sending.segments)
            and all(row.status in ("open", "agreed") and row.leader in shared for row in rows)
        )

    @property
    def leader(self) -> int:
        """The arm that looks best."""
        return self.answer[0]

    @property
    def is_decided(self) -> bool:
        """Whether nothing is asked any more."""
        return self.status != "open"

    def of(self, segment: int | None) -> "SegmentSnapshot | TallySnapshot":
        """What decides about the arm to play: that of a segment, if there are any."""
        return self if segment is None else self.segments[segment]


class Question(NamedTuple):
    """The question that awaits its reward: the arm it is about, and all that is random in it.

    ``seen`` is the snapshot from whose asked arms the arm was drawn. ``is_coin``: the device plays
    another arm, because its segment is decided.
    """

    arm: int
    seen: int
    noise: float | Noise
    is_coin: bool


class Respondent(Player):
    """One device of a survey."""

    tally: SurveyTally

    def __init__(self, spec: ExperimentSpec, voter: str, n_players: int | None = None) -> None:
        super().__init__(spec, voter, n_players)
        self._survey = cast("Survey", spec.scheme)
        self._given = 0
        self._question: Question | None = None
        self._segment: int | None = None
        self._snapshot: TallySnapshot | None = None

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
        return self._question is not None

    @property
    def instead(self) -> int | None:
        """The arm that leads, if the operator has withdrawn the arm of the pending play."""
        known = self._tally_read()
        return known.of(self._segment).leader if self.pending in known.withdrawn else None

    @property
    def may_ask(self) -> bool:
        """Whether answers are left and wanted."""
        return self.answers_left > 0 and not self._tally_read().is_decided

    @property
    def shared(self) -> tuple[int, ...]:
        """The arms that may still be an answer, by what was read last."""
        return self._tally_read().shared

    @property
    def settled(self) -> int | None:
        """The answer, of the device's own segment if there are any."""
        known = self._tally_read()
        if self._survey.segments and self._segment is None:
            return None
        own = known.of(self._segment)
        return own.leader if own.is_decided else None

    def read(self, public: dict[str, Any]) -> None:
        """Take over the public form of the tally, instead of the messages themselves."""
        self._snapshot = TallySnapshot.read(public, self.spec)

    def public(self, n_players: int | None = None) -> dict[str, Any]:
        """The public form of the tally, by what this player has read."""
        return self._tally_read().to_dict()

    def receive(self, message: Message) -> None:
        """Take in an answer; one of its own, that a lost store forgot, counts as given."""
        super().receive(message)
        if message.voter == self.voter:
            self.recall(message)

    def recall(self, message: Message) -> None:
        """An answer that is on the board has been given: the question is not asked again."""
        assert isinstance(message, Answer | SegmentedAnswer)
        if message.number > self._given:
            self._given = message.number
            self._question = None

    def check_segment(self, segment: str | None) -> None:
        """Refuse a segment that there is not, none where there are some, and another than before.

        No error names the segment of the device.
        """
        names = self._survey.segments
        if not names:
            super().check_segment(segment)
            return
        known = f"Use one of: {', '.join(names)}."
        if segment is None:
            raise LocalProtocolError(
                f"Experiment {self.spec.name!r} has segments, and none was given.\n{known}"
            )
        if segment not in names:
            raise LocalProtocolError(f"This is no segment of {self.spec.name!r}.\n{known}")
        if self._segment not in (None, names.index(segment)):
            raise LocalProtocolError(
                "This device has been used with another segment before.\n"
                "Give the same each time; a device has one segment in an experiment."
            )

    def activate(
        self,
        u: float,
        noise: float = 0.0,
        *,
        ask: bool = True,
        segment: str | None = None,
        draws: Callable[[], float] | None = None,
    ) -> int:
        """Play an arm: one that the survey asks about, drawn with ``u``; or the one that leads.

        ``noise`` is kept until the reward comes. With segments all noise comes from ``draws``.
        """
        if self.pending is not None or not 0.0 <= u < 1.0:
            return self.learner.activate(u)  # which refuses, before anything is changed
        if not 0.0 <= noise < 1.0:
            raise LocalProtocolError("The noise must be in [0, 1).\nPass random.random().")
        self.check_segment(segment)
        if segment is not None and draws is None:
            raise LocalProtocolError(
                "An answer with a segment needs many random numbers.\n"
                "Pass draws=random.SystemRandom().random."
            )
        self.activations += 1
        if segment is not None:
            self._segment = self._survey.segments.index(segment)
        known = self._tally_read()
        own = known.of(self._segment)
        if own.is_decided:
            mask = [int(k == own.leader) for k in range(self.spec.n_arms)]
            self.conflicts += merge(self.learner.state, mask)
        if not ask or self.answers_left <= 0 or known.is_decided:
            return self.learner.activate(u, own.leader)
        about = known.asked[int(u * len(known.asked))]
        hidden: float | Noise = noise
        if self._segment is not None and draws is not None:
            subsets = self._survey.subsets
            hidden = draw_noise(subsets, self._segment, lambda n: int(draws() * 2**n))
        self._question = Question(about, known.snapshot, hidden, own.is_decided)
        return self.learner.activate(u, own.leader if own.is_decided else about)

    def reward(self, x: float) -> list[Message]:
        """Make the answer, and forget what it was made of."""
        if self.pending is None or not is_reward(x):
            self.learner.reward(x)  # which refuses, before anything is changed
        self.learner.abandon()  # it is the board's learner that learns
        if self._question is not None:
            question, self._question = self._question, None
            self._given += 1
            self._send([self._answer(question, float(x))])
        return self.outgoing()

    def _answer(self, question: Question, x: float) -> Message:
        survey, name, arm, seen = self._survey, self.spec.name, question.arm, question.seen
        if not isinstance(question.noise, Noise):
            bit = blur_reward(x, question.noise, survey.truths)
            return Answer(name, arm, bit, self._given, seen, self.voter)
        assert self._segment is not None
        given = COIN if question.is_coin else x
        low, high = pack(signed_subset(survey.subsets, self._segment, given, question.noise))
        return SegmentedAnswer(name, arm, low, high, self._given, seen, self.voter)

    def abandon(self) -> None:
        """A reward that has not come counts as 0; an answer is then to be fetched and sent.

        Without one the answers would be those of people who clicked. Its noise is spent, and is
        not drawn again.
        """
        if self.pending is None:
            self.learner.abandon()  # which refuses
        self._send(self.reward(0.0))

    def still_wants(self, message: Message) -> bool:
        """An answer is of use until the survey is decided; no other is ever given in its place.

        Refused all the same, it is kept and offered again: perhaps the device is not enrolled.
        """
        return not self._tally_read().is_decided

    def _tally_read(self) -> TallySnapshot:
        if self._snapshot is not None:
            return self._snapshot
        return TallySnapshot.of_tally(self.tally.public())

    def _own(self) -> dict[str, Any]:
        own: dict[str, Any] = {"given": self._given, "segment": self._segment}
        own |= {"noise": None, "question": None, "read": None}
        if self._question is not None:
            arm, seen, noise, is_coin = self._question
            own["noise"] = noise if isinstance(noise, float) else list(vars(noise).values())
            own["question"] = [arm, seen, is_coin]
        if self._snapshot is not None:
            own["read"] = self._snapshot.to_dict()
        return own

    def _restore(self, own: dict[str, Any]) -> None:
        self._given, self._segment = own["given"], own["segment"]
        if own["question"] is not None:
            (arm, seen, is_coin), noise = own["question"], own["noise"]
            hidden = noise if isinstance(noise, float) else Noise(noise[0], *map(tuple, noise[1:]))
            self._question = Question(arm, seen, hidden, is_coin)
        if own["read"] is not None:
            self._snapshot = TallySnapshot.read(own["read"], self.spec)
