"""Names written where lines end, moved apart where they would overlap."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from devote.studies.drawing.style import GREY


@dataclass(frozen=True)
class EndLabel:
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
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    blocks: list[list[int]] = []
    starts: list[float] = []
    for i in order:
        blocks.append([i])
        starts.append(_start(blocks[-1], wanted, gap, low, high))
        while len(blocks) > 1 and starts[-2] + gap * len(blocks[-2]) > starts[-1]:
            last = blocks.pop()
            starts.pop()
            blocks[-1] += last
            starts[-1] = _start(blocks[-1], wanted, gap, low, high)
    placed = [0.0] * len(wanted)
    for block, start in zip(blocks, starts, strict=True):
        for rank, i in enumerate(block):
            placed[i] = start + gap * rank
    return placed


def _start(
    block: Sequence[int], wanted: Sequence[float], gap: float, low: float, high: float
) -> float:
    length = gap * (len(block) - 1)
    centred = sum(wanted[i] for i in block) / len(block) - length / 2
    return max(low, min(centred, high - length))


def write_labels(axes: Axes, labels: Sequence[EndLabel], *, size: float = 8.5) -> None:
    """Write the labels right of the axes, with a thin leader to a line that is not level."""
    if not labels:
        return
    figure = axes.get_figure()
    assert figure is not None
    axes.autoscale_view()
    points = 72.0 / figure.dpi
    ends = [axes.transData.transform((label.x, label.y)) * points for label in labels]
    bottom, top = axes.bbox.y0 * points, axes.bbox.y1 * points
    heights = spread([y for _, y in ends], size * 1.3, bottom, top)
    for label, (_, y), height in zip(labels, ends, heights, strict=True):
        offset = height - y
        axes.annotate(
            label.text,
            xy=(label.x, label.y),
            xytext=(22.0, offset),
            textcoords="offset points",
            color=label.colour,
            fontsize=size,
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": GREY,
                "linewidth": 0.5,
                "shrinkA": 1.0,
                "shrinkB": 4.0,
            },
        )
