"""Your own data: a log of what was shown and what it earned, and laws of your own.

A log has a time, an arm and a reward per event. It becomes a problem in one of two ways.

``resample``: each pull of an arm pays one of its logged rewards, drawn at random. It assumes that
the rewards of an arm are independent and do not change over time, and that who was shown which
arm did not depend on what it would earn. All of the log is used, as often as needed.

``reject``: the log is read in order of time. Each pull uses up the next logged event of every
arm: that of the arm played is paid, those of the others are rejected, as in the replay of Li, Chu,
Langford and Wang (2011), here one event per arm at a time. Change over time is kept, as far as the
arms were shown equally often. It assumes that arms were shown at random. A log of n events of the
rarest arm is n pulls long; then it starts again, so give ``horizon=n`` to stop there.
"""

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal, cast

from devote.problems.activity import ProblemError, check
from devote.problems.problem import Problem

COLUMNS = ("time", "arm", "reward")


@dataclass(frozen=True, repr=False)
class Log:
    """Events in order of time: ``arms`` are the names, ``played[i]`` the place of one of them."""

    arms: tuple[str, ...]
    played: tuple[int, ...]
    rewards: tuple[float, ...]

    def __repr__(self) -> str:
        return f"<Log of {len(self.played):,} events, {len(self.arms)} arms>"

    def by_arm(self) -> list[list[float]]:
        """The rewards of each arm, in order of time."""
        rows: list[list[float]] = [[] for _ in self.arms]
        for arm, reward in zip(self.played, self.rewards, strict=True):
            rows[arm].append(reward)
        return rows

    def problem(
        self, name: str = "log", how: Literal["resample", "reject"] = "resample", **rest: Any
    ) -> Problem:
        """The log as a problem; ``rest`` goes to ``Problem``, such as ``activity``.

        >>> log = read_log([(0, "a", 1), (1, "b", 0), (2, "b", 1), (3, "a", 1)])
        >>> log.arms, log.problem().means, log.problem(how="reject").replay
        (('a', 'b'), (1.0, 0.5), ((1.0, 0.0), (1.0, 1.0)))
        """
        rows = self.by_arm()
        if how == "resample":
            return Problem(name, samples=tuple(map(tuple, rows)), **rest)
        if how == "reject":
            return Problem(name, replay=tuple(zip(*rows, strict=False)), **rest)
        raise ProblemError(f"how={how!r} is not known.\nUse 'resample' or 'reject'.")


def read_log(source: Any, columns: Sequence[str] = COLUMNS) -> Log:
    """Read a log: a CSV file, a pandas ``DataFrame``, or rows of (time, arm, reward).

    ``columns`` are the names of the three in a file or frame. Rewards lie in [0, 1]; times are
    numbers, or texts that sort as times do. Arms are named by what the log says, in sorted order.
    """
    events = [_event(row, number) for number, row in enumerate(_rows(source, columns), start=1)]
    if len({type(time) for time, _, _ in events}) > 1:
        raise ProblemError("some times of the log are numbers, others not.\nUse one kind.")
    events.sort(key=lambda event: event[0])
    arms = tuple(sorted({arm for _, arm, _ in events}))
    if len(arms) < 2:
        raise ProblemError(
            f"the log has {len(arms)} arm(s): there is nothing to choose from.\n"
            "Give events of at least 2 arms."
        )
    played = tuple(arms.index(arm) for _, arm, _ in events)
    return Log(arms, played, tuple(reward for _, _, reward in events))


def _rows(source: Any, columns: Sequence[str]) -> Iterable[Any]:
    """The columns of a file or a frame, or the rows as they are."""
    if isinstance(source, str | Path):
        with Path(source).open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            known, table = list(reader.fieldnames or ()), list(reader)
        found = {name: [row[name] for row in table] for name in columns if name in known}
    elif hasattr(source, "columns"):
        known = list(source.columns)
        found = {name: source[name].tolist() for name in columns if name in known}
    else:
        return cast("Iterable[Any]", source)
    for name in columns:
        if name not in found:
            raise ProblemError(
                f"the log has no column {name!r}, only {', '.join(map(str, known)) or 'none'}.\n"
                "Name its columns for time, arm and reward, in this order: columns=(...)."
            )
    return zip(*(found[name] for name in columns), strict=True)


def _event(row: Any, number: int) -> tuple[Any, str, float]:
    """A time, an arm and a reward, checked; a reward is private and stands in no message."""
    try:
        time, arm, reward = row
    except (TypeError, ValueError):
        raise ProblemError(
            f"event {number} of the log is not a row of three.\nGive (time, arm, reward)."
        ) from None
    try:
        paid = check.unit("reward", float(reward))
    except (ProblemError, TypeError, ValueError):
        raise ProblemError(
            f"event {number} of the log has a reward that is not a number in [0, 1].\n"
            "Rescale the rewards to [0, 1] and leave out events without one."
        ) from None
    try:
        time = float(time)
    except (TypeError, ValueError):
        time = str(time)
    if time != time:  # not a number
        raise ProblemError(f"event {number} of the log has no time.\nGive one, or leave it out.")
    return time, str(arm), paid


def made_log(
    means: Sequence[float], n_events: int, *, seed: int = 0, names: Sequence[str] | None = None
) -> Log:
    """An invented log of a site that shows arms at random: 1 for a click, else 0.

    For trying things out where there is no data that may be shared. Event i shows one of the arms,
    uniformly, and earns 1 with the probability that is its mean, from ``random.Random(seed)``.

    >>> made_log([0.05, 0.04, 0.03], 10_000)
    <Log of 10,000 events, 3 arms>
    """
    rows, dice = check.units("means", means), Random(seed)
    labels = names or [f"arm {k:0{len(str(len(rows)))}d}" for k in range(len(rows))]
    events = []
    for time in range(check.whole("n_events", n_events, least=1)):
        arm = int(dice.random() * len(rows))
        events.append((time, labels[arm], float(dice.random() < rows[arm])))
    return read_log(events)


def problem_of_laws(
    name: str, laws: Sequence[Callable[[float], float]], *, points: int = 1000, **rest: Any
) -> Problem:
    """A problem whose arms pay by laws of your own, one function per arm.

    A law turns one uniform number u in (0, 1) into a reward in [0, 1]: the inverse of a
    distribution function, or any other function of chance. It is called at ``points`` evenly
    spaced u; each pull pays one of those values, at random. So means, and all probabilities, are
    those of the law up to about ``1 / points``.

    >>> problem_of_laws("squares", [lambda u: u * u, lambda u: u / 2], points=1000).means[1]
    0.25
    """
    count = check.whole("points", points, least=1)
    places = [(i + 0.5) / count for i in range(count)]
    return Problem(name, samples=tuple(tuple(law(u) for u in places) for law in laws), **rest)
