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
    folder = path.absolute().parent
    if not folder.is_dir():
        raise CommandError(
            f"{path} cannot be written: there is no folder {folder}.\nCreate it first."
        )
    if path.is_dir():
        raise CommandError(f"{path} cannot be written: it is a folder.\nName a file in it.")
    target = path if path.exists() else folder
    if not os.access(target, os.W_OK):
        raise CommandError(f"{path} cannot be written: no permission.\nChoose another place.")


def draw_sweep(
    picture: Path, draw: Callable[[Any, Path], Any], sweep: Callable[..., Any], **asked: Any
) -> tuple[Any, Any, Path]:
    """Run a sweep, keep its numbers in a file beside the picture, and draw from that file.

    Gives the sweep, what ``draw`` gave, and the file of the numbers.
    """
    data = picture.with_suffix(".json")
    check_writable(picture, (".png", ".svg"))
    check_writable(data)
    with progress_bar() as progress:
        swept = sweep(**asked, progress=progress)
    swept.save(data)
    return swept, draw(type(swept).load(data), picture), data
