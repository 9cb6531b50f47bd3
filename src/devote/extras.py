"""Which extra brings a package that is missing."""

from collections.abc import Iterator
from contextlib import contextmanager

from devote.errors import DevoteError

EXTRAS = {
    "numpy": "sim",
    "numba": "sim",
    "llvmlite": "sim",
    "scipy": "sim",
    "matplotlib": "plots",
    "PIL": "plots",
    "rich": "cli",
    "starlette": "serve",
    "uvicorn": "serve",
    "prometheus_client": "serve",
    "httpx": "fleet",
    "cryptography": "fleet",
    "nats": "nats",
    "pandas": "tables",
    "openfeature": "openfeature",
    "zeroconf": "lan",
}
"""The extra of each package that some part of devote imports."""


class MissingExtra(DevoteError, ModuleNotFoundError):
    """A package that is not installed; the text says how to install it."""


def missing_extra(error: ModuleNotFoundError) -> MissingExtra | None:
    """The error for a failed import, None if no extra brings the package.

    >>> print(missing_extra(ModuleNotFoundError(name="numba.core")))
    This needs numba, which is not installed.
    Install it: pip install 'devote[sim]' (in a checkout: pip install -e '.[sim]')
    """
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS:
        return None
    extra = EXTRAS[package]
    return MissingExtra(
        f"This needs {package}, which is not installed.\n"
        f"Install it: pip install 'devote[{extra}]' (in a checkout: pip install -e '.[{extra}]')",
        name=error.name,
    )


@contextmanager
def naming_extras() -> Iterator[None]:
    """Within it, an import that fails for want of an extra says which."""
    try:
        yield
    except MissingExtra:
        raise
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        raise missing from None
