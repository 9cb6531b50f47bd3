"""The answers on a board where users are of several kinds, and one learner for each segment.

An answer holds some of the segments, each with a sign (``signed_subsets``). It enters the queue of
its arm in each segment that asks about the arm, with the sign that it gives that segment, 0 for
none; a segment takes the answers that its round lacks. When a segment no longer asks about an arm,
that queue is emptied. Devices draw among the arms that any undecided segment asks about.
"""

import math
from collections import deque
from operator import attrgetter
from typing import Any

from devote.protocol.messages import Message
from devote.protocol.scheme import Status
from devote.protocol.spec import ExperimentSpec
from devote.schemes.survey.segment_learner import (
    answers_expected,
    asks_about,
    best_looking,
    has_begun,
    judge_anew,
    new_segments,
    next_missing,
    take,
    withdraw,
)
from devote.schemes.survey.signed_subsets import is_signed_subset, unpack
from devote.schemes.survey.tally import RHO, SegmentedAnswer, SurveyTally, clip, percent

AGAIN = 1.125
"""An estimate of how many answers are needed is made again when answers have grown so."""


class SegmentedAnswers(SurveyTally):
    """A survey with segments as its board shows it.

    >>> scheme = {"name": "survey", "segments": ["phone", "desktop"]}
    >>> answers = SegmentedAnswers(ExperimentSpec(arms=2, scheme=scheme))
    >>> answers.public()["segments"][0]
    {'status': 'open', 'leader': 0, 'shared': [0, 1], 'asked': [0, 1]}
    """

    form = SegmentedAnswer
    content = attrgetter("arm", "low", "high", "seen")

    def __init__(self, spec: ExperimentSpec) -> None:
        super().__init__(spec)
        n_arms = spec.n_arms
        self.n_segments = len(self._survey.segments)
        self._bets = self._survey.bets(spec)
        self.learners = new_segments(self.n_segments, n_arms)
        rows = range(self.n_segments * n_arms)
        self._queues: list[deque[int]] = [deque() for _ in rows]
        # By segment and arm, until the segment is decided: then its devices send fair coins.
        self._answers = [0 for _ in rows]
        self._signs = [0 for _ in rows]
        self._present = [0 for _ in rows]
        # Answers of devices that knew a segment as decided hold a coin: they count from here on.
        self._since = [0] * self.n_segments
        self._must_judge_anew: set[int] = set()
        self._asked = self._asks()
        self._expected: list[int | None] = [None] * self.n_segments
        self._next_mark = 1.0

    @property
    def asked(self) -> tuple[int, ...]:
        """The arms that any undecided segment asks about; once all are decided, the answers."""
        return self._asked

    @property
    def shared(self) -> tuple[int, ...]:
        """The arms that may still be the answer of a segment."""
        return tuple(sorted({arm for z in range(self.n_segments) for arm in self.left(z)}))

    @property
    def answer(self) -> tuple[int, ...]:
        """The arms that may be the answer of a segment; those that lead in most come first."""
        leaders = [self.leader(z) for z in range(self.n_segments)]
        return tuple(sorted(self.shared, key=lambda k: (-leaders.count(k), k)))

    def is_decided(self, z: int) -> bool:
        """Whether a segment has its answer."""
        return self.learners.decided[z] == 1

    def leader(self, z: int) -> int:
        """The arm that looked best for a segment when it was judged last; then its answer."""
        arm = max(0, self.learners.leader[z] - 1)
        if arm in self.withdrawn and not self.is_decided(z):
            return best_looking(self._bets, self.learners, z)
        return arm

    def left(self, z: int) -> list[int]:
        """The arms that may still be the answer of a segment."""
        if self.is_decided(z):
            return [self.leader(z)]
        n_arms = self.spec.n_arms
        return [k for k in range(n_arms) if self.learners.alive[z * n_arms + k]]

    def asked_by(self, z: int) -> list[int]:
        """The arms that a segment asks about; none once it is decided."""
        arms = range(self.spec.n_arms)
        return [k for k in arms if asks_about(self._bets, self.learners, z, k)]

    def status(self, n_players: int | None = None) -> Status:
        """Agreed once every segment is decided."""
        return "agreed" if all(self.learners.decided) else "open"

    def _refusal(self, message: Message) -> str | None:
        reason = super()._refusal(message)
        is_answer = isinstance(message, SegmentedAnswer)
        if reason is None and is_answer and self._read(message) is None:
            return (
                f"It does not hold {self._survey.subset} of {self.n_segments} segments.\n"
                "Discard the answer."
            )
        return reason

    def _read(self, message: Any) -> tuple[int, ...] | None:
        signs = unpack(message.low, message.high, self.n_segments)
        subsets = self._survey.subsets
        return None if signs is None or not is_signed_subset(subsets, signs) else signs

    def _take(self, message: SegmentedAnswer) -> bool:
        bets, learners, arm = self._bets, self.learners, message.arm
        signs, has_changed = self._read(message), False
        assert signs is not None  # else it was refused
        for z, sign in enumerate(signs):
            if self.is_decided(z) or message.seen < self._since[z]:
                continue
            at = z * self.spec.n_arms + arm
            self._answers[at] += 1
            self._signs[at] += sign
            self._present[at] += abs(sign)
            if asks_about(bets, learners, z, arm):
                self._queues[at].append(sign)
                has_changed |= self._feed(z)
        if len(self) >= self._next_mark:
            self._mark()
        if not has_changed:
            return False
        before, self._asked = self._asked, self._asks()
        return self._asked != before

    def _feed(self, z: int) -> bool:
        """Hand a segment what its round lacks, as long as that is there; whether it was judged."""
        bets, learners, first = self._bets, self.learners, z * self.spec.n_arms
        is_judged = False
        while True:
            judged = learners.judged[z]
            if z in self._must_judge_anew and not has_begun(bets, learners, z):
                self._must_judge_anew.remove(z)
                judge_anew(bets, learners, z, self.withdrawn)
                judged = -1
            elif (arm := next_missing(bets, learners, z)) >= 0 and self._queues[first + arm]:
                take(bets, learners, z, arm, self._queues[first + arm].popleft())
            else:
                return is_judged
            if learners.judged[z] > judged:
                is_judged = True
                self._clear_queues(z)

    def _clear_queues(self, z: int) -> None:
        """Empty the queues of the arms that a segment does not ask about."""
        for k in range(self.spec.n_arms):
            if not asks_about(self._bets, self.learners, z, k):
                self._queues[z * self.spec.n_arms + k].clear()

    def _withdraw(self, arm: int) -> None:
        for z in range(self.n_segments):
            is_answer = self.is_decided(z) and self.leader(z) == arm
            withdraw(self._bets, self.learners, z, arm)
            if is_answer:
                self._since[z] = self.snapshot
            if not self.is_decided(z):
                self._must_judge_anew.add(z)
                self._clear_queues(z)
                self._feed(z)
        self._asked = self._asks()

    def _asks(self) -> tuple[int, ...]:
        asked = {arm for z in range(self.n_segments) for arm in self.asked_by(z)}
        return tuple(sorted(asked)) or self.shared

    def public(self, n_players: int | None = None) -> dict[str, Any]:
        """What a device reads: of each segment its status, its leader, and the arms."""
        rows = [
            {
                "status": "agreed" if self.is_decided(z) else "open",
                "leader": self.leader(z),
                "shared": self.left(z),
                "asked": self.asked_by(z),
            }
            for z in range(self.n_segments)
        ]
        return {**super().public(n_players), "segments": rows}

    def share(self, z: int) -> float | None:
        """The estimated share of a segment; None before the first answer."""
        arms = slice(z * self.spec.n_arms, (z + 1) * self.spec.n_arms)
        n = sum(self._answers[arms])
        return clip(self._weight(sum(self._present[arms]), n)) if n else None

    def _weight(self, present: int, n: int) -> float:
        """What n answers, of which some hold a segment, say of its share."""
        member, stranger = self._survey.subsets.presence
        return (present / n - stranger) / (member - stranger)

    def estimates_of(self, z: int) -> list[list[float] | None]:
        """Each arm's mean in a segment with its interval, by the answers until it was decided.

        With the mean m of an arm, ``t / (2 slope) + (1/2 - m) g`` of an answer about it has the
        mean 0, whatever the share. A normal mixture bounds the sum at all times: so does its
        inverse m, for all arms and segments at once with probability at least 1 - delta. None where
        nothing is known of an arm.
        """
        subsets, share = self._survey.subsets, self.share(z)
        member, stranger = subsets.presence
        reach = max(1.0 / subsets.slope, 0.5 / subsets.slope + 0.5 / (member - stranger)) / 2.0
        alpha = self.spec.delta / (self.n_segments * self.spec.n_arms)
        rows: list[list[float] | None] = []
        for at in range(z * self.spec.n_arms, (z + 1) * self.spec.n_arms):
            n = self._answers[at]
            weight = self._weight(self._present[at], n) if n else 0.0
            if weight <= 0.0 or not share:
                rows.append(None)
                continue
            log = 0.5 * math.log(1.0 + n / RHO) - math.log(alpha)
            half = reach * math.sqrt(2.0 * (n + RHO) * log) / n
            sign = self._signs[at] / n / (2.0 * subsets.slope)
            low, high = clip(0.5 + (sign - half) / weight), clip(0.5 + (sign + half) / weight)
            rows.append([min(high, max(low, 0.5 + sign / share)), low, high])
        return rows

    def view(self) -> dict[str, Any]:
        """Answers about each option, and how each segment stands."""
        n_decided = sum(self.learners.decided)
        decided = f"{n_decided} of {self.n_segments}"
        return {
            "heading": "answers",
            "counts": list(self._counts),
            "needed": None,
            "facts": [],
            "notes": self._notes(),
            "progress": [["segments decided", n_decided, self.n_segments, decided]],
            "leader": None,
            "states": [self._state(arm) for arm in range(self.spec.n_arms)],
            "segments": [self._segment(z) for z in range(self.n_segments)],
            "mismatch": self.mismatch,
        }

    def _segment(self, z: int) -> dict[str, Any]:
        is_decided, needed, n = self.is_decided(z), self._expected[z], len(self)
        shown = None if is_decided or needed is None else max(needed, n + 1)
        of = " so far" if shown is None else f" of about {shown:,}"
        text = f"{n:,} answers" + (": decided" if is_decided else of)
        return {
            "name": self._survey.segments[z],
            "status": "agreed" if is_decided else "open",
            "leader": self.leader(z) if n else None,
            "answer": self.leader(z) if is_decided else None,
            "share": self.share(z),
            "progress": ["answers", n, shown, text],
            "estimates": self.estimates_of(z),
        }

    def _state(self, arm: int) -> str:
        names = self._survey.segments
        won = [names[z] for z in range(len(names)) if self.is_decided(z) and self.leader(z) == arm]
        if arm in self.withdrawn:
            return "withdrawn"
        if won:
            return f"the answer for {', '.join(won)}"
        if arm not in self.shared:
            return "out"
        return "in the running" if arm in self._asked else "not asked about now"

    def _notes(self) -> list[str]:
        return [
            "Each kind of user gets an answer of its own. Which kind a device is of, and what it "
            "found, its answer hides together. A segment that is not decided shows the option that "
            "leads there, without a promise.",
            "A dot is an option's estimated mean in a segment, its bar the interval around it. All "
            f"intervals hold at all times with probability {percent(1.0 - self.spec.delta)} or "
            "more, if devices tell the truth. The board compares options pair by pair, so it can "
            "decide while bars overlap.",
        ]

    def _mark(self) -> None:
        """Estimate anew how many answers are needed."""
        self._next_mark = AGAIN * len(self)
        for z in range(self.n_segments):
            means = [row[0] for row in self.estimates_of(z) if row is not None]
            if (share := self.share(z)) and len(means) == self.spec.n_arms:
                subsets = self._survey.subsets
                self._expected[z] = answers_expected(self._bets, subsets, means, share)
            else:
                self._expected[z] = None
