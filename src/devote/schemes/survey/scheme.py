"""The survey: each device plays one arm, sends one noisy bit about it, and is not asked again.

The noise is drawn when the arm is chosen and kept with that choice, so that no crash draws it
again. The reward makes the bit; both reward and noise are then forgotten. Once a device has given
all its answers, or the survey is decided, it plays the arm that leads.
"""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, cast

from devote.protocol.errors import LocalProtocolError, RemoteProtocolError, SpecError
from devote.protocol.learner import LearnerSettings, is_reward
from devote.protocol.messages import WHOLE, Message
from devote.protocol.planning import Bound, Case, Guarantees, Planning, Promise, Wish
from devote.protocol.player import Player
from devote.protocol.scheme import About, Scheme, Sending, Status, check
from devote.protocol.spec import ExperimentSpec
from devote.rules import get_algorithm, merge
from devote.rules.randomizer import GRID, blur_reward, truthful
from devote.schemes.estimate import answers_expected, fewest_answers
from devote.schemes.lone import NONE, PRIVACY, alone, check_privacy, right_answer, why_unproved
from devote.schemes.survey.tally import MAX_ANSWERS, Answer, Answers

NO_TALLY = "What was read is not the public tally of a survey.\nDiscard it, and read again."


@dataclass(frozen=True)
class TallySnapshot:
    """What a device knows of the tally.

    ``shared`` has the arms that may still be the answer, ``answer`` the same with the likeliest
    first, ``asked`` those among which a device draws. ``snapshot`` is its number.
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
    def read(cls, public: dict[str, Any], n_arms: int) -> "TallySnapshot":
        """Read the public form of a tally, which may be a peer's nonsense."""
        try:
            found = cls(
                public["status"],
                tuple(public["shared"]),
                tuple(public["answer"]),
                tuple(public["asked"]),
                public["snapshot"],
            )
            are_arms = all(type(arm) is int and 0 <= arm < n_arms for arm in found.shared)
            is_right = are_arms and len(set(found.shared)) == len(found.shared) > 0
            is_right = is_right and sorted(found.answer) == sorted(found.shared)
            is_right = is_right and len(set(found.asked)) == len(found.asked) > 0
            is_right = is_right and set(found.asked) <= set(found.shared)
            is_right = is_right and type(found.snapshot) is int and 0 <= found.snapshot <= WHOLE
        except (LookupError, TypeError):
            is_right = False
        if not is_right or found.status != ("open" if len(found.shared) > 1 else "agreed"):
            raise RemoteProtocolError(NO_TALLY)
        return found

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
        return self._noise is not None

    @property
    def may_ask(self) -> bool:
        """Whether answers are left and wanted."""
        return self.answers_left > 0 and not self._tally_read().is_decided

    @property
    def shared(self) -> tuple[int, ...]:
        """The arms that may still be the answer, by what was read last."""
        return self._tally_read().shared

    def read(self, public: dict[str, Any]) -> None:
        """Take over the public form of the tally, instead of the messages themselves."""
        self._snapshot = TallySnapshot.read(public, self.spec.n_arms)

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
        known = self._tally_read()
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
            self._send([Answer(self.spec.name, arm, bit, self._given, self._seen, self.voter)])
        return self.outgoing()

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
        tally = self.tally
        return TallySnapshot(tally.status(), tally.shared, tally.answer, tally.asked, len(tally))

    def _own(self) -> dict[str, Any]:
        read = None if self._snapshot is None else self._snapshot.to_dict()
        return {"given": self._given, "noise": self._noise, "seen": self._seen, "read": read}

    def _restore(self, own: dict[str, Any]) -> None:
        self._given, self._noise, self._seen = own["given"], own["noise"], own["seen"]
        if own["read"] is not None:
            self._snapshot = TallySnapshot.read(own["read"], self.spec.n_arms)


def _users_differ(survey: "Survey") -> str:
    """Why several answers of each device are not covered where options pay users differently."""
    return (
        f"each device gives {survey.answers} answers, and those of one device depend on each "
        "other if options pay users differently. With 20 answers each, surveys were measured "
        "wrong in .21 to .31 of runs at delta .05. With answers = 1 users may differ."
    )


def bounds(survey: "Survey", case: Case) -> tuple[Bound, ...]:
    """The subroutine's own bound at ``delta`` and at the epsilon that the noise leaves."""
    delta = case.spec.delta
    if case.users_differ and survey.answers == 1:
        # Who answers next is anybody, so that its reward is one of all users alike.
        case = replace(case, broken="")
    text = f"The board runs {case.spec.algorithm} on all answers"
    if survey.privacy is not None:
        text += (
            f". Noise leaves {survey.slope:.3g} of the distance between arms, and the board asks "
            "for that much of epsilon"
        )
    if why := why_unproved(case, delta):
        return (Bound("claimed", delta, f"{text}. Its guarantee is not proved here: {why}."),)
    found = alone(case.spec, delta).bound
    assert found is not None
    text += ", whatever the number of devices. As long as rewards do not change"
    if survey.answers == 1:
        text += " (users may differ: each answers once)"
    else:
        text += " and pay all users alike"
    text += f"; up to {survey.liars:,} answers may lie" if survey.liars else "; no answer lies"
    text += "." if survey.answers == 1 else f". Users alike: {_users_differ(survey)}"
    return (Bound("proved", min(found, delta), text),)


def _guarantees(survey: "Survey", case: Case) -> Guarantees:
    """Every bound and promise with its standing; it never stalls, as more answers settle it."""
    expected = answers_expected(case.spec)
    about = (
        "" if expected is None else f" An estimate: about {expected:,} if all options pay alike."
    )
    privacy = Promise(
        "privacy",
        "refuted",
        "A device sends what its plays paid, one bit each. Set privacy to hide it.",
    )
    if survey.privacy is not None:
        times = "" if survey.answers == 1 else f", {survey.answers} times at most"
        privacy = Promise(
            "privacy",
            "proved",
            f"All that a device ever sends is one blurred bit{times}, {survey.reply_after:g} "
            "seconds or a little more after its choice, at a moment that does not depend on what "
            f"its user did: {survey.privacy:g}-locally differentially private towards everything "
            "the user ever does. Which arm it played, and that it was used, is not hidden.",
        )
    found = bounds(survey, case)
    rows = (
        right_answer(found),
        Promise(
            "few messages",
            "proved",
            f"At most {survey.answers} from each device, ever, and none once it is decided.{about}",
        ),
        Promise(
            "one answer",
            "measured",
            "There is one learner, so there is one answer. When all devices have answered and it "
            "is not there yet, more devices must join: the run then ends as unfinished.",
        ),
        _liars(survey),
        privacy,
    )
    return Guarantees(
        bounds=found,
        promises=rows,
        can_stall=False,
        no_sample_bound="Theorem 2 is about Decentralized Elimination, not about survey.",
    )


def _liars(survey: "Survey") -> Promise:
    """How many lying answers are tolerated, by proof: none unless it is asked for."""
    if survey.liars:
        each = survey.answers
        devices = "" if each == 1 else f", that is {survey.liars_tolerated:,} devices of {each}"
        return Promise(
            "liars",
            "proved",
            f"The error stays as promised although up to {survey.liars:,} answers lie{devices}, "
            "whatever they contain and whenever they come. Beyond that nothing is promised.",
        )
    return Promise(
        "liars",
        "refuted",
        "Nothing is promised if even one answer lies: 20 lies that came first turned 40 of 40 "
        "surveys of some 12,000 answers. Set liars to the number of lying answers to tolerate; "
        "devote plan shows what that costs.",
    )


SHORTEST_REPLY = 1.0
"""Seconds: what a device does with a reward takes milliseconds, and must be over long before."""

SMALLEST_STEP = 1e-6
"""The smallest epsilon that the noise may leave to the subroutine."""


PARAMETERS = {
    "privacy": PRIVACY,
    "answers": "It is how many answers each device gives.",
    "reply_after": "It is how many seconds after its choice a device answers.",
    "liars": "It is how many answers may lie.",
}


@dataclass(frozen=True)
class Survey(Scheme):
    """Each device plays an arm, sends one noisy bit about it, and is not asked again.

    ``privacy`` is the e of e-local differential privacy for all that a device ever sends; None,
    or ``"none"`` in a file, leaves the noise out. A device gives ``answers`` of them, each with
    a part of ``privacy``, ``reply_after`` seconds after it chose the arm. The promise holds
    although up to ``liars`` answers lie.

    The board runs the specification's subroutine at ``delta``; ``betting`` needs by far the
    fewest answers.
    """

    name: ClassVar[str] = "survey"
    about: ClassVar[About] = About(
        summary="each device plays once and sends one noisy bit; the board learns",
        source="(this project's)",
        messages=(Answer,),
        parameters=PARAMETERS,
        default_algorithm="betting",
        why_order="answers are counted in the order in which they came, so they need one order",
        reads_tally=True,
    )

    privacy: float | None = 1.0
    answers: int = 1
    reply_after: float = 60.0
    liars: int = 0

    def __post_init__(self) -> None:
        answers = check.whole("answers", self.answers, least=1, remedy=PARAMETERS["answers"])
        if answers > MAX_ANSWERS:
            raise SpecError(f"answers={answers} is more than {MAX_ANSWERS:,}.\nAsk for fewer.")
        check.whole("liars", self.liars, least=0, remedy=PARAMETERS["liars"])
        after = check.positive("reply_after", self.reply_after, PARAMETERS["reply_after"])
        if after < SHORTEST_REPLY:
            raise SpecError(
                f"reply_after={after:g} is less than {SHORTEST_REPLY:g} s: what a device does with "
                "a reward could still be seen in the moment at which its answer leaves.\n"
                f"Use {SHORTEST_REPLY:g} or more; tests can give a device a clock."
            )
        object.__setattr__(self, "reply_after", after)
        given: object = self.privacy
        if given == NONE:
            object.__setattr__(self, "privacy", None)
        elif given is not None:
            object.__setattr__(self, "privacy", check_privacy(given, answers, f"use {NONE!r}"))

    def tally(self, spec: ExperimentSpec) -> Answers:
        """A survey without answers."""
        return Answers(spec)

    def player(self, spec: ExperimentSpec, voter: str, n_players: int | None = None) -> Respondent:
        """A device that answers."""
        return Respondent(spec, voter, n_players)

    @property
    def sending(self) -> Sending:
        """An answer leaves some time after its play; ``privacy`` is for all answers of a device.

        It is always noisy: without privacy too, a reward between 0 and 1 is rounded to a bit at
        random.
        """
        return Sending(noisy=True, reply_after=self.reply_after, privacy=self.privacy)

    @property
    def privacy_per_answer(self) -> float | None:
        """e/a, rounded down."""
        if self.privacy is None or self.answers == 1:
            return self.privacy
        return math.nextafter(self.privacy / self.answers, 0.0)

    @property
    def truths(self) -> int:
        """How many values of the noise stand for the truth; see ``rules.randomizer``."""
        privacy = self.privacy_per_answer
        return GRID if privacy is None else truthful(privacy, 2)

    @property
    def slope(self) -> float:
        """2p - 1, where p is the probability of the truth: the share of a gap that noise leaves."""
        return (2 * self.truths - GRID) / GRID

    def learner(self, spec: ExperimentSpec, n_players: int | None = None) -> LearnerSettings:
        """The one learner on the board, at ``delta``.

        Its epsilon is ``epsilon * (2p - 1)``, less what rounding on the grid may take from a gap.
        Each lie is one of its rewards.
        """
        return LearnerSettings(
            spec.algorithm,
            spec.n_arms,
            epsilon=max(0.0, spec.epsilon * self.slope - 4.0 / GRID),
            eta=spec.delta,
            options=spec.options,
            liars=self.liars,
        )

    def check(self, spec: ExperimentSpec) -> None:
        """Refuse a survey that never ends."""
        if spec.resets:
            raise SpecError(
                f"{spec.algorithm} never ends, and a survey does.\n"
                "Use a subroutine that ends, such as betting, or the scheme decentralized."
            )
        if self.liars and not get_algorithm(spec.algorithm).tolerates_liars:
            raise SpecError(
                f"liars={self.liars} with {spec.algorithm}: nothing is proved of it where some "
                "answers lie.\nUse betting, or leave liars out."
            )
        if self.learner(spec).epsilon < SMALLEST_STEP:
            raise SpecError(
                f"epsilon={spec.epsilon} with privacy={self.privacy} over {self.answers} answers "
                "of each device would take more than a million million answers.\n"
                "Use a higher epsilon, a higher privacy, or fewer answers of each device."
            )

    def fewest_players(self, spec: ExperimentSpec) -> int:
        """Enough for the fewest answers with which this survey can end."""
        return math.ceil(fewest_answers(spec) / self.answers)

    def too_few(self, spec: ExperimentSpec, n_players: int) -> str:
        """How many answers are needed at least, and about how many in fact."""
        fewest, few = fewest_answers(spec), self.fewest_players(spec)
        expected = answers_expected(spec)
        likely = "" if expected is None else f", and about {expected:,} if all arms pay alike"
        return (
            f"This survey needs at least {fewest:,} answers{likely}; {n_players} devices give "
            f"{n_players * self.answers:,}.\nUse at least {few:,} devices, a higher privacy or "
            "epsilon, more answers of each device, or the scheme jury."
        )

    def guarantees(self, case: Case) -> Guarantees:
        """The subroutine's own proof, and differential privacy."""
        return _guarantees(self, case)

    @classmethod
    def suited(cls, wish: Wish) -> ExperimentSpec:
        """One answer of each device, with the privacy and the liars that are asked for."""
        return wish.spec(cls(privacy=wish.privacy, liars=wish.liars))

    @property
    def liars_tolerated(self) -> int:
        """Lying devices: each may give ``answers`` lying answers."""
        return self.liars // self.answers

    def planning(self, spec: ExperimentSpec) -> Planning:
        """A play and a bit, so many times. How many answers it takes depends on what arms pay."""
        times = "once" if self.answers == 1 else f"{self.answers} times"
        warnings: tuple[str, ...] = ()
        if self.answers > 1:
            why = _users_differ(self)
            warnings = (f"The error is proved only if options pay all users alike: {why}",)
        return Planning(
            answers_each=self.answers,
            liars_tolerated=self.liars_tolerated,
            asks=f"{times}: one play and one {'bit' if self.privacy is None else 'noisy bit'}",
            warnings=warnings,
        )

    def to_dict(self) -> dict[str, Any]:
        """The name and all parameters, as JSON values."""
        return {**super().to_dict(), "privacy": NONE if self.privacy is None else self.privacy}
