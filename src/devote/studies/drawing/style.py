"""The look of every figure: type, colours that colour-blind readers tell apart, bars, ticks, files.

A colour is a subroutine, a line and its mark a scheme, a bar a 95 % interval, in every figure;
what is neither is black or grey. Colours are those of Okabe and Ito (2008), "Color Universal
Design".

Matplotlib is imported when a figure is drawn: to know what a study runs takes none. Modules that
draw import ``Axes`` and ``Figure`` from here, as names of types.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devote.files import write_whole
from devote.simulator.estimates import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
else:
    Axes = Figure = Any

BLACK = "#1a1a1a"
GREY = "#7a7a7a"
FAINT = "#d9d9d9"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
ORANGE = "#E69F00"
SKY = "#56B4E9"

SUBROUTINES = {
    "SER3": BLUE,
    "SER3 (union)": SKY,
    "SER4": ORANGE,
    "UGapEc": VERMILLION,
    "Median Elimination": GREEN,
    "Successive Elimination": PURPLE,
}
Line = str | tuple[float, tuple[float, float]]
LINES: dict[str, tuple[Line, str]] = {"decentralized": ("-", "o"), "isolated": ("--", "^")}

BARS = "Bars: 95 % intervals, where larger than the point."
"""The one measure of uncertainty: of the mean of the trials, or of a proportion."""

UNDATED = {"svg": "Date", "pdf": "CreationDate", "png": "Software"}
"""The formats, and what each would note that makes the same figure another file."""

_RC: dict[str, Any] = {
    "figure.dpi": 100,
    "savefig.dpi": 150,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 9.0,
    "axes.labelsize": 9.5,
    "axes.labelcolor": BLACK,
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#ececec",
    "grid.linewidth": 0.7,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": BLACK,
    "ytick.labelcolor": BLACK,
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    # The same picture is the same file, byte for byte, wherever it is drawn.
    "svg.hashsalt": "devote",
    "svg.fonttype": "path",
}


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


@contextmanager
def house_style() -> Iterator[None]:
    """Draw in the style of this project, whatever the user's own settings of matplotlib."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        params: dict[Any, Any] = mpl.rcParams
        params.update(_RC)
        yield


def check_there() -> None:
    """Refuse, before any work is done, if what drawing takes is not installed."""
    for name in ("matplotlib", "PIL"):
        if find_spec(name) is None:
            raise ModuleNotFoundError(name=name)


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write NAME.svg, NAME.pdf and NAME.png; each appears whole or not at all."""
    written = []
    with house_style():
        for suffix, undated in UNDATED.items():
            buffer = BytesIO()
            # The picture is packed when it has been shrunk.
            unpacked: Any = {"pil_kwargs": {"compress_level": 0}} if suffix == "png" else {}
            figure.savefig(buffer, format=suffix, metadata={undated: None}, **unpacked)
            data = _shrunk(buffer) if suffix == "png" else buffer.getvalue()
            written.append(write_whole(folder / f"{name}.{suffix}", data))
    return written


def _shrunk(buffer: BytesIO) -> bytes:
    """The picture with 96 colours, which look the same and take a third of the bytes."""
    from PIL import Image

    with Image.open(buffer) as image:
        small = image.convert("RGB").quantize(96, dither=Image.Dither.NONE)
    shrunk = BytesIO()
    small.save(shrunk, format="png", optimize=True)
    return shrunk.getvalue()


def count_text(value: float, place: int | None = None) -> str:
    """A count, short enough for a tick.

    >>> [count_text(v) for v in (500, 1000, 20000, 1e6, 3e7)]
    ['500', '1k', '20k', '1M', '30M']
    """
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


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
    axes.yaxis.set_major_formatter(FuncFormatter(count_text))
    axes.set_ylabel(label)
