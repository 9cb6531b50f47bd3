"""What the messages of a board come to, taken in one by one in the board's order.

The scheme's tally decides; nothing is decided here. A store keeps one history per experiment: it
asks the tally which messages it may take, and pages draw the rest: the order of the messages
(``Timeline``; there are no times to show, the server keeps none) and how the estimates came about
(``Course``). Each message is taken in once, and but for the tally's own memory what is kept does
not grow with the board.
"""

from collections import Counter, deque
from collections.abc import Iterable

from devote.boards.board import TallySnapshot
from devote.boards.experiment import Experiment
from devote.protocol import ExperimentSpec, Message
from devote.protocol.messages import from_json, kind_of
from devote.protocol.scheme import Estimates, Tally

MARKS = 2_000
"""At most so many marks; with more messages than that, neighbours in a lane share one."""


class Timeline:
    """Messages by lane and number, in steps that grow with the board.

    >>> timeline = Timeline(most=2)
    >>> for number in (1, 2, 3):
    ...     timeline.add("vote", 0, number)
    >>> timeline.step, timeline.lane("vote", 0)
    (2, [[1, 2], [3, 1]])
    """

    def __init__(self, most: int = MARKS) -> None:
        self.step = 1
        self._most = most
        self._lanes: dict[tuple[str, int | None], Counter[int]] = {}
        self._marks = 0

    def add(self, kind: str, arm: int | None, number: int) -> None:
        """Mark a message; ``arm`` is None for one that names none."""
        counts = self._lanes.setdefault((kind, arm), Counter())
        before = len(counts)
        counts[(number - 1) // self.step] += 1
        self._marks += len(counts) - before
        # Two marks per lane are always allowed: with that many lanes there is little to gain.
        while self._marks > max(self._most, 2 * len(self._lanes)):
            self._widen()

    def lane(self, kind: str, arm: int | None) -> list[list[int]]:
        """The marks of one lane: the first number of a step, and how many messages it holds."""
        counts = self._lanes.get((kind, arm), Counter())
        return [[place * self.step + 1, count] for place, count in sorted(counts.items())]

    def _widen(self) -> None:
        self.step *= 2
        for lane, counts in self._lanes.items():
            merged: Counter[int] = Counter()
            for place, count in counts.items():
                merged[place // 2] += count
            self._lanes[lane] = merged
        self._marks = sum(map(len, self._lanes.values()))


POINTS = 64
"""At most so many points, and fewer with more than a few dozen arms."""


class Course:
    """The estimates after every ``step``-th message; ``step`` grows with the board.

    ``points`` are pairs of a message's number and the estimates after it. A tally that estimates
    nothing has none.
    """

    def __init__(self, n_arms: int, most: int = POINTS) -> None:
        self.step = 1
        self.points: list[tuple[int, Estimates]] = []
        self._most = max(8, min(most, 40 * most // n_arms))

    def add(self, number: int, tally: Tally) -> None:
        """Take a point, if one is due after this message."""
        if number % self.step:
            return
        estimates = tally.estimates()
        if estimates is None:
            return
        self.points.append((number, estimates))
        if len(self.points) == self._most:
            self.step *= 2
            self.points = [point for point in self.points if point[0] % self.step == 0]


LATEST = 50
"""At most so many messages of one device are kept, the latest."""

VOTERS = 10_000
"""With more voters than this it is not counted any more how many messages each has sent."""


class History:
    """The tally of a board, and in which order it came about.

    ``number`` and ``text`` are those of the last message taken in. ``out_at`` has for each arm
    that is no longer open the number of the message that closed it. ``first`` is the voter who
    spoke first, and ``said`` has the text and the signature of its latest messages; ``sent``
    counts the messages of each voter, of the first ``VOTERS`` if there are more.
    """

    def __init__(self, spec: ExperimentSpec) -> None:
        self.spec = spec
        self.number = 0
        self.text = ""
        self.tally = spec.scheme.tally(spec)
        self.timeline = Timeline()
        self.course = Course(spec.n_arms)
        self.out_at: dict[int, int] = {}
        self.first = ""
        self.said: deque[tuple[str, str]] = deque(maxlen=LATEST)
        self.sent: Counter[str] = Counter()
        self.most: int | None = 0
        """The most messages of any voter; None if there are too many voters to tell."""
        self._open = self.tally.shared

    @property
    def voters(self) -> int | None:
        """How many voters have sent anything; None if there are too many to tell."""
        if getattr(self.spec.scheme, "answers", 0) == 1:  # then each message is another voter's
            return self.number
        return None if self.most is None else len(self.sent)

    def public(self, experiment: Experiment) -> TallySnapshot:
        """What the messages come to, for everybody."""
        tally = self.tally.public(experiment.players)
        return TallySnapshot.of(experiment.scope, self.number, tally)

    def take(self, rows: Iterable[tuple[int, str, str]]) -> None:
        """Take in the next messages: number, JSON text and signature of each."""
        for number, text, signature in rows:
            self.add(number, text, signature, from_json(text, self.spec.n_arms))

    def add(self, number: int, text: str, signature: str, message: Message) -> None:
        """Take in the next message, whose JSON text is given too."""
        self.tally.add(message)
        if self.tally.shared != self._open:
            self._open = self.tally.shared
            closed = set(range(self.spec.n_arms)).difference(self._open)
            self.out_at = {arm: self.out_at.get(arm, number) for arm in closed}
        self.timeline.add(kind_of(message).name, getattr(message, "arm", None), number)
        self.course.add(number, self.tally)
        self._count(message.voter)
        if message.voter == self.first:
            self.said.append((text, signature))
        self.number, self.text = number, text

    def _count(self, voter: str) -> None:
        self.first = self.first or voter
        if voter in self.sent or len(self.sent) < VOTERS:
            self.sent[voter] += 1
            if self.most is not None:
                self.most = max(self.most, self.sent[voter])
        else:
            self.most = None
