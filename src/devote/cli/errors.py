"""Which errors are the user's to correct, and how they are told: one line, exit code 2."""

import typer

from devote.errors import DevoteError
from devote.extras import missing_extra

BROKEN_PIPE = 141
"""The exit code where nobody reads the output any more: 128 and the number of SIGPIPE."""

USAGE_ERROR = typer.BadParameter.__mro__[1]
"""What typer raises for options it cannot read; the family has no public name."""


class CommandError(DevoteError, ValueError):
    """Options that the command line cannot read, or that do not go together."""


def bad_input(error: BaseException) -> str | None:
    r"""The message on one line if this is the user's to correct, not a fault of the program.

    It is empty where typer has shown its help instead.

    >>> bad_input(CommandError("eta=2 must be in (0, 1).\nIt is a probability."))
    'eta=2 must be in (0, 1). It is a probability.'
    """
    if isinstance(error, USAGE_ERROR):
        text = str(error.format_message())  # type: ignore[attr-defined]
    elif isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}. Choose another file or folder."
    elif isinstance(error, ModuleNotFoundError) and (told := missing_extra(error)):
        text = str(told)
    elif isinstance(error, (DevoteError, OSError)):
        text = str(error) or type(error).__name__
    else:
        return None
    return " ".join(text.split())
