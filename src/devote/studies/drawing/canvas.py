"""Figures without a window: made, filled, saved as SVG, PDF and PNG."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

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


def _shrink(path: Path) -> None:
    """Keep the 96 colours that matter: a third of the size, and nobody sees it."""
    with Image.open(path) as image:
        small = image.convert("RGB").quantize(96, dither=Image.Dither.NONE)
    small.save(path, format="png", optimize=True)


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write NAME.svg, NAME.pdf and NAME.png; each appears whole or not at all."""
    written = []
    with house_style():
        for suffix, undated in UNDATED.items():
            target = folder / f"{name}.{suffix}"
            partial = folder / f"{name}.{suffix}.partial"
            try:
                figure.savefig(partial, format=suffix, metadata={undated: None})
                if suffix == "png":
                    _shrink(partial)
                partial.replace(target)
            finally:
                partial.unlink(missing_ok=True)
            written.append(target)
    return written
