"""What is wrong with a subroutine, and where."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from devote.rules.registry import AlgorithmError
from devote.simulator.checking.watched import Broken

ALLOWED = "Use indexing, len, range, math and functions of this kind only."


class AlgorithmFault(AlgorithmError):
    """What is wrong with a subroutine; ``file`` and ``line`` say where."""

    def __init__(self, file: str, line: int, what: str, remedy: str) -> None:
        super().__init__(f"{Path(file).name}:{line}: {what}\n{remedy}")
        self.file, self.line = file, line


def fault(function: Callable[..., Any], what: str, remedy: str, line: int = 0) -> AlgorithmFault:
    """A fault of a function: at its first line, or at the one given."""
    code = inspect.unwrap(function).__code__
    return AlgorithmFault(code.co_filename, line or code.co_firstlineno, what, remedy)


def call(function: Any, *arguments: Any) -> Any:
    """Call a function of the rule; what goes wrong in it is a fault at its line."""
    try:
        return function(*arguments)
    except AlgorithmError:
        raise
    except Exception as error:
        file, line = function.__code__.co_filename, function.__code__.co_firstlineno
        step = error.__traceback__
        while step is not None:
            if step.tb_frame.f_code.co_filename == file:
                line = step.tb_lineno
            step = step.tb_next
        if isinstance(error, Broken):
            raise AlgorithmFault(file, line, error.what, error.remedy) from None
        what = f"{function.__name__} raised {type(error).__name__}: {error}."
        raise AlgorithmFault(file, line, what, ALLOWED) from error
