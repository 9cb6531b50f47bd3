"""Which errors are the reader's to mend, and how they are told: one line, exit code 2."""

import typer

BAD_INPUT = 2
"""The exit code."""

BROKEN_PIPE = 141
"""The exit code where nobody reads the output any more: 128 and the number of SIGPIPE."""

USAGE_ERROR = typer.BadParameter.__mro__[1]
"""What typer raises for options it cannot read; the family has no public name."""

LIBRARY_ERRORS = (ValueError, OSError)
"""What the library raises before any work is done, or where a file cannot be used."""

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

TEACHING = frozenset(
    {
        "ProtocolError",
        "LocalProtocolError",
        "RemoteProtocolError",
        "BoardRefused",
        "BoardUnavailable",
        "DeviceError",
    }
)
"""Other families whose messages teach the fix, by name, so that none need be imported here."""


def is_bad_input(error: BaseException) -> bool:
    """Whether this is the reader's to mend rather than a fault of the program."""
    if isinstance(error, (USAGE_ERROR, *LIBRARY_ERRORS)):
        return True
    if isinstance(error, ModuleNotFoundError):
        return error.name in EXTRAS
    return any(kind.__name__ in TEACHING for kind in type(error).__mro__)


def as_line(error: BaseException) -> str:
    r"""The message on one line; empty where typer has shown its help instead.

    >>> as_line(ValueError("eta=2 must be in (0, 1).\nIt is a probability."))
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
