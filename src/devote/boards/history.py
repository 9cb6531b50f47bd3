"""What the messages of a board come to, taken in one by one in the board's order.

The scheme's tally decides; nothing is decided here. A store keeps one history per experiment: it
asks the tally which messages it may take, and pages draw the rest. Each message is taken in once,
and but for the tally's own memory what is kept does not grow with the board.
"""

from collections import Counter, deque
from collections.abc import Iterable

from devote.boards.course import Course
from devote.boards.timeline import Timeline
from devote.protocol import ExperimentSpec, Message
from devote.protocol.messages import from_json, kind_of

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
