"""The append-only file of a sweep: a header, then one line of JSON per finished trial.

A line is whole when it ends in a newline and its checksum fits. Only the last one can be cut
off, by a kill in mid-write; its trial is run again. Anything else that does not fit is damage,
and the file is refused rather than mended. Lines come in the order in which trials ended.
"""

import hashlib
import json
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from devote.simulate.engine.compiling import sources_digest
from devote.simulate.errors import ResultError
from devote.simulate.result import COLUMNS, FORMAT, JUDGEMENTS, Result, check_format, versions
from devote.simulate.scenario import Scenario
from devote.simulate.trial import NEVER, STATUSES, Trial

KIND = "devote sweep"

Done = dict[tuple[int, int], Trial]
"""Finished trials by (cell, trial)."""


@dataclass(frozen=True)
class Header:
    """What a results file is of."""

    cells: tuple[Scenario, ...]
    trials: int
    seed: int

    def to_line(self) -> bytes:
        """The first line of the file."""
        head = {"kind": KIND, "format": FORMAT, "fingerprint": self.fingerprint()}
        return _line({**head, "versions": versions(), **self._plan()})

    def fingerprint(self) -> str:
        """A digest of what decides the results: the plan, and the code that runs it."""
        sources = sources_digest({cell.spec.algorithm for cell in self.cells})
        text = json.dumps([self._plan(), sources], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _plan(self) -> dict[str, Any]:
        cells = [cell.to_dict() for cell in self.cells]
        return {"trials": self.trials, "seed": self.seed, "cells": cells}


class ResultsFile:
    """A results file open for appending, by one process at a time."""

    def __init__(self, path: str | Path, header: Header) -> None:
        """Open or create the file and read what is in it; refuse one of another sweep."""
        self.path = Path(path)
        self.done: Done = {}
        try:
            self._file: BinaryIO = self.path.open("a+b", buffering=0)
        except OSError as error:
            raise ResultError(
                f"{path} cannot be written ({error.strerror}).\nName a file in a writable folder."
            ) from None
        try:
            _lock(self._file, self.path)
            self._take_up(header)
        except BaseException:
            self._file.close()
            raise

    def _take_up(self, header: Header) -> None:
        self._file.seek(0)
        content = self._file.read()
        first = header.to_line()
        if b"\n" not in content and first.startswith(content):
            # New, or killed while the header was being written.
            self._file.truncate(0)
            self._append(first)
            return
        head, lines = _read_lines(self.path, content)
        if head["fingerprint"] != header.fingerprint():
            raise ResultError(
                f"{self.path.name} holds another sweep: its cells, number of trials, seed or code "
                "differ.\nName another file, or remove this one to start anew."
            )
        self.done = _read_trials(self.path, lines, header)
        self._file.truncate(content.rfind(b"\n") + 1)

    def add(self, cell: int, trial: int, run: Trial) -> None:
        """Write down a finished trial."""
        self._append(_line({"cell": cell, "trial": trial, **_trial_to_dict(run)}))

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


def load_results(path: str | Path) -> list[Result]:
    """The results of a finished sweep, one per cell, from its file."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ResultError(f"{path} cannot be read ({error.strerror}).\nName a file.") from None
    head, lines = _read_lines(Path(path), content)
    cells = tuple(Scenario.from_dict(cell) for cell in head["cells"])
    header = Header(cells, head["trials"], head["seed"])
    done = _read_trials(Path(path), lines, header)
    total = len(header.cells) * header.trials
    if len(done) < total:
        raise ResultError(
            f"{Path(path).name} holds {len(done)} of {total} trials.\n"
            "Run the same sweep again with this file: it goes on where it stopped."
        )
    return gather(header, done, head["versions"])


def gather(header: Header, done: Done, made_with: dict[str, str] | None = None) -> list[Result]:
    """One result per cell, its trials in order."""
    return [
        Result.of(
            cell,
            [done[i, trial] for trial in range(header.trials)],
            seed=header.seed,
            made_with=made_with,
        )
        for i, cell in enumerate(header.cells)
    ]


def _line(values: dict[str, Any]) -> bytes:
    text = json.dumps(values, separators=(",", ":"))
    return f'{text[:-1]},"crc":{zlib.crc32(text.encode())}}}\n'.encode()


def _parse(line: bytes) -> dict[str, Any] | None:
    """The values of a whole line, None for anything else."""
    text, mark, crc = line.rpartition(b',"crc":')
    if not mark or crc != b"%d}" % zlib.crc32(text + b"}"):
        return None
    values: dict[str, Any] = json.loads(text + b"}")
    return values


def _damaged(path: Path, number: int) -> ResultError:
    return ResultError(
        f"{path.name} is damaged at line {number}, or is not a file of results.\n"
        "Restore it from a copy, or remove it to start anew."
    )


def _read_lines(path: Path, content: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """The values of the first line, and the other whole lines as they are."""
    first, *lines = content.split(b"\n")
    head = _parse(first)
    if not lines or head is None or head.get("kind") != KIND:
        raise _damaged(path, 1)
    check_format(path.name, head["format"])
    return head, lines[:-1]


def _read_trials(path: Path, lines: Sequence[bytes], header: Header) -> Done:
    done: Done = {}
    for number, line in enumerate(lines, start=2):
        values = _parse(line)
        if values is None:
            raise _damaged(path, number)
        done[values["cell"], values["trial"]] = _trial_from_dict(
            values, header.cells[values["cell"]].n_players
        )
    return done


def _trial_to_dict(run: Trial) -> dict[str, Any]:
    return {
        **{name: getattr(run, name) for name in (*COLUMNS, *JUDGEMENTS)},
        "status": run.status,
        "winners": run.winners,
        # Few of many players ever vote: pairs of who and when.
        "first_vote": [[n, pulls] for n, pulls in enumerate(run.first_vote) if pulls != NEVER],
    }


def _trial_from_dict(values: dict[str, Any], n_players: int) -> Trial:
    first_vote = [NEVER] * n_players
    for n, pulls in values["first_vote"]:
        first_vote[n] = pulls
    return Trial(
        **{name: values.get(name, NEVER) for name in COLUMNS},
        epsilon_optimal=values["epsilon_optimal"],
        holds_epsilon_optimal=values.get("holds_epsilon_optimal", values["epsilon_optimal"]),
        status=STATUSES[STATUSES.index(values["status"])],
        winners=tuple(values["winners"]),
        first_vote=tuple(first_vote),
    )


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
