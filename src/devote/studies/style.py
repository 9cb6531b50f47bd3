"""The look of every figure: type, colours that colour-blind readers tell apart, bars, ticks, files.

A colour is a subroutine, a line and its mark a scheme, a bar a 95 % interval, in every figure;
what is neither is black or grey. Colours are those of Okabe and Ito (2008), "Color Universal
Design".

Matplotlib is imported when a figure is drawn: to know what a study runs takes none. Modules that
draw import ``Axes`` and ``Figure`` from here, as names of types.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devote.files import write_whole
from devote.studies.estimates import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
else:
    Axes = Figure = Any

BLACK = "#1a1a1a"
GREY = "#7a7a7a"
FAINT = "#d9d9d9"
BLUE = "#0072B2"
SKY = "#56B4E9"

SUBROUTINES = {
    "SER3": BLUE,
    "SER3 (union)": SKY,
    "SER4": "#E69F00",
    "UGapEc": "#D55E00",
    "Median Elimination": "#009E73",
    "Successive Elimination": "#CC79A7",
}
Line = str | tuple[float, tuple[float, float]]
LINES: dict[str, tuple[Line, str]] = {"decentralized": ("-", "o"), "isolated": ("--", "^")}

SMALL = 8.5
"""The size of what is written into a figure."""

BARS = "Bars: 95 % intervals, where larger than the point."
"""The one measure of uncertainty: of the mean of the trials, or of a proportion."""

UNDATED = {"svg": "Date", "pdf": "CreationDate", "png": "Software"}
"""The formats, and what each would note that makes the same figure another file."""

LOOK = Path(__file__).parent / "house.mplstyle"


@contextmanager
def house_style() -> Iterator[None]:
    """Draw in the style of this project, whatever the user's own settings of matplotlib."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rc_file(LOOK)
        yield


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
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size)
    FigureCanvasAgg(figure)
    left = 0.075 * 10.0 / size[0]
    figure.subplots_adjust(left=left, right=right, bottom=bottom, top=0.9, wspace=between)
    return figure, list(figure.subplots(1, n, sharey=sharey, squeeze=False)[0])


def footnote(figure: Figure, *lines: str) -> None:
    """What a reader must know to read the figure, in small type below it."""
    text = "\n".join(lines)
    figure.text(0.01, 0.015, text, fontsize=7.8, color=GREY, va="bottom", linespacing=1.35)


def dots(subroutine: str) -> Line:
    """The line of 0-privacy; dots of two subroutines fall between each other on a shared line."""
    return (2.2 * list(SUBROUTINES).index(subroutine) / 3, (1.1, 3.3))


def bars(axes: Axes, x: Sequence[float], estimates: Sequence[Estimate], colour: str) -> None:
    """The 95 % interval of each estimate, as a vertical bar."""
    low, high = [e.low for e in estimates], [e.high for e in estimates]
    axes.vlines(list(x), low, high, color=colour, linewidth=1.3)


def players_axis(axes: Axes, players: tuple[int, ...]) -> None:
    """The number of players, on a log axis with a tick for each number that was run."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(players, [f"{n}" for n in players])
    axes.minorticks_off()
    axes.set_xlim(players[0] / 1.15, players[-1] * 1.15)
    axes.set_xlabel("number of players N")


def counts_axis(axes: Axes, label: str) -> None:
    """Counts, on a log axis with a tick for each power of ten, or more where there are few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_yscale("log")
    low, high = axes.get_ylim()
    steps = (1.0,) if high > 200 * low else (1.0, 2.0, 5.0)
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=steps, numticks=12))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: count_text(value)))
    axes.set_ylabel(label)


def count_text(value: float) -> str:
    """A count, short enough for a tick.

    >>> [count_text(v) for v in (500, 1000, 20000, 1e6, 3e7)]
    ['500', '1k', '20k', '1M', '30M']
    """
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def check_there() -> None:
    """Refuse, before any work is done, if what drawing takes is not installed."""
    for name in ("matplotlib", "PIL"):
        if find_spec(name) is None:
            raise ModuleNotFoundError(name=name)


def save(
    figure: Figure, folder: Path, name: str, formats: Iterable[str] = tuple(UNDATED)
) -> list[Path]:
    """Write NAME.svg, NAME.pdf and NAME.png; each appears whole or not at all."""
    from PIL import Image

    written = []
    with house_style():
        for suffix in formats:
            buffer = BytesIO()
            figure.savefig(buffer, format=suffix, metadata={UNDATED[suffix]: None})
            if suffix == "png":  # 96 colours look the same and take a third of the bytes
                with Image.open(buffer) as image:
                    few = image.convert("RGB").quantize(96, dither=Image.Dither.NONE)
                few.save(buffer := BytesIO(), format="png", optimize=True)
            written.append(write_whole(folder / f"{name}.{suffix}", buffer.getvalue()))
    return written
