"""Subroutines from outside this package: from a file, from an installed package, on a worker.

A package offers its subroutines as entry points of the group ``devote.algorithms``; they are
imported when a name is asked for that is not known. A file is imported by ``import_rules``.
Another process, which has imported nothing, gets ``homes`` and catches up by ``settle``: by name
where the module can be imported there, from its file, or from the text of the file.
"""

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from devote.rules.algorithm import ALGORITHMS, Algorithm, AlgorithmError, register

GROUP = "devote.algorithms"


class Home(NamedTuple):
    """Where subroutines come from: their names, a module, its file and the text of the file."""

    names: tuple[str, ...]
    module: str
    file: str
    source: str

    @property
    def digest(self) -> str:
        """Names one version of the text."""
        return hashlib.sha256(self.source.encode()).hexdigest()[:16]


_settled: dict[str, str] = {}
"""The digest of each module that ``settle`` has imported."""


def import_rules(where: str | Path) -> ModuleType:
    """Import a file that ends in .py, or a module by name; its ``ALGORITHM`` becomes known.

    A file's folder is put on the path, so that it can import its neighbours. Importing the same
    file again changes nothing.
    """
    path = Path(where)
    if path.suffix == ".py":
        return _import_file(path, path.stem)
    try:
        return _with_algorithm(importlib.import_module(str(where)))
    except ModuleNotFoundError as error:
        raise AlgorithmError(
            f"There is no module {str(where)!r} ({error}).\n"
            "Name a file that ends in .py, or a module that is installed."
        ) from None


def _with_algorithm(module: ModuleType) -> ModuleType:
    """A module whose ``ALGORITHM``, if it has one, is known."""
    found = getattr(module, "ALGORITHM", None)
    if isinstance(found, Algorithm):
        register(found)
    return module


def load_entry_points() -> None:
    """Make the subroutines of installed packages known; one that cannot be imported is an error."""
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        if point.name in ALGORITHMS:
            continue
        try:
            found: Any = point.load()
        except Exception as error:
            raise AlgorithmError(
                f"The entry point {point.name!r} of {GROUP} cannot be loaded: "
                f"{type(error).__name__}: {error}.\nUpdate or remove the package that offers it."
            ) from error
        if not isinstance(found, Algorithm):
            raise AlgorithmError(
                f"The entry point {point.name!r} of {GROUP} is {point.value!r}, which is not an "
                "Algorithm.\nPoint it at one, such as my_package.my_rule:ALGORITHM."
            )
        register(found)


def homes() -> tuple[Home, ...]:
    """Where the subroutines come from that are not devote's own and have a file."""
    names: dict[str, list[str]] = {}
    for name, algorithm in ALGORITHMS.items():
        names.setdefault(algorithm.observe.__module__, []).append(name)
    found = []
    for module, known in names.items():
        file = Path(getattr(sys.modules.get(module), "__file__", None) or "")
        if not module.startswith("devote.") and file.is_file():
            source = file.read_text(encoding="utf-8")
            found.append(Home(tuple(known), module, str(file.absolute()), source))
    return tuple(found)


def settle(where: Iterable[Home]) -> None:
    """Make the subroutines of another process known in this one."""
    for home in where:
        before = _settled.get(home.module)
        # Either this text is here already, or this process has imported the names by itself.
        if before == home.digest or (before is None and set(home.names) <= set(ALGORITHMS)):
            continue
        for known in home.names:
            ALGORITHMS.pop(known, None)
        sys.modules.pop(home.module, None)
        path = Path(home.file)
        # A script is not run again: it is imported under the name of its file.
        name = path.stem if home.module in ("__main__", "__mp_main__") else home.module
        if "." in name:
            import_rules(name)
        else:
            if not path.is_file() or path.read_text(encoding="utf-8") != home.source:
                path = _own_folder() / home.digest / path.name
                path.parent.mkdir(exist_ok=True)
                path.write_text(home.source, encoding="utf-8")
            _import_file(path, name)
        _settled[home.module] = home.digest


@cache
def _own_folder() -> Path:
    """A folder of this process alone, for texts that came without their file."""
    import atexit
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="devote-rules-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _import_file(path: Path, name: str) -> ModuleType:
    """Import a file under a name, or another one where that is taken."""
    file = path.absolute()
    if not file.is_file():
        raise AlgorithmError(f"{path} is not a file.\nName a Python file with a subroutine.")
    if name in sys.modules:
        if getattr(sys.modules[name], "__file__", None) == str(file):
            return _with_algorithm(sys.modules[name])
        name = f"devote_rule_{name}"
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        if isinstance(error, AlgorithmError):
            raise
        from traceback import extract_tb

        lines = [at.lineno for at in extract_tb(error.__traceback__) if at.filename == str(file)]
        line = lines[-1] if lines else getattr(error, "lineno", None) or 1
        raise AlgorithmError(
            f"{path.name}:{line}: {type(error).__name__}: {error}\nCorrect the file."
        ) from error
    return _with_algorithm(module)
