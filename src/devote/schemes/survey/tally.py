"""The answers on a board, and the one learner that they feed.

Answers wait in a queue for each arm, in the board's order, and the learner takes them in the order
it asks for. The answers about one arm are independent and alike, so this is the same as asking
devices one by one: the result depends on each arm's own answers, not on how arms take turns.

The learner names the arms that it asks about; devices draw among these. When it no longer asks
about an arm, the arm's queue is emptied. Answers about it that still come are counted, but not
learned from: what is compared comes from the same stretch of time.
"""

import hashlib
import math
from abc import abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, cast

from devote.protocol.learner import Learner
from devote.protocol.messages import ARM, OPERATOR, WHOLE, Message, Number, Withdrawal, message
from devote.protocol.scheme import Estimates, Status, Tally
from devote.protocol.spec import ExperimentSpec
from devote.rules import betting
from devote.rules.randomizer import GRID
from devote.schemes.estimate import answers_expected
from devote.schemes.survey.arrival import ArrivalTest
from devote.schemes.survey.signed_subsets import DIGITS

if TYPE_CHECKING:
    from devote.schemes.survey.scheme import Survey


MAX_ANSWERS = 2**16 - 1


@message(
    "answer",
    question=("number",),
    arm=ARM,
    bit=Number(0, 1),
    number=Number(1, MAX_ANSWERS),
    seen=Number(0, WHOLE),
)
@dataclass(frozen=True, slots=True)
class Answer:
    """``voter`` played ``arm``; ``bit`` is what that paid, through ``rules.randomizer``.

    ``number`` counts a voter's answers from 1; a voter gives one for each number, for good.
    ``seen`` is the snapshot of the public tally from whose asked arms ``arm`` was drawn.
    """

    experiment: str
    arm: int
    bit: int
    number: int
    seen: int
    voter: str


@message(
    "segmented_answer",
    question=("number",),
    arm=ARM,
    low=Number(0, 3**DIGITS - 1),
    high=Number(0, 3**DIGITS - 1),
    number=Number(1, 1),
    seen=Number(0, WHOLE),
)
@dataclass(frozen=True, slots=True)
class SegmentedAnswer:
    """``voter`` was asked about ``arm``; ``low`` and ``high`` are a signed subset of the segments.

    ``seen`` is as in ``Answer``; ``number`` is 1, since a device answers once.
    """

    experiment: str
    arm: int
    low: int
    high: int
    number: int
    seen: int
    voter: str


def mix(x: int) -> int:
    """Scramble 32 bits; every step can be undone, so no two numbers get the same.

    Source: the constants are C. Wellons' (hash-prospector), chosen below 2^31 so that no product
    leaves 63 bits.
    """
    x = x & 0xFFFFFFFF
    x = x ^ (x >> 16)
    x = (x * 0x21F0AAAD) & 0xFFFFFFFF
    x = x ^ (x >> 15)
    x = (x * 0x735A2D97) & 0xFFFFFFFF
    return x ^ (x >> 15)


def uniform(first: int, second: int, step: int) -> float:
    """The number in [0, 1) with which the board's learner picks its arm at a step.

    ``first`` and ``second`` come from the experiment's fingerprint, so whoever folds the same
    log gets the same result.
    """
    return mix(mix(step + first) ^ second) / 4294967296.0


def leader(counts: Sequence[int], ones: Sequence[int], shared: Sequence[int]) -> int:
    """The arm with the highest share of ones among those asked about, the lowest index on a tie.

    An arm without answers comes after all others.
    """
    best = -1
    highest = -1.0
    for k in range(len(counts)):
        if shared[k]:
            value = ones[k] / counts[k] if counts[k] > 0 else -0.5
            if value > highest:
                best = k
                highest = value
    return best


RHO = 5.0
"""Where the confidence sequence of one arm is narrowest for its number of answers."""


def seeds(spec: ExperimentSpec) -> tuple[int, int]:
    """Two numbers of 31 bits that follow from an experiment's fingerprint."""
    digest = hashlib.sha256(f"survey/{spec.fingerprint}".encode()).digest()
    return int.from_bytes(digest[:4]) >> 1, int.from_bytes(digest[4:8]) >> 1


MISMATCH = (
    "Answers are missing for a reason: some options are answered more often than others that were "
    "asked about as often. The error that is proved here is only for answers whose arrival does "
    "not depend on what they say, so nothing is proved of this experiment. Find out why (does a "
    "click leave the page before its answer is sent?), and start a new one."
)


class SurveyTally(Tally):
    """Who has answered, and whether answers arrive whatever they say; segments or none."""

    form: ClassVar[type]
    """The kind of message that is counted here."""
    content: ClassVar["attrgetter[tuple[int, ...]]"]
    """What an answer says, as a tuple."""

    def __init__(self, spec: ExperimentSpec) -> None:
        super().__init__(spec)
        self._survey = cast("Survey", spec.scheme)
        self._given: dict[tuple[str, int], tuple[int, ...]] = {}
        self._counts = [0] * spec.n_arms
        self.withdrawn: list[int] = []
        self.arrival = ArrivalTest(spec.n_arms, self._survey.liars)

    def __len__(self) -> int:
        """How many answers there are."""
        return len(self._given)

    @property
    def counts(self) -> tuple[int, ...]:
        """Answers about each arm."""
        return tuple(self._counts)

    @property
    @abstractmethod
    def asked(self) -> tuple[int, ...]:
        """The arms that are asked about now, among which devices draw."""

    @property
    def snapshot(self) -> int:
        """The number of the public tally: all answers and withdrawals so far."""
        return len(self._given) + len(self.withdrawn)

    def _refusal(self, message: Message) -> str | None:
        if isinstance(message, Withdrawal):
            return None if message.arm in self.withdrawn else self._why_not_withdrawn(message)
        if type(message) is not self.form:
            has = "segments" if self._survey.segments else "no segments"
            return f"This survey has {has}, so it takes another kind of answer.\nDiscard this one."
        assert isinstance(message, Answer | SegmentedAnswer)
        survey = self._survey
        before = self._given.get((message.voter, message.number))
        if before is not None:
            if before == self.content(message):
                return None
            return "This device has given another answer before.\nA device answers once."
        if message.number > survey.answers:
            return (
                f"number={message.number} was given, but each device gives {survey.answers} "
                "in this survey.\nDiscard the answer."
            )
        if self.status() != "open":
            return "This survey is decided.\nDiscard the answer, and play the arm that won."
        return None

    def _why_not_withdrawn(self, message: Withdrawal) -> str | None:
        if message.voter != OPERATOR:
            return "Only the operator withdraws an option.\nDiscard the message."
        name = self.spec.arm_names[message.arm]
        if self.spec.algorithm != "betting":
            return (
                f"With {self.spec.algorithm} nothing is proved of an answer once an option was "
                "withdrawn.\nClose the experiment, and open another without the option."
            )
        if self.status() != "open":
            return "This survey is decided: its answer stays.\nClose the experiment instead."
        if len(self.withdrawn) == self.spec.n_arms - 1:
            return f"{name!r} is the last option.\nClose the experiment instead."
        return None

    def add(self, message: Message) -> bool:
        """Take in an answer or a withdrawal; one that is refused changes nothing."""
        if self._refusal(message) is not None:
            return False
        if isinstance(message, Withdrawal):
            if message.arm in self.withdrawn:
                return False
            self.withdrawn.append(message.arm)
            self.arrival.withdraw(message.arm)
            self._withdraw(message.arm)
            self.arrival.asks(self.snapshot, self.asked)
            return True
        assert isinstance(message, Answer | SegmentedAnswer)
        key, arm = (message.voter, message.number), message.arm
        if key in self._given:
            return False
        self._given[key] = self.content(message)
        self._counts[arm] += 1
        self.arrival.add(arm, message.seen)
        if self._take(message):
            self.arrival.asks(self.snapshot, self.asked)
        return True

    @property
    def mismatch(self) -> str | None:
        """What is wrong if answers are missing for a reason, as sentences; None if they are not."""
        return MISMATCH if self.arrival.has_mismatch else None

    @abstractmethod
    def _take(self, message: Any) -> bool:
        """Learn from a new answer; returns whether other arms are asked about now."""

    @abstractmethod
    def _withdraw(self, arm: int) -> None:
        """Learn that an arm is gone; what was dropped in its favour comes back."""

    def public(self, n_players: int | None = None) -> dict[str, Any]:
        """What a device reads; an answer repeats ``snapshot``.

        ``withdrawn`` and ``mismatch`` are there only if there is something to say.
        """
        values = {
            **super().public(n_players),
            "asked": list(self.asked),
            "counts": list(self._counts),
            "snapshot": self.snapshot,
        }
        if self.withdrawn:
            values["withdrawn"] = list(self.withdrawn)
        if self.arrival.has_mismatch:
            values["mismatch"] = True
        return values


class Answers(SurveyTally):
    """A survey as its board shows it.

    >>> spec = ExperimentSpec(arms=2, scheme="survey")
    >>> answers = Answers(spec)
    >>> answers.add(Answer("experiment", arm=1, bit=1, number=1, seen=0, voter="a"))
    True
    >>> answers.answer, answers.status()
    ((1, 0), 'open')
    """

    form = Answer
    content = attrgetter("arm", "bit", "seen")

    def __init__(self, spec: ExperimentSpec) -> None:
        super().__init__(spec)
        self.learner = Learner(spec.scheme.learner(spec))
        self.shared_mask = self.learner.state.alive
        self._seeds = seeds(spec)
        self._steps = 0
        self._out = [0] * spec.n_arms
        self._queues: list[deque[int]] = [deque() for _ in spec.arm_names]
        self._asked = self._asks()
        self._ones = [0] * spec.n_arms
        self._must_judge_anew = False
        self._next_mark = 1
        self._marked: list[float] | None = None
        self._expected: tuple[int | None] | None = None

    @property
    def shared(self) -> tuple[int, ...]:
        """The arms that may still be the answer."""
        return self.learner.remaining

    @property
    def asked(self) -> tuple[int, ...]:
        """The arms that the learner asks about now."""
        return tuple(k for k, asked in enumerate(self._asked) if asked)

    @property
    def leader(self) -> int:
        """The arm that looks best among those that remain."""
        return leader(self._counts, self._ones, self.shared_mask)

    @property
    def answer(self) -> tuple[int, ...]:
        """The arms that remain, the highest estimate first; one once it is settled."""
        counts = self._counts
        return tuple(
            sorted(self.shared, key=lambda k: (-self._ones[k] / counts[k] if counts[k] else 0.5, k))
        )

    def _take(self, message: Answer) -> bool:
        self._ones[message.arm] += message.bit
        if len(self) >= self._next_mark:
            self._mark()
        if not self._asked[message.arm]:
            return False
        self._queues[message.arm].append(message.bit)
        return self._feed()

    def _feed(self) -> bool:
        """Hand the learner the answers it asks for, as long as they are there."""
        learner, asked = self.learner, self._asked
        while True:
            if self._must_judge_anew and not betting.has_begun(learner.rule, learner.state):
                self._must_judge_anew = False
                betting.judge_anew(learner.rule, learner.state, self.withdrawn, self._out)
                self._ask_anew()
            if learner.best is not None:
                break
            arm = learner.pending
            if arm is None:
                arm = learner.activate(uniform(*self._seeds, self._steps))
                self._steps += 1
            if not self._queues[arm]:
                break
            learner.reward(float(self._queues[arm].popleft()))
            self._ask_anew()
        return self._asked != asked

    def _withdraw(self, arm: int) -> None:
        learner = self.learner
        if learner.pending is not None:
            learner.abandon()
        betting.withdraw(learner.rule, learner.state, arm, self._out)
        self._must_judge_anew = True
        self._ask_anew()
        self._feed()

    def _ask_anew(self) -> None:
        """See which arms the learner asks about; the queues of all others are emptied."""
        self._asked = self._asks()
        for k, is_asked in enumerate(self._asked):
            if not is_asked:
                self._queues[k].clear()

    def _asks(self) -> list[bool]:
        learner = self.learner
        asks = learner.algorithm.asks
        return [bool(asks(learner.rule, learner.state, k)) for k in range(self.spec.n_arms)]

    def status(self, n_players: int | None = None) -> Status:
        """Agreed once the learner is down to one arm; until then more devices may answer."""
        return "open" if self.learner.best is None else "agreed"

    def estimates(self) -> Estimates:
        """Each arm's mean with its interval, from all its answers; None where there are none.

        All intervals hold at all times at once with probability at least 1 - delta: a normal
        mixture for each arm (``docs/proofs.md``), clipped to [0, 1].
        """
        share = self._survey.slope
        alpha = self.spec.delta / self.spec.n_arms
        rows: Estimates = []
        for n, mean in zip(self._counts, self._means(), strict=True):
            if mean is None:
                rows.append(None)
                continue
            log = 0.5 * math.log(1.0 + n / RHO) - math.log(alpha)
            reach = math.sqrt((n + RHO) / 2.0 * log) / (n * share)
            rows.append((clip(mean), clip(mean - reach), clip(mean + reach)))
        return rows

    def differences(self, arm: int) -> Estimates | None:
        """By how much each arm pays more than this one, from the rounds that both were in.

        All intervals hold at all times at once with probability at least 1 - delta. None for the
        arm itself, for pairs without a round, and where the subroutine is another one.
        """
        if self.spec.algorithm != betting.ALGORITHM.name:
            return None
        rule, state, slope = self.learner.rule, self.learner.state, self._survey.slope
        alpha, means = self.spec.delta / (self.spec.n_arms - 1), self._means()
        rows: Estimates = []
        for k in range(self.spec.n_arms):
            ends = None if k == arm else betting.difference(rule, state, k, arm, alpha)
            mine, other = means[k], means[arm]
            if ends is None or mine is None or other is None:
                rows.append(None)
                continue
            low, high = (min(1.0, max(-1.0, end / slope)) for end in ends)
            rows.append((min(high, max(low, mine - other)), low, high))
        return rows

    def _means(self) -> list[float | None]:
        share = self._survey.slope
        lowest = (1.0 - share) / 2.0
        counts = zip(self._counts, self._ones, strict=True)
        return [(ones / n - lowest) / share if n else None for n, ones in counts]

    def view(self) -> dict[str, Any]:
        """Answers about each option, its estimate, and about how many answers are needed."""
        needed, decided = self._needed(), self.learner.best is not None
        of = " so far" if needed is None else f" of about {needed:,}"
        text = f"{len(self):,}" + (": decided" if decided else of)
        return {
            "heading": "answers",
            "counts": list(self._counts),
            "needed": None,
            "facts": [],
            "notes": self._notes(is_estimated=needed is not None and not decided),
            "progress": [["answers", len(self), needed, text]],
            "leader": self.leader if len(self) else None,
            "states": [self._state(arm) for arm in range(self.spec.n_arms)],
            "estimates": [None if row is None else list(row) for row in self.estimates()],
            "answers_needed": needed,
            "mismatch": self.mismatch,
        }

    def _state(self, arm: int) -> str:
        if arm in self.withdrawn:
            return "withdrawn"
        if not self.shared_mask[arm]:
            return "out"
        return "in the running" if self._asked[arm] else "not asked about now"

    def _notes(self, *, is_estimated: bool) -> list[str]:
        survey = self._survey
        notes = [
            "A dot is how often users liked an option, as estimated; its bar is where the true "
            "value lies, of all options and at all times with probability "
            f"{percent(1.0 - self.spec.delta)} or more, if devices tell the truth. Options are "
            "compared pair by pair, so an answer can "
            "come while bars overlap."
        ]
        if survey.privacy is not None:
            notes.append(
                "Noise hides what each device found: an answer is the true bit with probability "
                f"{percent(survey.truths / GRID)}, else its opposite. The estimates allow for "
                "that."
            )
        if is_estimated:
            notes.append(
                "About how many answers it takes is an estimate by a formula, if these means are "
                "right: it may be off by a factor of two. devote plan simulates."
            )
        return notes

    def _needed(self) -> int | None:
        """About how many answers it takes in all, if the estimates were right.

        They are those of the last mark (``_mark``): a course that must be followed step by step
        takes long, and a number that changes with each answer cannot be read.
        """
        if self.learner.best is not None:
            return len(self)
        if self._marked is None:
            return None
        if self._expected is None:
            self._expected = (answers_expected(self.spec, self._marked),)
        (expected,) = self._expected
        return None if expected is None else max(expected, len(self) + 1)

    def _mark(self) -> None:
        """Keep the estimates, each time that answers have grown by an eighth."""
        means = self._means()
        self._next_mark = len(self) + 1 + len(self) // 8
        self._marked = [clip(mean) for mean in means if mean is not None]
        if len(self._marked) < len(means):
            self._marked = None
        self._expected = None


def clip(value: float) -> float:
    """The nearest number from 0 to 1."""
    return min(1.0, max(0.0, value))


def percent(share: float) -> str:
    """A share as text."""
    return f"{100.0 * share:.3g} %"
