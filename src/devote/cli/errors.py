"""Which errors are the user's to correct, and how they are told: one line, exit code 2."""

import typer

from devote.errors import DevoteError

BAD_INPUT = 2
"""The exit code."""

BROKEN_PIPE = 141
"""The exit code where nobody reads the output any more: 128 and the number of SIGPIPE."""

USAGE_ERROR = typer.BadParameter.__mro__[1]
"""What typer raises for options it cannot read; the family has no public name."""

EXTRAS = {
    "numpy": "sim",
    "numba": "sim",
    "scipy": "sim",
    "matplotlib": "plots",
    "fastapi": "serve",
    "uvicorn": "serve",
    "httpx": "fleet",
    "cryptography": "fleet",
    "distributed": "cluster",
}
"""Which extra brings a package that is missing."""


class CommandError(DevoteError, ValueError):
    """Options that the command line cannot read, or that do not go together."""


def is_bad_input(error: BaseException) -> bool:
    """Whether this is the user's to correct rather than a fault of the program."""
    if isinstance(error, ModuleNotFoundError):
        return error.name in EXTRAS
    return isinstance(error, (USAGE_ERROR, DevoteError, OSError))


def as_line(error: BaseException) -> str:
    r"""The message on one line; empty where typer has shown its help instead.

    >>> as_line(CommandError("eta=2 must be in (0, 1).\nIt is a probability."))
    'eta=2 must be in (0, 1). It is a probability.'
    """
    if isinstance(error, USAGE_ERROR):
        text = str(error.format_message())  # type: ignore[attr-defined]
    elif isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}. Choose another file or folder."
    elif isinstance(error, ModuleNotFoundError) and error.name in EXTRAS:
        text = (
            f"This needs {error.name}. Install it with: pip install 'devote[{EXTRAS[error.name]}]'"
        )
    else:
        text = str(error) or type(error).__name__
    return " ".join(text.split())
