"""What a survey asks for and what it is worth."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from devote.protocol.errors import SpecError
from devote.protocol.planning import Wish
from devote.protocol.player import Player
from devote.protocol.promises import Case
from devote.protocol.scheme import Scheme, Tally, check
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
    default_algorithm: ClassVar[str] = "betting"
    paper_name: ClassVar[str] = "(this project's)"
    summary: ClassVar[str] = "each device plays once and sends one noisy bit; the board learns"
    tally_form: ClassVar[type[Tally]] = Answers
    player_form: ClassVar[type[Player]] = Respondent
    kinds: ClassVar[tuple[type, ...]] = (Answer,)
    why_order: ClassVar[str] = (
        "answers are counted in the order in which they came, so they need one order"
    )
    reads_tally: ClassVar[bool] = True
    remedies: ClassVar[dict[str, str]] = {
        "privacy": PRIVACY,
        "answers": "It is how many answers each device gives.",
        "reply_after": "It is how many seconds after its choice a device answers.",
        "liars": "It is how many answers may say what they like.",
    }

    privacy: float | None = 1.0
    answers: int = 1
    reply_after: float = 60.0
    liars: int = 0

    def __post_init__(self) -> None:
        answers = check.whole("answers", self.answers, least=1, remedy=self.remedies["answers"])
        if answers > MAX_ANSWERS:
            raise SpecError(f"answers={answers} is more than {MAX_ANSWERS:,}.\nAsk for fewer.")
        check.whole("liars", self.liars, least=0, remedy=self.remedies["liars"])
        after = check.positive("reply_after", self.reply_after, self.remedies["reply_after"])
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

    @property
    def noisy(self) -> bool:
        """Always: without privacy too, a reward between 0 and 1 is rounded to a bit at random."""
        return True

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

    @property
    def subroutine_liars(self) -> int:
        """``liars``: each lie is one reward of the board's learner."""
        return self.liars

    def device_algorithm(self, spec: ExperimentSpec) -> str:
        """One that keeps nothing: the board learns, and a device only remembers what it played."""
        return "naive"

    def subroutine_eta(self, spec: ExperimentSpec, n_players: int | None) -> float:
        """``delta``: there is one learner."""
        return spec.delta

    def subroutine_epsilon(self, spec: ExperimentSpec) -> float:
        """``epsilon * (2p - 1)``, less what rounding on the grid may take from a gap."""
        return max(0.0, spec.epsilon * self.slope - 4.0 / GRID)

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
        if self.subroutine_epsilon(spec) < SMALLEST_STEP:
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

    def players(self, spec: ExperimentSpec, n_players: int) -> list[Player]:
        """Players with one tally in common: all of them hear every answer at once."""
        players = super().players(spec, n_players)
        for player in players:
            player.tally = players[0].tally
        return players

    def is_over(self, players: Sequence[Player], n_players: int) -> bool:
        """Whether everybody holds the answer, or all answers are given without a decision."""
        tally = players[0].tally
        assert isinstance(tally, Answers)
        if tally.status() == "open":
            return len(tally) >= n_players * self.answers
        return super().is_over(players, n_players)

    def can_stall(self, case: Case) -> bool:
        """Never: more answers settle it."""
        return False

    @classmethod
    def suited(cls, wish: Wish) -> ExperimentSpec:
        """One answer of each device, with the privacy and the liars that are asked for."""
        return wish.spec(cls(privacy=wish.privacy, liars=wish.liars))

    @property
    def answers_each(self) -> int:
        """``answers``."""
        return self.answers

    @property
    def liars_tolerated(self) -> int:
        """A lying device may give ``answers`` lying answers."""
        return self.liars // self.answers

    def enough_players(self, spec: ExperimentSpec) -> None:
        """How many answers it takes depends on what arms pay."""
        return

    def proved_privacy(self, spec: ExperimentSpec) -> float | None:
        """Of all answers of a device together."""
        return self.privacy

    def warnings(self, spec: ExperimentSpec) -> tuple[str, ...]:
        """Several answers of one device depend on each other where users differ."""
        if self.answers == 1:
            return ()
        why = promises.users_differ(self)
        return (f"The error is proved only if options pay all users alike: {why}",)

    def asks(self, spec: ExperimentSpec) -> str:
        """A play and a bit, so many times."""
        times = "once" if self.answers == 1 else f"{self.answers} times"
        return f"{times}: one play and one {'bit' if self.privacy is None else 'noisy bit'}"

    def to_dict(self) -> dict[str, Any]:
        """The name and all parameters, as JSON values."""
        return {**super().to_dict(), "privacy": NONE if self.privacy is None else self.privacy}

    bounds = promises.bounds
    promises = promises.promises
