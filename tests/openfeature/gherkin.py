"""A small reader of Gherkin: scenarios with their examples, and steps as regular expressions."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

KEYWORDS = r"(?:Given|When|Then|And|But) "


@dataclass(frozen=True)
class Scenario:
    """One row of a scenario's examples, with the steps as they read for it."""

    name: str
    steps: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


def scenarios(path: Path) -> Iterator[Scenario]:
    """The scenarios of a file, those of its background first."""
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    lines = [line for line in lines if line and line[0] not in "#@"]
    heads = r"(Background|Scenario(?: Outline)?): ?(.*)"
    starts = [number for number, line in enumerate(lines) if re.fullmatch(heads, line)]
    background: list[str] = []
    for start, end in pairwise([*starts, len(lines)]):
        kind, name = re.fullmatch(heads, lines[start]).groups()
        steps = [re.sub(KEYWORDS, "", line, count=1) for line in lines[start:end] if _is_step(line)]
        if kind == "Background":
            background = steps
            continue
        for row in _examples(lines[start:end]) or [{}]:
            told = [_filled(step, row) for step in (*background, *steps)]
            yield Scenario(", ".join([name, *row.values()]), tuple(told))


def _is_step(line: str) -> bool:
    return re.match(KEYWORDS, line) is not None


def _examples(lines: list[str]) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = []
    names: list[str] | None = None
    for line in lines:
        if line.startswith("Examples"):
            names = None
        elif line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if names is None:
                names = cells
            else:
                rows.append(dict(zip(names, cells, strict=True)))
    return rows


def _filled(step: str, row: dict[str, str]) -> str:
    for name, value in row.items():
        step = step.replace(f"<{name}>", value)
    return step


class Steps:
    """What each step does: functions of a world, by the words of the step."""

    def __init__(self) -> None:
        self._known: list[tuple[str, Callable[..., object]]] = []

    def __call__(self, words: str) -> Callable[[Any], Any]:
        def note(function: Any) -> Any:
            self._known.append((words, function))
            return function

        return note

    def run(self, scenario: Scenario, world: Any) -> None:
        for step in scenario.steps:
            found = [(re.fullmatch(words, step), do) for words, do in self._known]
            ((match, do),) = [(match, do) for match, do in found if match]
            do(world, *match.groups())
