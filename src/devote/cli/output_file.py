"""Output files, checked before any work is done."""

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from devote.cli.errors import CommandError
from devote.cli.terminal import progress_bar


def check_writable(path: Path, suffixes: Collection[str] = ()) -> None:
    """Refuse a file that cannot be written, or of a kind that is not known."""
    if suffixes and path.suffix.lower() not in suffixes:
        raise CommandError(
            f"{path} ends in {path.suffix or 'nothing'!r}, which is not a kind of file known here."
            f"\nName it with {' or '.join(suffixes)}."
        )
    folder, why = path.absolute().parent, None
    if not folder.is_dir():
        why = f"there is no folder {folder}.\nCreate it first."
    elif path.is_dir():
        why = "it is a folder.\nName a file in it."
    elif not os.access(path if path.exists() else folder, os.W_OK):
        why = "no permission.\nChoose another place."
    if why:
        raise CommandError(f"{path} cannot be written: {why}")


def draw_sweep(
    picture: Path, draw: Callable[..., Any], sweep: Callable[..., Any], *what: Any, **how: Any
) -> tuple[Any, Any, Path]:
    """Run a sweep, keep its numbers in a file beside the picture, and draw from that file.

    Gives the sweep, what ``draw`` gave, and the file of the numbers.
    """
    data = picture.with_suffix(".json")
    check_writable(picture, (".png", ".svg"))
    check_writable(data)
    with progress_bar() as progress:
        swept = sweep(*what, progress=progress, **how)
    swept.save(data)
    return swept, draw(type(swept).load(data), picture), data
