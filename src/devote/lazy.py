"""Names that a package imports when they are first asked for, because they need an extra.

Without it the import says which one to install.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from devote.extras import naming_extras


def lazy_names(package: str, homes: dict[str, str]) -> Callable[[str], Any]:
    """A package's ``__getattr__``; ``homes`` has the module of each name."""

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with naming_extras():
            return getattr(import_module(homes[name]), name)

    return find
