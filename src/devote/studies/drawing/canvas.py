"""Figures without a window: made, filled, saved as SVG, PDF and PNG."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from devote.files import write_whole
from devote.studies.drawing.style import GREY, house_style

UNDATED = {"svg": "Date", "pdf": "CreationDate", "png": "Software"}
"""The formats, and what each would note that makes the same figure another file."""


def panels(
    n: int,
    *,
    size: tuple[float, float] = (10.0, 4.1),
    right: float = 0.835,
    bottom: float = 0.2,
    between: float = 0.88,
    sharey: bool = False,
) -> tuple[Figure, list[Axes]]:
    """A figure of n panels side by side, with room for labels right of each.

    It belongs to no window and needs no closing.
    """
    figure = Figure(figsize=size)
    FigureCanvasAgg(figure)
    figure.subplots_adjust(
        left=0.075 * 10.0 / size[0], right=right, bottom=bottom, top=0.9, wspace=between
    )
    grid = figure.subplots(1, n, sharey=sharey, squeeze=False)
    return figure, list(grid[0])


def footnote(figure: Figure, lines: str | Sequence[str]) -> None:
    """What a reader must know to read the figure, in small type below it."""
    text = lines if isinstance(lines, str) else "\n".join(lines)
    figure.text(0.01, 0.015, text, fontsize=7.8, color=GREY, va="bottom", linespacing=1.35)


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write NAME.svg, NAME.pdf and NAME.png; each appears whole or not at all."""
    written = []
    with house_style():
        for suffix, undated in UNDATED.items():
            buffer = BytesIO()
            figure.savefig(buffer, format=suffix, metadata={undated: None})
            data = _shrunk(buffer) if suffix == "png" else buffer.getvalue()
            written.append(write_whole(folder / f"{name}.{suffix}", data))
    return written


def _shrunk(buffer: BytesIO) -> bytes:
    """Keep the 96 colours that matter: a third of the size, and nobody sees it."""
    with Image.open(buffer) as image:
        small = image.convert("RGB").quantize(96, dither=Image.Dither.NONE)
    shrunk = BytesIO()
    small.save(shrunk, format="png", optimize=True)
    return shrunk.getvalue()
