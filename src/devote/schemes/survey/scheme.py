"""What a survey asks for and what it is worth."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from devote.protocol.errors import SpecError
from devote.protocol.learner import LearnerSettings
from devote.protocol.planning import Case, Guarantees, Planning, Wish
from devote.protocol.scheme import About, Scheme, Sending, check
from devote.protocol.spec import ExperimentSpec
from devote.rules import get_algorithm
from devote.rules.randomizer import GRID, truthful
from devote.schemes.lone import NONE, PRIVACY, check_privacy
from devote.schemes.survey import promises
from devote.schemes.survey.estimate import answers_expected, fewest_answers
from devote.schemes.survey.messages import MAX_ANSWERS, Answer
from devote.schemes.survey.player import Respondent
from devote.schemes.survey.tally import Answers

SHORTEST_REPLY = 1.0
"""Seconds: what a device does with a reward takes milliseconds, and must be over long before."""

SMALLEST_STEP = 1e-6
"""The smallest epsilon that the noise may leave to the subroutine."""


PARAMETERS = {
    "privacy": PRIVACY,
    "answers": "It is how many answers each device gives.",
    "reply_after": "It is how many seconds after its choice a device answers.",
    "liars": "It is how many answers may say what they like.",
}


@dataclass(frozen=True)
class Survey(Scheme):
    """Each device plays an arm, sends one noisy bit about it, and is not asked again.

    ``privacy`` is the e of e-local differential privacy for all that a device ever says; None,
    or ``"none"`` in a file, leaves the noise out. A device gives ``answers`` of them, each with
    a part of ``privacy``, ``reply_after`` seconds after it chose the arm. The promise holds
    although up to ``liars`` answers say what they like.

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
        return promises.guarantees(self, case)

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
            why = promises.users_differ(self)
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
