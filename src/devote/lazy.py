"""Names that a package imports when they are first asked for, because they need an extra.

Without it the import says which one to install.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from devote.extras import naming_extras


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A package's ``__getattr__`` and ``__dir__``; ``homes`` has the module of each name."""

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with naming_extras():
            return getattr(import_module(homes[name]), name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return find, names
