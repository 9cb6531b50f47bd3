"""Tables and frames, so that every answer looks the same."""

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

LOOKS: dict[str, dict[str, Any]] = {
    "l": {},
    "r": {"justify": "right"},
    "b": {"style": "bold"},
    "d": {"style": "dim"},
}


def table(
    layout: str, heads: Sequence[str], rows: Iterable[Iterable[RenderableType]], **look: Any
) -> Table:
    """A table without lines.

    ``layout`` has one letter per column: left, right, bold or dim; a capital is never wrapped.
    The last letter is that of all further columns. ``look`` goes to ``rich.table.Table``.
    """
    made = Table(**{"box": None, "pad_edge": False, "header_style": "dim", **look})
    for head, letter in zip(heads, layout.ljust(len(heads), layout[-1]), strict=True):
        made.add_column(head, no_wrap=letter.isupper(), **LOOKS[letter.lower()])
    for row in rows:
        made.add_row(*row)
    return made


def frame(
    title: str, parts: Sequence[RenderableType], subtitle: str = "", width: int = 100
) -> Panel:
    """A frame around several parts, with an empty line between two."""
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
