"""Curves over the number of players, with intervals; their names where the lines end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from devote.problems import get_problem
from devote.studies import style
from devote.studies.estimates import Estimate, exact, mean
from devote.studies.study import ALONE_FACTOR, Table
from devote.studies.style import Axes, Figure
from devote.studies.variants import DELTA, EPSILON, FORM, SCHEMES, SER3, UGAPEC, Variant
from devote.theory import sample_lower_bound

LOWER_BOUND = "Lower bound: these arms, any algorithm that errs with probability δ at most."


class EndLabel(NamedTuple):
    """A name for the line that ends at (x, y)."""

    x: float
    y: float
    text: str
    colour: str


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions as close to those wanted as may be, ``gap`` apart and between the two ends.

    Neighbours that collide form a block around the mean of what they want.

    >>> spread([10.0, 10.0, 50.0], gap=10.0, low=0.0, high=100.0)
    [5.0, 15.0, 50.0]
    """

    def start(block: list[int]) -> float:
        length = gap * (len(block) - 1)
        centred = sum(wanted[i] for i in block) / len(block) - length / 2
        return max(low, min(centred, high - length))

    blocks: list[list[int]] = []
    for i in sorted(range(len(wanted)), key=lambda i: wanted[i]):
        blocks.append([i])
        while len(blocks) > 1 and start(blocks[-2]) + gap * len(blocks[-2]) > start(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    placed = [0.0] * len(wanted)
    for block in blocks:
        for rank, i in enumerate(block):
            placed[i] = start(block) + gap * rank
    return placed


def write_labels(axes: Axes, labels: Sequence[EndLabel]) -> None:
    """Write the labels right of the axes, with a thin leader to a line that is not level."""
    if not labels:
        return
    figure = axes.get_figure()
    assert figure is not None
    axes.autoscale_view()
    points = 72.0 / figure.dpi
    ends = [axes.transData.transform((label.x, label.y))[1] * points for label in labels]
    bottom, top = axes.bbox.y0 * points, axes.bbox.y1 * points
    heights = spread(ends, style.SMALL * 1.3, bottom, top)
    leader = {"arrowstyle": "-", "color": style.GREY, "linewidth": 0.5}
    leader |= {"shrinkA": 1.0, "shrinkB": 4.0}
    for label, y, height in zip(labels, ends, heights, strict=True):
        axes.annotate(
            label.text,
            xy=(label.x, label.y),
            xytext=(22.0, height - y),
            textcoords="offset points",
            color=label.colour,
            fontsize=style.SMALL,
            va="center",
            annotation_clip=False,
            arrowprops=leader,
        )


@dataclass(frozen=True)
class Curve:
    """One line: an estimate for each point, and how it looks.

    ``shift`` is a factor on the number of players that keeps bars of different curves apart.
    """

    x: tuple[float, ...]
    estimates: tuple[Estimate, ...]
    label: str
    colour: str
    line: style.Line = "-"
    marker: str = ""
    width: float = 1.8
    shift: float = 1.0


def curve(table: Table, variant: Variant, scheme: str, problem: str, **other: Any) -> Curve:
    """The samples of one algorithm on one problem in its own look; ``other`` replaces fields."""
    line, marker = style.LINES[scheme]
    samples = Curve(
        x=tuple(map(float, table.players)),
        estimates=tuple(map(mean, table.trials_by_players(variant, scheme, problem).T)),
        label=f"{SCHEMES[scheme]} {variant.label}",
        colour=style.SUBROUTINES[variant.label],
        line=line,
        marker=marker,
    )
    return replace(samples, **other)


def level(table: Table, estimate: Estimate, label: str, variant: Variant) -> Curve:
    """A number that does not depend on the number of players: one line, one bar."""
    ends = (float(table.players[0]), float(table.players[-1]))
    colour, line = style.SUBROUTINES[variant.label], style.dots(variant.label)
    return Curve(ends, (exact(estimate.value), estimate), label, colour, line)


def draw_curves(axes: Axes, curves: Sequence[Curve]) -> list[EndLabel]:
    """Draw lines and bars; the labels for their ends, to be written once the axes are set."""
    for item in curves:
        x = [item.shift * n for n in item.x]
        style.bars(axes, x, item.estimates, item.colour)
        look: dict[str, Any] = {
            "linestyle": item.line,
            "marker": item.marker or None,
            "linewidth": item.width,
        }
        axes.plot(x, [estimate.value for estimate in item.estimates], color=item.colour, **look)
    return [EndLabel(c.x[-1], c.estimates[-1].value, c.label, c.colour) for c in curves]


def draw_counts(
    axes: Axes, table: Table, curves: Sequence[Curve], *, of: str = "samples", bound: str = ""
) -> None:
    """Draw curves of counts, name their ends, set both axes.

    With ``bound``, draw what the arms of that stationary problem take at least, whatever the
    algorithm.
    """
    labels = draw_curves(axes, curves)
    if bound:
        least = sample_lower_bound(get_problem(bound).means, epsilon=EPSILON, delta=DELTA)
        ends = [table.players[0], table.players[-1]]
        axes.plot(ends, [least, least], color=style.BLACK, linewidth=1.0, dashes=(1, 2))
        labels.append(EndLabel(ends[-1], least, "lower bound", style.BLACK))
    style.players_axis(axes, table.players)
    style.counts_axis(axes, of)
    write_labels(axes, labels)


def samples_figure(
    table: Table, problem: str, draw_beside: Callable[[Axes, Table], None], note: str
) -> Figure:
    """Panel (a): samples of the six algorithms on one problem; panel (b): another view.

    The lower bound is drawn where arms do not change.
    """
    drawn, (left, right) = style.panels(2, size=(10.0, 4.4), bottom=0.245)
    both = (SER3, UGAPEC)
    curves = [
        curve(table, variant, scheme, problem)
        for scheme in ("decentralized", "isolated")
        for variant in both
    ] + [level(table, mean(table.shared(v, problem)), f"0-privacy {v.label}", v) for v in both]
    steady = not get_problem(problem).drift
    draw_counts(left, table, curves, bound=problem if steady else "")
    left.set_title(f"(a) Problem {problem}: samples until all are done")
    draw_beside(right, table)
    style.footnote(
        drawn,
        f"Points: means of {table.trials} trials. {style.BARS} SER3 with radius “{FORM}”.",
        "0-privacy does not depend on N: one line, "
        f"{ALONE_FACTOR * table.trials:,} trials.{f' {LOWER_BOUND}' if steady else ''}",
        note,
    )
    return drawn
