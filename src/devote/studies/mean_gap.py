"""Two sequences of rewards, one for which Assumption 4 holds and one with a switch.

Nothing is simulated: the figures follow from short sequences of gaps, in exact arithmetic.

Paper: section 4, Assumption 4 and the two figures "Mean gap versus time".
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from devote.studies import style
from devote.studies.claim import Case, Range, Row, judged
from devote.studies.estimates import exact
from devote.studies.study import Study, Table
from devote.studies.style import Figure

Gaps = tuple[Fraction, ...]

POSITIVE: Gaps = tuple(Fraction(gap, 10) for gap in (4, 2, -1, 3, 1, -2, 4, 2, -1, 3, 2, 1, 3))
"""The best arm's mean reward minus the other's, at times 1, 2, ...: now and then below zero."""

SWITCHING: Gaps = tuple(Fraction(gap, 10) for gap in (3, 3, 2, 1, 0, -3, -5, -5, *(-4,) * 5))
"""The same for arms of which the other overtakes the best."""

REMAINING = (2,) * (len(POSITIVE) - 1)
"""K_i: both of two arms remain at every step."""


def mean_gaps(gaps: Sequence[Fraction | int], remaining: Sequence[int]) -> list[Fraction]:
    """``Delta*([tau])`` for tau = 1, 2, ...: the mean, over tau steps, of each step's mean gap.

    ``gaps[j - 1]`` is the gap at time j between the best arm and another; step i takes the
    ``remaining[i - 1]`` gaps from time i on, as printed. There are as many values as steps for
    which all gaps are known.

    Paper: Assumption 4.

    >>> mean_gaps([1, 0, -2], remaining=[2, 2])
    [Fraction(1, 2), Fraction(-1, 4)]
    """
    total, means = Fraction(0), []
    for step, n_arms in enumerate(remaining, start=1):
        window = gaps[step - 1 : step - 1 + n_arms]
        if len(window) < n_arms:
            break
        total += sum(map(Fraction, window), Fraction(0)) / n_arms
        means.append(total / step)
    return means


def first_switch(means: Sequence[Fraction]) -> int | None:
    """The first time at which the mean gap is no longer positive: a switch of the best arm.

    >>> first_switch([Fraction(1, 2), Fraction(-1, 4)])
    2
    """
    return next((tau for tau, value in enumerate(means, start=1) if value <= 0), None)


def draw_gaps(_: Table, gaps: Gaps, title: str) -> Figure:
    """Bars for the gap at each time, a line for the mean gap."""
    figure, (axes,) = style.panels(1, size=(7.0, 3.7), right=0.97)
    means = mean_gaps(gaps, REMAINING)
    times, heights = list(range(1, len(means) + 1)), [float(value) for value in means]
    now = [float(gap) for gap in gaps[: len(means)]]
    axes.bar(times, now, width=0.62, color=style.FAINT, label="gap at this time")
    axes.axhline(0.0, color=style.BLACK, linewidth=0.9)
    axes.plot(times, heights, "-o", color=style.BLACK, label="mean gap of Assumption 4")
    shade: dict[str, Any] = {"color": style.GREY, "alpha": 0.4, "linewidth": 0}
    below = [height < 0 for height in heights]
    axes.fill_between(times, heights, 0.0, where=below, interpolate=True, **shade)
    if (switch := first_switch(means)) is not None:
        axes.axvline(switch, color=style.BLACK, linewidth=1.0, dashes=(4, 3))
        text = f"switch at time {switch}: the mean gap\nis no longer positive"
        look: dict[str, Any] = {"color": style.BLACK, "fontsize": 8.5, "va": "center"}
        axes.text(switch + 0.18, max(now) * 0.86, text, **look)
    axes.set_xlim(0.4, times[-1] + 0.6)
    low, high = axes.get_ylim()
    axes.set_ylim(low - 0.2 * (high - low), high)
    axes.set_xticks(times)
    axes.grid(False, axis="x")
    axes.set_xlabel("time (round-robin steps)")
    axes.set_ylabel("best arm's mean − another's")
    axes.set_title(title)
    axes.legend(loc="lower left", frameon=False, fontsize=8.5, borderaxespad=0.2)
    style.footnote(
        figure,
        f"Two arms; each step's gap is the mean of the next {REMAINING[0]} times (Assumption 4 as "
        "printed). Exact arithmetic, no simulation.",
    )
    return figure


def stays_positive(_: Table) -> list[Row]:
    """The caption of the first figure."""
    means = enumerate(mean_gaps(POSITIVE, REMAINING), 1)
    estimates = tuple(exact(float(mean), f"time {time}") for time, mean in means)
    return [judged("mean-gap-positive", [Case("computed", estimates, Range(low=1e-6))])]


def switches_at_7(_: Table) -> list[Row]:
    """Judge the caption of the second figure: the best arm switches at time 7."""
    time = first_switch(mean_gaps(SWITCHING, REMAINING))
    estimates = () if time is None else (exact(time),)
    return [judged("mean-gap-switch", [Case("computed", estimates, Range(7, 7))])]


HOLDS = "Assumption 4 holds: the mean gap stays positive"
FAILS = "Assumption 4 does not hold: a switch occurs"
STUDIES = tuple(
    Study(name, lambda _: {}, partial(draw_gaps, gaps=gaps, title=title), claims)
    for name, gaps, title, claims in (
        ("mean-gap", POSITIVE, HOLDS, stays_positive),
        ("mean-gap-switch", SWITCHING, FAILS, switches_at_7),
    )
)
