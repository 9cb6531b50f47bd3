"""``devote verify``: anybody checks a count."""

import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from devote.cli import options
from devote.cli.errors import CommandError
from devote.cli.options import takes
from devote.cli.output_file import check_writable

if TYPE_CHECKING:
    from devote.boards.logs import Log, Statement

HEAD = re.compile(r"(\d{1,15}):([0-9a-f]{64})")


def read_head(text: str) -> "Statement":
    """A head as another reader has printed it, with the number up to which it reaches."""
    from devote.boards.logs import Statement

    found = HEAD.fullmatch(text.strip())
    if found is None:
        raise CommandError(
            f"--head {text!r} is not a head.\nGive one as `devote verify` prints it: a number, a "
            "colon, and 64 digits and letters from a to f."
        )
    return Statement("head", int(found[1]), {"head": found[2]}, "--head")


def _open(log: str, stack: ExitStack, progress: Callable[[int, int, str], None]) -> "Log":
    """The log at an address or in a file, open for as long as the stack is."""
    from devote.boards.board import is_address
    from devote.boards.logs import HttpLog, SavedLog

    if not Path(log).is_file() and (is_address(log) or "/experiments/" in log):
        return stack.enter_context(HttpLog(log, progress=progress))
    return stack.enter_context(SavedLog(log))


def verify(
    log: Annotated[
        str, typer.Argument(metavar="URL|FILE", help="An experiment's address, or a saved log.")
    ],
    store: Annotated[
        list[Path] | None,
        takes("FILE", "A device's store: is all there that it was told? May be repeated."),
    ] = None,
    against: Annotated[
        Path | None, takes("FILE", "A log saved earlier: is all of it still there?")
    ] = None,
    head: Annotated[
        list[str] | None, takes("N:HEAD", "Another reader's head: is the log the same up to N?")
    ] = None,
    save: Annotated[Path | None, takes("FILE", "Keep a copy of the log here.")] = None,
    json: options.Json = False,
) -> None:
    """Read a whole log, check every message, and count it again.

    Checks numbers, signatures, enrolment, doubles and the rules of the scheme, and compares the
    count with what the server tells. It needs no token. Exit code 0: all is well; 1: something is
    wrong, and what; 2: the log could not be read.

    Examples:
        devote verify http://127.0.0.1:8600/experiments/banner --save monday.jsonl
        devote verify http://127.0.0.1:8600/experiments/banner --against monday.jsonl
        devote verify http://127.0.0.1:8600/experiments/banner --store device.db
        devote verify monday.jsonl
    """
    from devote.boards.logs import LogCopy, SavedLog
    from devote.boards.verification import verify_log
    from devote.cli.terminal import progress_bar, tell
    from devote.cli.verify_view import show, to_json
    from devote.device.store import remember

    heads = [read_head(text) for text in head or ()]
    if save is not None:
        check_writable(save)
        if save in (against, Path(log)):
            raise CommandError(
                f"--save {save} would replace the copy that is compared with.\n"
                "Keep that one, and choose another name."
            )
    with ExitStack() as stack:
        earlier = None if against is None else stack.enter_context(SavedLog(against))
        progress = stack.enter_context(progress_bar())
        source = _open(log, stack, progress)
        name = source.experiment.name
        remembered = [remember(path, name) for path in store or ()]
        if earlier is not None:
            if earlier.experiment.name != name:
                raise CommandError(
                    f"{against} is a log of {earlier.experiment.name!r}, not of {name!r}.\n"
                    "Give an earlier copy of the same log."
                )
            remembered.append(earlier.remembered())
        copy = None if save is None else stack.enter_context(LogCopy(save, source))
        report = verify_log(
            source, statements=heads, remembered=remembered, copy=copy, progress=progress
        )
    tell(to_json(report), json, lambda _: show(report))
    if not report.ok:
        raise typer.Exit(1)
