"""Names written where lines end, moved apart where they would overlap."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devote.studies.drawing.style import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = 8.5


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


def write_labels(axes: "Axes", labels: Sequence[EndLabel]) -> None:
    """Write the labels right of the axes, with a thin leader to a line that is not level."""
    if not labels:
        return
    figure = axes.get_figure()
    assert figure is not None
    axes.autoscale_view()
    points = 72.0 / figure.dpi
    ends = [axes.transData.transform((label.x, label.y)) * points for label in labels]
    bottom, top = axes.bbox.y0 * points, axes.bbox.y1 * points
    heights = spread([y for _, y in ends], SIZE * 1.3, bottom, top)
    leader = {"arrowstyle": "-", "color": GREY, "linewidth": 0.5, "shrinkA": 1.0, "shrinkB": 4.0}
    for label, (_, y), height in zip(labels, ends, heights, strict=True):
        axes.annotate(
            label.text,
            xy=(label.x, label.y),
            xytext=(22.0, height - y),
            textcoords="offset points",
            color=label.colour,
            fontsize=SIZE,
            va="center",
            annotation_clip=False,
            arrowprops=leader,
        )
