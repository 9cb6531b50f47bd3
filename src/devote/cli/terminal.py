"""How things are shown: JSON, tables, a progress bar on stderr, numbers a person can read."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from json import dumps
from typing import Any

from rich import progress
from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

PIPED = 80
"""Columns of what goes to a file or a pipe."""

CLOSE = {"padding": (0, 1, 0, 0)}
"""How tables with many columns look: one space between two."""

STYLES = {"b": "bold", "d": "dim"}


def show_json(value: Any) -> None:
    """One JSON object on stdout."""
    print(dumps(value, allow_nan=False))


def tell(values: Any, json: bool, show: Callable[[Any], None]) -> None:
    """Print the answer of a command: as one JSON object, or as ``show`` prints it for a person."""
    (show_json if json else show)(values)


def console(quiet: bool = False) -> Console:
    """Where tables go: as wide as the terminal, and 80 columns where there is none."""
    out = Console(highlight=False, quiet=quiet)
    return out if out.is_terminal else Console(highlight=False, quiet=quiet, width=PIPED)


def table(
    layout: str, heads: Sequence[str], rows: Iterable[Iterable[RenderableType]], **look: Any
) -> Table:
    """A table without lines, whose numbers are never cut off: what is too wide is folded.

    ``layout`` has one letter per column: left, right, bold or dim; a capital is not wrapped. The
    last letter is that of all further columns. ``look`` goes to ``rich.table.Table``.
    """
    made = Table(**{"box": None, "pad_edge": False, "header_style": "dim", **look})
    for head, letter in zip(heads, layout.ljust(len(heads), layout[-1]), strict=True):
        justify: JustifyMethod = "right" if letter == "r" else "left"
        style = STYLES.get(letter.lower(), "")
        made.add_column(
            head, style=style, justify=justify, no_wrap=letter.isupper(), overflow="fold"
        )
    for row in rows:
        made.add_row(*row)
    return made


def panel(
    title: str, parts: Sequence[RenderableType], subtitle: str = "", width: int = 100
) -> Panel:
    """A frame around several parts, with an empty line between two; titles of 70 columns fit."""
    spaced = [item for part in parts for item in (Text(), part)][1:]
    return Panel(
        Group(*spaced),
        title=title,
        subtitle=subtitle or None,
        title_align="left",
        subtitle_align="right",
        padding=(1, 2),
        width=width,
    )


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int, str], None]]:
    """A bar with rate and time left on stderr, if that is a terminal; gone when done.

    Call it with how many are done, of how many, and what they are.
    """
    bar = progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[rate]}"),
        progress.TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
        transient=True,
    )
    with bar:
        task = bar.add_task("", total=None, rate="")

        def report(done: int, total: int, label: str) -> None:
            speed = bar.tasks[task].speed
            rate = f"{speed:.3g}/s" if speed else ""
            bar.update(task, completed=done, total=total, description=label, rate=rate)

        yield report


def number(value: float) -> str:
    """A count as a person writes it.

    >>> number(20654.67), number(12.34), number(0.0523)
    ('20,655', '12.3', '0.0523')
    """
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def probability(value: float) -> str:
    """A probability, never rounded to a certainty that it is not.

    >>> probability(0.05233), probability(0.99999), probability(1.0), probability(1e-9)
    ('5.2 %', '> 99.9 %', '100 %', '< 0.1 %')
    """
    if 0.0 < value < 0.001:
        return "< 0.1 %"
    if 0.999 < value < 1.0:
        return "> 99.9 %"
    return f"{100.0 * value:.2g} %" if value < 0.1 else f"{100.0 * value:.3g} %"


def duration(seconds: float) -> str:
    """A length of time in the unit a person would use.

    >>> duration(0.2), duration(7200), duration(86400 * 3.25), duration(86400 * 800)
    ('0.2 s', '2.0 hours', '3.2 days', '2.2 years')
    """
    for size, unit in ((365.25 * 86400, "years"), (86400, "days"), (3600, "hours"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.2g} s"
