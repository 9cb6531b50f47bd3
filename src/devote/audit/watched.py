"""Everything that leaves one device while its user lives in one of several worlds.

When the user opens the app, what the network loses and when the process dies is the same in all
worlds: drawn at random, and no secret (``Plan``). Three of four acknowledgements are lost, so that
messages are sent again and again, as an adversary who holds the network would have it; and every
second device restarts once. ``python_device`` and ``browser_device`` run the devices that ship
through a plan; the adversaries are in ``exposure``.
"""

import random
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from devote.protocol import ExperimentSpec
from devote.protocol.scheme import Tally

SOON = 1.0
"""Seconds from a choice to a click that comes at once."""

LATE = 0.8
"""How much of the time that a choice waits a late click lets pass."""

WINDOW = 60.0
"""Seconds that a play waits for its click, for a scheme without ``reply_after``."""

BETWEEN = (0.05, 0.65)
"""From one open to the next, in parts of a play's time: often while the last play waits."""

AFTERWARDS = 3
"""How often the app is opened after the device has sent all that it has to send."""

LOSS = 0.75
RESTARTS = 0.5
ATTEMPTS = 20
"""After so many posts nothing is lost any more."""

AT_LAST = 60
"""So many times a play's time after the last open nobody looks any more."""

MOST_SEGMENTS = 6
"""Of more segments the adversary tells the first ones apart."""


@dataclass(frozen=True)
class World:
    """What a user does: which arms are clicked, None for all, and how soon, in parts of the time.

    ``questions`` are the numbers of the questions with a click, ``experiments`` those of two
    experiments in one app; None for all questions, and for an app with one experiment.
    ``segment`` is the number of the user's segment.
    """

    name: str
    arms: tuple[int, ...] | None = None
    after: float = 0.0
    questions: tuple[int, ...] | None = None
    experiments: tuple[int, ...] | None = None
    segment: int | None = None

    def click(self, arm: int, window: float, question: int = 0, experiment: int = 0) -> float:
        """Seconds until a click on this arm; infinite if there is none.

        >>> World("clicks all").click(3, window=60.0), NEVER.click(3, window=60.0)
        (1.0, inf)
        """
        asked = ((self.arms, arm), (self.questions, question), (self.experiments, experiment))
        if any(those is not None and one not in those for those, one in asked):
            return float("inf")
        return max(SOON, self.after * window)


@dataclass(frozen=True)
class Secret:
    """Worlds, equally likely, that an adversary tries to tell apart."""

    name: str
    worlds: tuple[World, ...]

    @property
    def experiments(self) -> int:
        """In how many experiments the device is; each adds its own e."""
        return 1 if self.worlds[0].experiments is None else 2


NEVER = World("never clicks", ())
ALWAYS = World("clicks at once")
LATER = World("clicks late", after=LATE)
FIRST = World("clicks arm 0", (0,))
SECOND = World("clicks arm 1", (1,))

SECRETS = (
    Secret("does it click", (ALWAYS, NEVER)),
    Secret("how soon", (ALWAYS, LATER)),
    Secret("which arm", (FIRST, SECOND)),
    Secret("one arm or all", (FIRST, ALWAYS)),
)
"""What a device's messages might tell of its user, in every experiment."""

QUESTION = Secret(
    "which question",
    (
        World("clicks in question 1", questions=(1,)),
        World("clicks in question 2", questions=(2,)),
    ),
)
EXPERIMENT = Secret(
    "which experiment",
    (
        World("clicks in experiment 1", experiments=(0,)),
        World("clicks in experiment 2", experiments=(1,)),
    ),
)


def secrets_of(spec: ExperimentSpec) -> tuple[Secret, ...]:
    """What an adversary may want to know of a user of this experiment.

    >>> [secret.name for secret in secrets_of(ExperimentSpec(arms=3, scheme="survey"))][-1]
    'which experiment'
    """
    scheme: Any = spec.scheme
    questions = (QUESTION,) if getattr(scheme, "answers", 1) > 1 else ()
    plain = (*SECRETS, *questions, EXPERIMENT)
    names = spec.scheme.sending.segments[:MOST_SEGMENTS]
    if not names:
        return plain
    joint = [
        replace(world, name=f"is of {name} and {world.name}", segment=number)
        for number, name in enumerate(names)
        for world in (ALWAYS, NEVER)
    ]
    of_one = [
        Secret(secret.name, tuple(replace(world, segment=1) for world in secret.worlds))
        for secret in plain
    ]
    pair = Secret("which of two segments", (joint[0], joint[2]))
    return (Secret("segment and click", tuple(joint)), pair, *of_one)


def experiments_of(spec: ExperimentSpec, world: World) -> list[ExperimentSpec]:
    """The experiments that the device is in: the one audited, and another like it."""
    if world.experiments is None:
        return [spec]
    return [spec, spec.with_(name="a" if spec.name == "b" else "b")]


def public_tally(tally: Tally) -> dict[str, Any]:
    """What a board shows devices; of segments the first is decided, so that it plays its own arm.

    Neither that arm nor that it needs no answers may tell who is of it.
    """
    public = tally.public()
    for row in public.get("segments", ())[:1]:
        row |= {"status": "agreed", "leader": public["answer"][-1]}
    return public


class Plan(NamedTuple):
    """When the app is opened, when its process dies or None, and which acknowledgements are lost.

    ``window`` is how many seconds a play waits for its click. Nobody looks after the ``end``.
    """

    opens: tuple[float, ...]
    restart: float | None
    lost: tuple[bool, ...]
    window: float
    end: float


def plan(spec: ExperimentSpec, seed: str) -> Plan:
    """A plan drawn at random, the same for the same seed.

    It does not depend on what the user does: the worlds that an adversary must tell apart share it.
    """
    rng = random.Random(seed)
    window = spec.scheme.sending.reply_after or WINDOW
    opens = [window * rng.uniform(*BETWEEN)]
    while len(opens) < opens_needed(spec):
        opens.append(opens[-1] + window * rng.uniform(*BETWEEN))
    restart = rng.uniform(opens[0], opens[-1]) if rng.random() < RESTARTS else None
    lost = tuple(rng.random() < LOSS for _ in range(ATTEMPTS))
    return Plan(tuple(opens), restart, lost, window, opens[-1] + AT_LAST * window)


def opens_needed(spec: ExperimentSpec) -> int:
    """How often an app is opened until its device has sent all it has to send, and some more.

    >>> opens_needed(ExperimentSpec(arms=3, scheme="survey"))
    9
    """
    scheme: Any = spec.scheme
    needed = getattr(scheme, "vote_after", None) or 6 * getattr(scheme, "answers", 1)
    return int(needed) + AFTERWARDS


class Copy(NamedTuple):
    """A copy of a message as it leaves: when, its kind, and the numbers in it.

    Of two experiments the kind begins with the number of its own.
    """

    time: float
    kind: str
    numbers: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Wire:
    """What an adversary sees of one device: when its app was opened, and everything that left.

    ``requests`` are the moments of all requests, those that only read too, and ``forms`` what there
    was in them beside names and numbers. The adversary is also given the moments that were
    ``drawn`` for answers, as the device's status has them when the question is put: no secret may
    show in what is left beside them.
    """

    opens: tuple[float, ...]
    drawn: tuple[float, ...]
    requests: tuple[float, ...]
    forms: tuple[str, ...]
    copies: tuple[Copy, ...]

    @cached_property
    def messages(self) -> dict[tuple[str, tuple[int, ...]], Copy]:
        """The first copy of each message, by its contents."""
        return {(copy.kind, copy.numbers): copy for copy in reversed(self.copies)}

    @cached_property
    def firsts(self) -> list[Copy]:
        """The first copy of each message, in the order in which they left."""
        return sorted(self.messages.values())

    def since_open(self, moment: float) -> float:
        """Seconds from the last open before it."""
        return moment - self.opens[max(0, self.opens_before(moment) - 1)]

    def opens_before(self, moment: float) -> int:
        """How often the app had been opened."""
        return bisect_right(self.opens, moment)

    def since_drawn(self, moment: float) -> float:
        """Seconds from the nearest moment that was drawn for an answer; 0 if there is none."""
        return min((moment - drawn for drawn in self.drawn), key=abs, default=0.0)
