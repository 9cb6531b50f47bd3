"""Lists that watch how a subroutine uses them, and refuse what an array would not survive.

Compiled code checks no index: a write past the words that a rule asked for goes into another
player's memory. A whole number in an array stays one, whatever is written.
"""

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from devote.rules import COUNT, Algorithm, State, start

OWN = {
    "ints": "Ask for more words: n_ints=lambda n_arms: ..., counting word 0, which is taken.",
    "floats": "Ask for more words: n_floats=...",
    "out": "Write each dropped arm once.",
}


class Broken(Exception):
    """A rule has been broken: what, and what to do about it."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.what, self.remedy = what, remedy


class Watched(list[Any]):
    """One buffer of a state."""

    def __init__(self, name: str, values: list[Any]) -> None:
        super().__init__(values)
        self.name = name
        self.whole = name not in ("sums", "floats")
        self.trail: list[tuple[str, int]] = []

    def _check(self, verb: str, index: Any) -> None:
        if isinstance(index, bool) or not isinstance(index, int):
            raise Broken(
                f"{self.name}[{index!r}] is {verb}, and that is not a whole number.",
                "Index by whole numbers; no slices.",
            )
        if not 0 <= index < len(self):
            raise Broken(
                f"{self.name}[{index}] is {verb}, but {self.name} has {len(self)} words.",
                OWN.get(self.name, "Index by arm, from 0 on."),
            )

    def __getitem__(self, index: Any) -> Any:
        self._check("read", index)
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._check("written", index)
        if self.whole and not isinstance(value, int):
            raise Broken(
                f"{self.name}[{index}] is set to {value!r}, and an array would keep "
                f"{int(value)}: lists and arrays would differ.",
                "Keep such numbers in floats (n_floats=...), or make them whole with int().",
            )
        if self.name == "alive" and not value and sum(map(bool, self)) == 1 and self[index]:
            raise Broken(
                f"arm {index} is taken out, and it is the last one.",
                "Keep at least one arm: the best so far.",
            )
        if self.name == "ints" and index == COUNT:
            self.trail = [(at.f_code.co_filename, at.f_lineno) for at in _callers()]
        super().__setitem__(index, value)


def _callers() -> Iterator[FrameType]:
    """Who writes, the innermost first."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back


def watched_state(algorithm: Algorithm, n_arms: int) -> State:
    """A fresh state of watched lists."""
    fresh = algorithm.new_state(n_arms)._asdict()
    state = State(**{name: Watched(name, list(values)) for name, values in fresh.items()})
    start(state)
    return state
