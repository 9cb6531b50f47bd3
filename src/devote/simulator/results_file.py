"""The append-only file of results: what was asked for, then a line for each block of trials.

Lines are JSON with a checksum, of three kinds:

* the first names the format, the seed and the versions that made it;
* a cell: its number, its scenario, how many trials are asked of it, and a digest of its rule's
  code. A sweep that grows adds lines for new cells, and lines with more trials for old ones;
* a block: the numbers of some trials of one cell that ended together, and a column for each of
  ``block.KINDS``: the bytes of its numbers, the lowest first, compressed, in base 64.

A line is whole when it ends in a newline and its checksum fits. Only the last one can be cut off,
by a kill in mid-write; its trials are run again. Anything else that does not fit is damage, and the
file is refused rather than mended. Lines come in the order in which blocks ended.
"""

import json
import os
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from devote.rules import Algorithm, get_algorithm
from devote.rules.algorithm import ALGORITHMS, AlgorithmError
from devote.simulator.block import KINDS, TABLES, Block
from devote.simulator.compiling import code_key
from devote.simulator.errors import ResultError
from devote.simulator.results import Result, Results, versions
from devote.simulator.scenario import Scenario
from devote.simulator.trial import Event, Point, Record

KIND, FORMAT = "devote results", 7

Numbers = NDArray[np.int64]
"""Which trials the rows of a block are."""


def to_line(values: dict[str, Any]) -> bytes:
    """A whole line."""
    text = json.dumps(values, separators=(",", ":")).encode()
    return b'%b,"crc":%d}\n' % (text[:-1], zlib.crc32(text))


def from_line(line: bytes) -> dict[str, Any] | None:
    """The values of a whole line, None for anything else."""
    text, mark, crc = line.rpartition(b',"crc":')
    if not mark or crc != b"%d}" % zlib.crc32(text + b"}"):
        return None
    values: dict[str, Any] = json.loads(text + b"}")
    return values


def block_to_dict(block: Block) -> dict[str, Any]:
    """A block as JSON values; traces and records only where there are some."""
    values: dict[str, Any] = {}
    for name, kind in KINDS.items():
        content = getattr(block, name).astype(np.dtype(kind).newbyteorder("<")).tobytes()
        values[name] = b64encode(zlib.compress(content, 1)).decode()
    for name in ("traces", "records"):
        if any(kept is not None for kept in getattr(block, name)):
            values[name] = getattr(block, name)
    return values


def block_from_dict(values: dict[str, Any], n: int) -> Block:
    """The block of a line, of n trials."""
    columns: dict[str, Any] = {}
    for name, kind in KINDS.items():
        content = zlib.decompress(b64decode(values[name]))
        column = np.frombuffer(content, np.dtype(kind).newbyteorder("<")).astype(kind)
        columns[name] = column.reshape(n, -1) if name in TABLES else column
    traces = values.get("traces", [None] * n)
    records = values.get("records", [None] * n)
    return Block(
        **columns,
        traces=tuple(one and tuple(Event(*event) for event in one) for one in traces),
        records=tuple(one and _record(*one) for one in records),
    )


def _record(points: Any, arms: Any, players: Any, groups: Any) -> Record:
    everybody, *each = (tuple(Point(*point) for point in some) for some in (points, *groups))
    return Record(everybody, tuple(arms), tuple(players), tuple(each))


@dataclass
class Cell:
    """One scenario of a file: how many trials are asked of it, and the blocks that there are."""

    number: int
    scenario: dict[str, Any]
    source: str
    trials: int = 0
    blocks: list[tuple[Numbers, Block]] = field(default_factory=list)

    def to_line(self, numbers: Numbers, block: Block) -> bytes:
        """The line of some of its trials."""
        return to_line({"cell": self.number, "trial": numbers.tolist(), **block_to_dict(block)})


def join_blocks(blocks: Sequence[tuple[Numbers, Block]]) -> tuple[Numbers, Block]:
    """All trials of some blocks, at least one, in order; of one that came twice, the last."""
    numbers = np.concatenate([trials for trials, _ in blocks])
    block = Block.join([block for _, block in blocks])
    if (np.diff(numbers) > 0).all():
        return numbers, block
    unique, last = np.unique(numbers[::-1], return_index=True)
    return unique, block.take(len(numbers) - 1 - last)


class Contents:
    """What a file holds: its seed, the versions that made it, and its cells by scenario."""

    def __init__(self, seed: int, made_with: dict[str, str]) -> None:
        self.seed, self.versions = seed, made_with
        self.cells: dict[str, Cell] = {}

    def header(self) -> bytes:
        """The first line."""
        return to_line(
            {"kind": KIND, "format": FORMAT, "seed": self.seed, "versions": self.versions}
        )

    @classmethod
    def read(cls, path: Path, content: bytes) -> "Contents":
        """All whole lines; what comes after the last newline was cut off."""
        first, *lines = content.split(b"\n")
        head = from_line(first)
        if not lines or head is None or head.get("kind") != KIND:
            raise _damaged(path, 1)
        if head["format"] != FORMAT:
            raise ResultError(
                f"{path.name} has format {head['format']}, not {FORMAT}.\n"
                "Read it with the version of devote that wrote it."
            )
        found = cls(head["seed"], head["versions"])
        for number, line in enumerate(lines[:-1], start=2):
            values = from_line(line)
            if values is None:
                raise _damaged(path, number)
            if "scenario" in values:
                found.ask(values["scenario"], values["source"], values["trials"])
            else:
                numbers = np.array(values["trial"], dtype=np.int64)
                cell = list(found.cells.values())[values["cell"]]
                cell.blocks.append((numbers, block_from_dict(values, len(numbers))))
        return found

    def ask(self, scenario: dict[str, Any], source: str, trials: int) -> tuple[Cell, bytes]:
        """Ask for trials: their cell, and the line that says so if that is new."""
        new = Cell(len(self.cells), scenario, source)
        cell = self.cells.setdefault(json.dumps(scenario, sort_keys=True), new)
        if trials <= cell.trials:
            return cell, b""
        cell.trials = trials
        asked = {"scenario": scenario, "source": source, "trials": trials}
        return cell, to_line({"cell": cell.number, **asked})


def _sources(scenarios: Sequence[Scenario]) -> dict[str, str]:
    """A digest of the code behind each rule: trials made by another are not mixed in."""
    rules = {scenario.spec.algorithm: scenario.algorithm for scenario in scenarios}
    return {name: code_key(algorithm) for name, algorithm in rules.items()}


class ResultsFile:
    """A results file open for appending, by one process at a time."""

    def __init__(
        self, path: str | Path, scenarios: Sequence[Scenario], trials: Sequence[int], seed: int
    ) -> None:
        """Open or create the file and ask for trials of scenarios; refuse one of another sweep."""
        self.path = Path(path)
        try:
            self._file: BinaryIO = self.path.open("a+b", buffering=0)
        except OSError as error:
            raise ResultError(
                f"{path} cannot be written ({error.strerror}).\nName a file in a writable folder."
            ) from None
        try:
            _lock(self._file, self.path)
            self._file.seek(0)
            content = self._file.read()
            first = Contents(seed, versions()).header()
            if b"\n" not in content and first.startswith(content):
                # New, or killed while the first line was being written.
                self._file.truncate(0)
                self._append(first)
                content = first
            found = Contents.read(self.path, content)
            sources = _sources(scenarios)
            self._check_same(found, sources, seed)
            self._file.truncate(content.rfind(b"\n") + 1)
            self._cells = []
            for scenario, most in zip(scenarios, trials, strict=True):
                source = sources[scenario.spec.algorithm]
                cell, line = found.ask(scenario.to_dict(), source, most)
                self._cells.append(cell)
                self._append(line)
        except BaseException:
            self.close()
            raise

    def _check_same(self, found: Contents, sources: dict[str, str], seed: int) -> None:
        """Refuse a file of another seed, or of rules whose code has changed since."""
        why = "" if found.seed == seed else f"its seed is {found.seed}, not {seed}"
        for cell in found.cells.values():
            name = cell.scenario["spec"]["algorithm"]
            if cell.source != sources.get(name, cell.source):
                why = f"the code behind {name} differs from today's"
        if why:
            raise ResultError(
                f"{self.path.name} holds another sweep: {why}.\n"
                "Name another file, or remove this one to start anew."
            )

    def blocks(self, i: int) -> list[tuple[Numbers, Block]]:
        """The blocks of the i-th scenario that were in the file when it was opened."""
        return self._cells[i].blocks

    def add(self, i: int, trials: Sequence[int], block: Block) -> None:
        """Write down finished trials of the i-th scenario."""
        self._append(self._cells[i].to_line(np.asarray(trials), block))

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


def file_of(results: Sequence[Result]) -> bytes:
    """The content of a file with results, which have one seed."""
    seeds = sorted({result.seed for result in results})
    if len(seeds) != 1:
        raise ResultError(f"A file has one seed, not {seeds}.\nSave one file for each seed.")
    contents = Contents(seeds[0], results[0].versions)
    lines, sources = [contents.header()], _sources([result.scenario for result in results])
    for result in results:
        spec, scenario = result.spec, result.scenario.to_dict()
        cell, line = contents.ask(scenario, sources[spec.algorithm], result.trials)
        lines += [line, cell.to_line(np.arange(result.trials), result) if result.trials else b""]
    return b"".join(lines)


def load_results(path: str | Path, *, partial: bool = False) -> Results:
    """The results in a file, one per scenario; a rule that is not known here is only named.

    With ``partial`` an unfinished sweep is read as far as it goes: of each scenario the trials 0,
    1, ... before the first that is missing.
    """
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ResultError(f"{path} cannot be read ({error.strerror}).\nName a file.") from None
    found = Contents.read(path, content)
    there, results = 0, Results()
    for cell in found.cells.values():
        with _rule_by_name(cell.scenario["spec"]):
            scenario = Scenario.from_dict(cell.scenario)
        block = Block.from_trials([], scenario.spec.n_arms, scenario.n_players)
        if cell.blocks:
            numbers, block = join_blocks(cell.blocks)
            there += int((numbers < cell.trials).sum())
            in_order = numbers == np.arange(len(numbers))
            block = block[: min(cell.trials, int(in_order.sum()))]
        results.append(Result.of(scenario, block, seed=found.seed, made_with=found.versions))
    total = sum(cell.trials for cell in found.cells.values())
    if there < total and not partial:
        raise ResultError(
            f"{path.name} holds {there} of {total} trials.\n"
            "Run the same sweep again with this file: it goes on where it stopped. "
            "Or load what is there with partial=True."
        )
    return results


@contextmanager
def _rule_by_name(spec: dict[str, Any]) -> Iterator[None]:
    """Within it, the rule of a specification is known, if only by name: its numbers can be read."""
    name = spec["algorithm"]
    try:
        get_algorithm(name)
    except AlgorithmError:
        options: Any = {
            key: ("", value) if isinstance(value, str) else 0.5 * value
            for key, value in spec["options"].items()
        }
        named = name, "not known here", "a file of results", _not_known, _not_known
        ALGORITHMS[name] = Algorithm(*named, options=options, tolerates_liars=True)
        try:
            yield
        finally:
            del ALGORITHMS[name]
    else:
        yield


def _not_known(*arguments: Any) -> NoReturn:
    raise AlgorithmError("This rule is not known here.\nImport its file first.")


def _damaged(path: Path, number: int) -> ResultError:
    return ResultError(
        f"{path.name} is damaged at line {number}, or is not a file of results.\n"
        "Restore it from a copy, or remove it to start anew."
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
