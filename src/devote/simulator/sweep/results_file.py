"""The append-only file of a sweep: what was asked for, then a line for each block of trials.

Lines are JSON.

The first line names the seed, the cells and the number of trials. A sweep that grows adds a line
with its new cells and how many trials of which cells are wanted now; cells keep their numbers.

A block is some trials of one cell that ended together, by column (``lines``): a chunk of a worker,
or all that a device ran at once. Its line says which ``trial`` each row is.

A line is whole when it ends in a newline and its checksum fits. Only the last one can be cut
off, by a kill in mid-write; its trials are run again. Anything else that does not fit is damage,
and the file is refused rather than mended. Lines come in the order in which blocks ended.
"""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from devote.rules import get_algorithm
from devote.simulator.block import Block
from devote.simulator.compiling import code_key
from devote.simulator.errors import ResultError
from devote.simulator.result import FORMAT, Result, check_format, versions
from devote.simulator.results import Results
from devote.simulator.scenario import Scenario
from devote.simulator.sweep.lines import (
    block_from_dict,
    block_to_dict,
    from_line,
    pack,
    to_line,
    unpack,
)
from devote.simulator.sweep.pieces import Numbers, Pieces

KIND = "devote sweep"
GROWN = "grown"


@dataclass(frozen=True)
class Header:
    """What is asked for: trials 0, 1, ... of each cell, with their records or without."""

    cells: tuple[Scenario, ...]
    trials: int
    seed: int
    record: bool = False


@dataclass
class Contents:
    """What a file holds: its cells, how many trials were asked of each, and those done."""

    seed: int
    versions: dict[str, str]
    cells: list[dict[str, Any]] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    done: Pieces = field(default_factory=Pieces)

    def grow(self, header: Header) -> tuple[list[int], dict[str, Any]]:
        """The numbers of the cells that are asked for, and the line that adds what is new."""
        known = {_key(cell): i for i, cell in enumerate(self.cells)}
        places, new = [], []
        for cell in header.cells:
            values = cell.to_dict()
            place = known.setdefault(_key(values), len(self.cells))
            if place == len(self.cells):
                self.cells.append(values)
                self.asked.append(0)
                new.append(values)
            places.append(place)
        more = sorted({place for place in places if self.asked[place] < header.trials})
        line = {"cells": new, "ask": more, "trials": header.trials}
        return places, {**line, "sources": _sources(header)} if more else {}

    def take(self, values: dict[str, Any]) -> None:
        """Take in a line: a block of trials, or what was asked for later."""
        if "trial" in values:
            cell, trial = values["cell"], values["trial"]
            shape = len(self.cells[cell]["problem"]["means"]), self.cells[cell]["n_players"]
            self.done.add(cell, unpack(trial, np.int64), block_from_dict(values, *shape))
            return
        self.cells += values["cells"]
        self.asked += [0] * len(values["cells"])
        for place in values["ask"]:
            self.asked[place] = max(self.asked[place], values["trials"])
        self.sources |= values.get("sources", {})


class ResultsFile:
    """A results file open for appending, by one process at a time."""

    def __init__(self, path: str | Path, header: Header) -> None:
        """Open or create the file and read what is in it; refuse one of another sweep.

        ``done`` has the trials that are asked for and there.
        """
        self.path = Path(path)
        try:
            self._file: BinaryIO = self.path.open("a+b", buffering=0)
        except OSError as error:
            raise ResultError(
                f"{path} cannot be written ({error.strerror}).\nName a file in a writable folder."
            ) from None
        try:
            _lock(self._file, self.path)
            contents = self._take_up(header)
        except BaseException:
            self._file.close()
            raise
        self.done = Pieces()
        for i, (place, cell) in enumerate(zip(self._places, header.cells, strict=True)):
            numbers, block = contents.done.of(place, cell)
            asked = numbers < header.trials
            if header.record:
                kept = block.records or (None,) * len(block)
                asked &= np.array([record is not None for record in kept], dtype=np.bool_)
            if asked.any():
                self.done.add(i, numbers[asked], block.take(np.flatnonzero(asked)))

    def _take_up(self, header: Header) -> Contents:
        self._file.seek(0)
        content = self._file.read()
        first = _first_line(header)
        if b"\n" not in content and first.startswith(content):
            # New, or killed while the header was being written.
            self._file.truncate(0)
            self._append(first)
            content = first
        contents = _read(self.path, content)
        _check_same(self.path, contents, header)
        self._file.truncate(content.rfind(b"\n") + 1)
        self._places, line = contents.grow(header)
        if line:
            self._append(to_line({"kind": GROWN, **line}))
        return contents

    def add(self, cell: int, trials: Numbers, block: Block) -> None:
        """Write down finished trials."""
        place = {"cell": self._places[cell], "trial": pack(trials)}
        self._append(to_line({**place, **block_to_dict(block)}))

    def _append(self, line: bytes) -> None:
        try:
            # Unbuffered: what add() has returned from survives a kill of this process.
            while line:
                line = line[self._file.write(line) :]
        except OSError as error:
            raise ResultError(
                f"{self.path} cannot be written ({error.strerror}).\n"
                "Make room and run the sweep again: it goes on where it stopped."
            ) from None

    def close(self) -> None:
        """Close the file and let others have it."""
        self._file.close()


def load_results(path: str | Path, *, partial: bool = False) -> Results:
    """The results of a sweep, one per cell, from its file.

    With ``partial`` an unfinished sweep is read as far as it goes: of each cell the trials 0, 1,
    ... before the first that is missing.
    """
    name = Path(path).name
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ResultError(f"{path} cannot be read ({error.strerror}).\nName a file.") from None
    found = _read(Path(path), content)
    total, there = sum(found.asked), 0
    results = Results()
    for i, cell in enumerate(found.cells):
        scenario = Scenario.from_dict(cell)
        numbers, block = found.done.of(i, scenario)
        numbers = numbers[numbers < found.asked[i]]
        there += len(numbers)
        first = block[: int((numbers == np.arange(len(numbers))).sum())]
        results.append(Result.of(scenario, first, seed=found.seed, made_with=found.versions))
    if there < total and not partial:
        raise ResultError(
            f"{name} holds {there} of {total} trials.\n"
            "Run the same sweep again with this file: it goes on where it stopped. "
            "Or load what is there with partial=True."
        )
    return results


def gather(header: Header, done: Pieces) -> Results:
    """One result per cell, its trials in order."""
    return Results(
        Result.of(cell, done.of(i, cell)[1], seed=header.seed)
        for i, cell in enumerate(header.cells)
    )


def _first_line(header: Header) -> bytes:
    cells = [cell.to_dict() for cell in header.cells]
    plan = {"trials": header.trials, "seed": header.seed, "cells": cells}
    head = {"kind": KIND, "format": FORMAT, "sources": _sources(header), "versions": versions()}
    return to_line({**head, **plan})


def _sources(header: Header) -> dict[str, str]:
    """A digest of the code behind each subroutine: trials made by another are not mixed in."""
    return {
        name: code_key(get_algorithm(name)) for name in {c.spec.algorithm for c in header.cells}
    }


def _check_same(path: Path, contents: Contents, header: Header) -> None:
    why = ""
    if contents.seed != header.seed:
        why = f"its seed is {contents.seed}, not {header.seed}"
    else:
        today = _sources(header)
        for name in sorted(today.keys() & contents.sources.keys()):
            if today[name] != contents.sources[name]:
                why = f"the code behind {name} differs from today's"
    if why:
        raise ResultError(
            f"{path.name} holds another sweep: {why}.\n"
            "Name another file, or remove this one to start anew."
        )


def _key(cell: dict[str, Any]) -> str:
    return json.dumps(cell, sort_keys=True)


def _damaged(path: Path, number: int) -> ResultError:
    return ResultError(
        f"{path.name} is damaged at line {number}, or is not a file of results.\n"
        "Restore it from a copy, or remove it to start anew."
    )


def _read(path: Path, content: bytes) -> Contents:
    """All whole lines; what comes after the last newline was cut off."""
    first, *lines = content.split(b"\n")
    head = from_line(first)
    if not lines or head is None or head.get("kind") != KIND:
        raise _damaged(path, 1)
    check_format(path.name, head["format"])
    contents = Contents(head["seed"], head["versions"])
    contents.take({"ask": range(len(head["cells"])), **head})
    for number, line in enumerate(lines[:-1], start=2):
        values = from_line(line)
        if values is None:
            raise _damaged(path, number)
        contents.take(values)
    return contents


def _lock(file: BinaryIO, path: Path) -> None:
    """Keep a second sweep off the file while this one runs, where the system has such locks."""
    if os.name != "posix":
        return
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise ResultError(
            f"Another sweep is writing to {path.name}.\nWait for it to end, or name another file."
        ) from None
