"""Two sequences of rewards, one for which Assumption 4 holds and one with a switch.

Nothing is simulated: the figures follow from short sequences of gaps.

Paper: section 4, the two figures "Mean gap versus time".
"""

from fractions import Fraction
from typing import TYPE_CHECKING

from devote.simulate.estimates import exact
from devote.studies.claim import Case, Claim, Range, judged
from devote.studies.drawing import style
from devote.studies.gaps import first_switch, mean_gaps
from devote.studies.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Gaps = tuple[Fraction, ...]

POSITIVE: Gaps = tuple(Fraction(gap, 10) for gap in (4, 2, -1, 3, 1, -2, 4, 2, -1, 3, 2, 1, 3))
"""The best arm's mean reward minus the other's, at times 1, 2, ...: now and then below zero."""

SWITCHING: Gaps = tuple(Fraction(gap, 10) for gap in (3, 3, 2, 1, 0, -3, -5, -5, *(-4,) * 5))
"""The same for arms of which the other overtakes the best."""

REMAINING = (2,) * (len(POSITIVE) - 1)
"""K_i: both of two arms remain at every step."""


def draw_gaps(gaps: Gaps, title: str) -> "Figure":
    """Bars for the gap at each time, a line for the mean gap."""
    figure, (axes,) = style.panels(1, size=(7.0, 3.7), right=0.97)
    means = mean_gaps(gaps, REMAINING)
    times = list(range(1, len(means) + 1))
    now = [float(gap) for gap in gaps[: len(means)]]
    axes.bar(times, now, width=0.62, color=style.FAINT, label="gap at this time")
    axes.axhline(0.0, color=style.BLACK, linewidth=0.9)
    heights = [float(value) for value in means]
    axes.plot(times, heights, "-o", color=style.BLACK, label="mean gap of Assumption 4")
    axes.fill_between(
        times,
        heights,
        0.0,
        where=[height < 0 for height in heights],
        interpolate=True,
        color=style.GREY,
        alpha=0.4,
        linewidth=0,
    )
    switch = first_switch(means)
    if switch is not None:
        axes.axvline(switch, color=style.BLACK, linewidth=1.0, dashes=(4, 3))
        axes.text(
            switch + 0.18,
            max(now) * 0.86,
            f"switch at time {switch}: the mean gap\nis no longer positive",
            color=style.BLACK,
            fontsize=8.5,
            va="center",
        )
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


def stays_positive() -> Claim:
    """The caption of the first figure."""
    means = enumerate(mean_gaps(POSITIVE, REMAINING), 1)
    estimates = tuple(exact(float(mean), f"time {time}") for time, mean in means)
    return judged("mean-gap-positive", [Case("computed", estimates, Range(low=1e-6))])


def switches_at_7() -> Claim:
    """The caption of the second figure."""
    time = first_switch(mean_gaps(SWITCHING, REMAINING))
    estimates = () if time is None else (exact(time),)
    return judged("mean-gap-switch", [Case("computed", estimates, Range(7, 7))])


STUDIES = (
    Study(
        "mean-gap",
        lambda _: [],
        lambda _: draw_gaps(POSITIVE, "Assumption 4 holds: the mean gap stays positive"),
        lambda _: [stays_positive()],
    ),
    Study(
        "mean-gap-switch",
        lambda _: [],
        lambda _: draw_gaps(SWITCHING, "Assumption 4 does not hold: a switch occurs"),
        lambda _: [switches_at_7()],
    ),
)
