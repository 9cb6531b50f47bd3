"""How everything is shown: lines, tables, JSON, a progress bar, numbers a person can read.

Whatever reaches the terminal goes through ``escape``: names, addresses and error texts may come
from a server or a peer that would like to move the cursor, hide a line or paint another verdict.
A ``str`` is one line of plain text and never markup; a style is given beside it, as in
``words("It is ", ("proved", "green"))``.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from json import dumps
from typing import Any, TypeAlias

from rich import progress
from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

PIPED = 80
"""Columns of what goes to a file or a pipe."""

CLOSE = {"padding": (0, 1, 0, 0)}
"""How tables with many columns look: one space between two."""

STYLES = {"b": "bold", "d": "dim"}

Styled: TypeAlias = str | tuple[str, str]
"""A text, or a text and its style."""

Cell: TypeAlias = Styled | RenderableType

CONTROLS = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # C0, DEL and C1: colours, cursor movements, line breaks
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidi controls, which reorder what is read
    "\u2028\u2029\ud800-\udfff]"  # line breaks of Unicode; halves of characters
)


def escape(text: str) -> str:
    r"""A text in which every control character is written out.

    >>> print(escape("WRONG\r\x1b[2K\x1b[32mAll is well.\u202e"))
    WRONG\r\x1b[2K\x1b[32mAll is well.\u202e
    """
    return CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def words(*parts: Styled, style: str = "") -> Text:
    """One line of text from parts, some of which have a style of their own."""
    pairs = [(part, "") if isinstance(part, str) else part for part in parts]
    return Text.assemble(*((escape(text), look) for text, look in pairs), style=style)


def lines(*rows: Styled, style: str = "") -> Text:
    """Several lines of text."""
    return Text("\n").join(words(row, style=style) for row in rows)


def indented(text: str) -> Padding:
    """A paragraph two columns to the right."""
    return Padding(words(text), (0, 0, 0, 2))


def _cell(cell: Cell) -> RenderableType:
    return words(cell) if isinstance(cell, (str, tuple)) else cell


def console(*, stderr: bool = False, quiet: bool = False) -> Console:
    """Where tables go: as wide as the terminal, and 80 columns where there is none."""
    how: dict[str, Any] = {"highlight": False, "stderr": stderr, "quiet": quiet}
    out = Console(**how)
    return out if out.is_terminal else Console(**how, width=PIPED)


def show(*parts: Cell, style: str = "", error: bool = False) -> None:
    """Print parts one below the other.

    A ``str`` is printed as it is, however long: a path, an address, what another program reads.
    Anything else is wrapped to the width of the terminal.
    """
    out = console(stderr=error)
    for part in parts:
        if isinstance(part, str):
            print(escape(part), file=sys.stderr if error else sys.stdout, flush=error)
        else:
            out.print(_cell(part), style=style)


def note(text: str) -> None:
    """One line on stderr about what goes on or went wrong."""
    show(f"devote: {' '.join(text.split())}", error=True)


def show_json(value: Any) -> None:
    """One JSON object on stdout, in ASCII without control characters."""
    print(dumps(value, allow_nan=False))


def answer(as_json: bool, value: Any, *parts: Cell) -> None:
    """Print a command's answer: as one JSON object, or as parts for a person."""
    if as_json:
        show_json(value)
    else:
        show(*parts)


def table(
    layout: str, heads: str | Sequence[str], rows: Iterable[Iterable[Cell]], **look: Any
) -> Table:
    """A table without lines, whose numbers are never cut off: what is too wide is folded.

    ``layout`` has one letter per column: left, right, bold or dim; a capital is not wrapped. The
    last letter is that of all further columns. Heads may be one text with commas. ``look`` goes to
    ``rich.table.Table``.
    """
    heads = heads.split(",") if isinstance(heads, str) else heads
    made = Table(**{"box": None, "pad_edge": False, "header_style": "dim", **look})
    for head, letter in zip(heads, layout.ljust(len(heads), layout[-1]), strict=True):
        justify: JustifyMethod = "right" if letter == "r" else "left"
        style = STYLES.get(letter.lower(), "")
        made.add_column(
            words(head), style=style, justify=justify, no_wrap=letter.isupper(), overflow="fold"
        )
    for row in rows:
        made.add_row(*map(_cell, row))
    return made


def panel(
    title: Sequence[Styled], parts: Sequence[RenderableType], subtitle: str = "", width: int = 100
) -> Panel:
    """A frame around several parts, with an empty line between two; titles of 70 columns fit."""
    spaced = [item for part in parts for item in (Text(), part)][1:]
    return Panel(
        Group(*spaced),
        title=words(*title),
        subtitle=words((subtitle, "dim")) if subtitle else None,
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
        progress.TextColumn("{task.description}", markup=False),
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
            bar.update(task, completed=done, total=total, description=escape(label), rate=rate)

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
