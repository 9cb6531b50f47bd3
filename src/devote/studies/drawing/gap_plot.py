"""The mean gap over time: bars for the gap at each time, a line for its running mean."""

from collections.abc import Sequence
from fractions import Fraction

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from devote.studies.drawing import style
from devote.studies.drawing.canvas import footnote, panels
from devote.studies.gaps import first_switch, mean_gaps


def draw_gaps(gaps: Sequence[Fraction], remaining: Sequence[int], title: str) -> Figure:
    """The figure of one sequence of rewards."""
    figure, (axes,) = panels(1, size=(7.0, 3.7), right=0.97)
    means = mean_gaps(gaps, remaining)
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
    axes.xaxis.set_major_locator(FixedLocator(times))
    axes.grid(False, axis="x")
    axes.set_xlabel("time (round-robin steps)")
    axes.set_ylabel("best arm's mean − another's")
    axes.set_title(title)
    axes.legend(loc="lower left", frameon=False, fontsize=8.5, borderaxespad=0.2)
    footnote(
        figure,
        f"Two arms; each step's gap is the mean of the next {remaining[0]} times (Assumption 4 as "
        "printed). Exact arithmetic, no simulation.",
    )
    return figure
