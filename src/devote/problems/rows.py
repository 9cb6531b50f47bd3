"""The rows of means and rewards of a problem, checked and made plain tuples."""

import math
from collections.abc import Sequence
from typing import Any

from devote.problems.errors import ProblemError, check

Means = tuple[float, ...]
"""One number per arm."""

TOLERANCE = 1e-12
"""Slack for sums that should be equal but for rounding."""


def table_rows(rows: Sequence[Sequence[float]]) -> tuple[Means, ...]:
    """A recorded table: at least one row of rewards, all of one length."""
    if len(rows) == 0:
        raise ProblemError("the replay table has no rows.\nGive at least one row of rewards.")
    return tuple(_rewards(row, i, n_arms=len(rows[0])) for i, row in enumerate(rows))


def sample_rows(rows: Sequence[Sequence[float]]) -> tuple[Means, ...]:
    """Samples: a row of rewards for each arm, of any length but none empty."""
    for k, row in enumerate(rows):
        if len(row) == 0:
            raise ProblemError(f"arm {k} has no samples.\nGive each arm at least one reward.")
    return tuple(_rewards(row, k, n_arms=len(row), what="samples") for k, row in enumerate(rows))


def group_rows(groups: Sequence[Any]) -> tuple[tuple[float, Means], ...]:
    """Groups of players: fractions that add up to 1, and rows of one length."""
    if len(groups) == 0:
        return ()
    pairs = [_pair(group, f"groups[{j}]", "(fraction, means)") for j, group in enumerate(groups)]
    fractions = [check.number(f"groups[{j}] fraction", pair[0]) for j, pair in enumerate(pairs)]
    total = math.fsum(fractions)
    if min(fractions) <= 0.0 or abs(total - 1.0) > TOLERANCE:
        raise ProblemError(
            f"the fractions of the groups, {fractions}, add up to {total!r}; they must be positive "
            "and add up to 1.\nGive each group its fraction of the players."
        )
    n_arms = len(check.units("groups[0]", pairs[0][1]))
    rows = [check.units(f"groups[{j}]", pair[1], length=n_arms) for j, pair in enumerate(pairs)]
    return tuple(zip(fractions, rows, strict=True))


def switch_rows(switches: Sequence[Any], n_arms: int) -> tuple[tuple[int, Means], ...]:
    """Switches: increasing times after 0, and one mean per arm."""
    pairs = [_pair(pair, f"switches[{j}]", "(time, means)") for j, pair in enumerate(switches)]
    times = [check.whole(f"switches[{j}] time", pair[0]) for j, pair in enumerate(pairs)]
    for before, after in zip([0, *times], times, strict=False):
        if after <= before:
            raise ProblemError(
                f"a switch at time {after} does not come after {before}.\n"
                "Give switches in increasing order of time, the first after 0."
            )
    rows = [check.units(f"switches[{j}]", pair[1], length=n_arms) for j, pair in enumerate(pairs)]
    return tuple(zip(times, rows, strict=True))


def slopes(values: Sequence[float], n_arms: int) -> Means:
    """A drift: one finite slope per arm."""
    numbers = tuple(check.number(f"drift[{k}]", slope) for k, slope in enumerate(values))
    if len(numbers) != n_arms:
        raise ProblemError(
            f"drift has {len(numbers)} slopes for {n_arms} arms.\nGive one slope per arm."
        )
    return numbers


def _pair(value: Any, what: str, form: str) -> tuple[Any, Any]:
    try:
        first, second = value
    except (TypeError, ValueError):
        raise ProblemError(f"{what}={value!r} is not a pair.\nGive {form}.") from None
    return first, second


def _rewards(row: Sequence[float], i: int, *, n_arms: int, what: str = "the replay table") -> Means:
    if len(row) != n_arms:
        raise ProblemError(
            f"row {i} of {what} has {len(row)} rewards, the first row {n_arms}.\n"
            "Give one reward per arm in every row."
        )
    # A recorded reward is private: the message says where it is, not what it is.
    try:
        return check.units("reward", row)
    except ProblemError:
        raise ProblemError(
            f"row {i} of {what} holds a reward that is not a number in [0, 1].\n"
            "Rescale the rewards to [0, 1] and leave out rows with gaps."
        ) from None
