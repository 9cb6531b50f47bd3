"""The survey: each device plays one arm, sends one noisy bit about it, and is not asked again.

``respondent`` is what a device does, ``tally`` what a board counts, and, where users are of several
kinds, ``segment_tally``. Here are the parameters, and what is promised.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from devote.protocol.errors import SpecError
from devote.protocol.learner import LearnerSettings
from devote.protocol.messages import Withdrawal
from devote.protocol.planning import Bound, Case, Guarantees, Planning, Promise, Wish
from devote.protocol.scheme import About, Scheme, Sending, check
from devote.protocol.spec import ExperimentSpec, check_names
from devote.rules import betting, get_algorithm
from devote.rules.randomizer import GRID, truthful
from devote.schemes.estimate import answers_expected, fewest_answers
from devote.schemes.lone import NONE, PRIVACY, alone, check_privacy, right_answer, why_unproved
from devote.schemes.survey import segment_learner
from devote.schemes.survey.respondent import Respondent
from devote.schemes.survey.segment_learner import Bets, make_bets
from devote.schemes.survey.segment_tally import SegmentedAnswers
from devote.schemes.survey.signed_subsets import MOST_SEGMENTS, SignedSubsets, best_size
from devote.schemes.survey.tally import (
    MAX_ANSWERS,
    Answer,
    Answers,
    SegmentedAnswer,
    SurveyTally,
)


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
    if survey.segments:
        return (_segments_bound(survey, case),)
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
    text += ", whatever the number of devices. As long as no answer is missing because of what it "
    text += "says and rewards do not change"
    if survey.answers == 1:
        text += " (users may differ: each answers once)"
    else:
        text += " and pay all users alike"
    text += f"; up to {survey.liars:,} answers may lie" if survey.liars else "; no answer lies"
    text += "." if survey.answers == 1 else f". Users alike: {_users_differ(survey)}"
    return (Bound("proved", *_with_withdrawals(case, min(found, delta), text)),)


def _with_withdrawals(case: Case, bound: float, text: str) -> tuple[float, str]:
    """The bound where the operator has withdrawn arms, perhaps because of what was answered."""
    if not case.withdrawn:
        return bound, text
    total = min(1.0, (case.withdrawn + 1) * bound)
    many = "1 option was" if case.withdrawn == 1 else f"{case.withdrawn} options were"
    return total, (
        f"{text} {many} withdrawn, which costs {case.withdrawn + 1} times {bound:g}; if the reason "
        f"had nothing to do with the answers it is {bound:g} as before."
    )


def _segments_bound(survey: "Survey", case: Case) -> Bound:
    delta = case.spec.delta
    text = (
        f"For each of {len(survey.segments)} segments the board bets on pairs of arms, with all "
        "answers"
    )
    if case.broken and not case.users_differ:
        return Bound("claimed", delta, f"{text}. This is not proved here: {case.broken}.")
    lies = f"up to {survey.liars:,} answers may lie" if survey.liars else "no answer lies"
    text += (
        ": the probability that any segment's answer is wrong, whatever the number of devices and "
        "the shares of the segments. As long as rewards and shares do not change and no answer is "
        f"missing because of what it says; {lies}. Nothing is promised of a segment that is not "
        "decided."
    )
    return Bound("proved", *_with_withdrawals(case, delta, text))


def _guarantees(survey: "Survey", case: Case) -> Guarantees:
    """Every bound and promise with its standing; it never stalls, as more answers settle it."""
    expected = survey.answers_expected(case.spec)
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
        sent, towards = f"one blurred bit{times}", "all its rewards"
        if survey.segments:
            sent = f"{survey.subset} of {len(survey.segments)} segments, each with a sign"
            towards = "its segment and all its rewards together"
        privacy = Promise(
            "privacy",
            "proved",
            f"All that a device ever sends is {sent}, {survey.reply_after:g} seconds or a little "
            "more after its choice, at a moment that does not depend on the reward: "
            f"{survey.privacy:g}-locally differentially private towards {towards}. "
            "Which arm it was asked about, and when it was used, is not hidden.",
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
            "There is one board, so there is one answer, of each segment if there are any. When "
            "all devices have answered and it "
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

MOST_PAIRS = 2**20
"""Pairs of arms of all segments together: a tally keeps ten numbers of each, on devices too."""

SMALLEST_STEP = 1e-6
"""The smallest epsilon that the noise may leave to the subroutine."""


PARAMETERS = {
    "privacy": PRIVACY,
    "answers": "It is how many answers each device gives.",
    "reply_after": "It is how many seconds after its choice a device answers.",
    "liars": "It is how many answers may lie.",
    "segments": "They are the names of the kinds of users, each of which gets its own answer.",
    "subset": "It is how many segments an answer names; leave it out for the best number.",
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

    With ``segments`` each kind of user gets an answer of its own, and ``privacy`` covers which
    kind a user is of. An answer then names ``subset`` of the segments (``signed_subsets``); left
    out, it is the number with which the fewest answers are needed.
    """

    name: ClassVar[str] = "survey"
    about: ClassVar[About] = About(
        summary="each device plays once and sends one noisy bit; the board learns",
        source="(this project's)",
        messages=(Answer, SegmentedAnswer, Withdrawal),
        parameters=PARAMETERS,
        default_algorithm="betting",
        why_order="answers are counted in the order in which they came, so they need one order",
        reads_tally=True,
    )

    privacy: float | None = 1.0
    answers: int = 1
    reply_after: float = 60.0
    liars: int = 0
    segments: tuple[str, ...] = ()
    subset: int | None = None

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
        self._check_segments()

    def _check_segments(self) -> None:
        given: object = self.segments
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise SpecError(f"segments={given!r} must be a list of names.\nGive a list.")
        names = check_names(given, "segment")
        object.__setattr__(self, "segments", names)
        if not names:
            if self.subset is not None:
                raise SpecError(
                    f"subset={self.subset!r} without segments has no meaning.\n"
                    "Leave it out, or name the segments."
                )
            return
        if not 2 <= len(names) <= MOST_SEGMENTS:
            raise SpecError(
                f"{len(names)} segments: there must be from 2 to {MOST_SEGMENTS}.\n"
                "Leave segments out where all users are of one kind."
            )
        if self.answers != 1:
            raise SpecError(
                f"answers={self.answers} with segments: a device answers once, so that its answers "
                "together do not tell its segment.\nUse answers = 1."
            )
        if self.subset is not None:
            most = 1 if self.privacy is None else len(names) - 1
            if check.whole("subset", self.subset, least=1, remedy=PARAMETERS["subset"]) > most:
                raise SpecError(
                    f"subset={self.subset} must be from 1 to {most} here.\nLeave it out for the "
                    "number with which the fewest answers are needed."
                )

    def completed(self, spec: ExperimentSpec) -> "Survey":
        """The same with the best ``subset``, where there are segments and it is left out."""
        if not self.segments or self.subset is not None:
            return self
        return replace(self, subset=best_size(len(self.segments), self.privacy, spec.epsilon))

    @cached_property
    def subsets(self) -> SignedSubsets:
        """What hides a segment and a reward together, where there are segments."""
        assert self.segments
        assert self.subset is not None
        return SignedSubsets.of(len(self.segments), self.subset, self.privacy)

    def tally(self, spec: ExperimentSpec) -> SurveyTally:
        """A survey without answers."""
        return SegmentedAnswers(spec) if self.segments else Answers(spec)

    def player(self, spec: ExperimentSpec, voter: str, n_players: int | None = None) -> Respondent:
        """A device that answers."""
        return Respondent(spec, voter, n_players)

    @property
    def sending(self) -> Sending:
        """An answer leaves some time after its play; ``privacy`` is for all answers of a device.

        It is always noisy: without privacy too, a reward between 0 and 1 is rounded to a bit at
        random.
        """
        return Sending(
            noisy=True,
            reply_after=self.reply_after,
            privacy=self.privacy,
            segments=self.segments,
        )

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
        if self.segments:
            return self.subsets.slope
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
        if self.segments and spec.algorithm != betting.ALGORITHM.name:
            raise SpecError(
                f"segments with {spec.algorithm}: only betting can tell segments apart.\n"
                "Use betting, or leave segments out."
            )
        if len(self.segments) * spec.n_arms**2 > MOST_PAIRS:
            raise SpecError(
                f"{len(self.segments)} segments of {spec.n_arms} arms have more than "
                f"{MOST_PAIRS:,} pairs of arms, which would fill the memory of devices.\n"
                "Use fewer segments, or fewer arms."
            )
        if spec.epsilon * self.slope - 4.0 / GRID < SMALLEST_STEP:
            raise SpecError(
                f"epsilon={spec.epsilon} with privacy={self.privacy} over {self.answers} answers "
                "of each device would take more than a million million answers.\n"
                "Use a higher epsilon, a higher privacy, or fewer answers of each device."
            )

    def fewest_players(self, spec: ExperimentSpec) -> int:
        """Enough for the fewest answers with which this survey can end."""
        return math.ceil(self.fewest_answers(spec) / self.answers)

    def bets(self, spec: ExperimentSpec) -> Bets:
        """What the learners of all segments share."""
        return make_bets(
            self.subsets,
            n_arms=spec.n_arms,
            epsilon=spec.epsilon,
            delta=spec.delta,
            liars=self.liars,
        )

    def fewest_answers(self, spec: ExperimentSpec) -> int:
        """No survey ends with fewer answers than this."""
        if self.segments:
            return segment_learner.fewest_answers(self.bets(spec))
        return fewest_answers(spec)

    def answers_expected(self, spec: ExperimentSpec) -> int | None:
        """About how many answers decide if all arms pay alike, and segments are of one size."""
        if self.segments:
            means, share = [0.5] * spec.n_arms, 1.0 / len(self.segments)
            bets = self.bets(spec)
            return segment_learner.answers_expected(bets, self.subsets, means, share)
        return answers_expected(spec)

    def too_few(self, spec: ExperimentSpec, n_players: int) -> str:
        """How many answers are needed at least, and about how many in fact."""
        fewest, few = self.fewest_answers(spec), self.fewest_players(spec)
        expected = self.answers_expected(spec)
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
        what = "bit" if self.privacy is None else "noisy bit"
        if self.segments:
            what = f"answer that hides its segment with the bit, for {len(self.segments)} segments"
        return Planning(
            answers_each=self.answers,
            liars_tolerated=self.liars_tolerated,
            asks=f"{times}: one play and one {what}",
            warnings=warnings,
        )

    def to_dict(self) -> dict[str, Any]:
        """The name and all parameters, as JSON values; no segments are left out."""
        values = {**super().to_dict(), "privacy": NONE if self.privacy is None else self.privacy}
        if self.segments:
            return {**values, "segments": list(self.segments)}
        return {name: values[name] for name in values if name not in ("segments", "subset")}
