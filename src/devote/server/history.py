"""What the messages of a board come to, taken in one by one in the board's order.

The scheme's tally decides; nothing is decided here. Each message is taken in once, so that a
long board costs no more per look than a short one.
"""

import json
from collections.abc import Iterable

from devote.protocol import ExperimentSpec
from devote.protocol.messages import from_dict, kind_of
from devote.server.timeline import Timeline


class History:
    """The tally of a board, and in which order it came about.

    ``number`` is that of the last message taken in. ``out_at`` has for each arm that is no longer
    open the number of the message that closed it, ``sent`` for each voter, in the order in which
    they first spoke, the JSON items of all its messages.
    """

    def __init__(self, spec: ExperimentSpec) -> None:
        self.spec = spec
        self.number = 0
        self.tally = spec.scheme.tally(spec)
        self.timeline = Timeline()
        self.out_at: dict[int, int] = {}
        self.sent: dict[str, list[bytes]] = {}
        self._open = self.tally.shared

    def take(self, items: Iterable[bytes]) -> None:
        """Take in the next messages, each as JSON with its number and its signature."""
        for item in items:
            fields = json.loads(item)
            message, number = from_dict(fields["message"], self.spec.n_arms), fields["number"]
            self.tally.add(message)
            if self.tally.shared != self._open:
                self._open = self.tally.shared
                closed = set(range(self.spec.n_arms)).difference(self._open)
                self.out_at = {arm: self.out_at.get(arm, number) for arm in closed}
            self.timeline.add(kind_of(message).name, getattr(message, "arm", None), number)
            self.sent.setdefault(message.voter, []).append(item)
            self.number = number
