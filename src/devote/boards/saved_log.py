"""A copy of a log in a file of JSON lines, which can be verified again without its server.

The first line has the experiment. Then come the enrolled voters, what the server told, the
messages as the server gave them, and last how many there were and their head: a copy without its
last line was cut off.
"""

import json
import os
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, get_args

from devote.boards.board import BoardRefused
from devote.boards.experiment import Experiment
from devote.boards.logs import Form, Log, Remembered, Told
from devote.errors import DevoteError
from devote.protocol import Message, ProtocolError, SpecError
from devote.protocol.messages import from_dict, parse_json

FORMAT = 2


class SavedLog(AbstractContextManager["SavedLog"]):
    """The copy at ``path``; its messages can be read once."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file: IO[str] = self.path.open(encoding="utf-8")
        try:
            self._open()
        except BaseException:
            self._file.close()
            raise

    def _open(self) -> None:
        first = self._line()
        try:
            if first["devote"] != "log" or first["format"] != FORMAT:
                raise ValueError("another kind of file")
            self.experiment = Experiment.from_dict(first["experiment"])
            self.number = int(first["number"])
            self.voters: Collection[str] = {
                str(self._line()["voter"]) for _ in range(first["voters"])
            }
            self.told = tuple(_told(self._line()) for _ in range(first["told"]))
        except SpecError as error:
            raise BoardRefused(f"What {self.path} holds is refused: {error}") from None
        except (KeyError, TypeError, ValueError):
            raise self._not_ours() from None

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def items(self) -> Iterator[Any]:
        """The messages as JSON values."""
        while True:
            line = self._line()
            try:
                yield line["item"]
            except (KeyError, TypeError):
                self._end = line
                return

    def told_last(self) -> Collection[Told]:
        """How many messages there were, and their head."""
        try:
            number, head = int(self._end["end"]), self._end["head"]
            return (Told("head", number, {"head": head}, self.path.name),)
        except (KeyError, TypeError, ValueError):
            raise self._not_ours() from None

    def remembered(self) -> Remembered:
        """What the copy says to have been on the board."""
        return Remembered(self.path.name, self.experiment.scope, self._messages(), self.voters)

    def _messages(self) -> Iterator[tuple[int | None, Message]]:
        for item in self.items():
            try:
                yield int(item["number"]), from_dict(item["message"], self.experiment.spec.n_arms)
            except (ProtocolError, KeyError, TypeError, ValueError):
                continue  # it was wrong when it was saved

    def _line(self) -> Any:
        try:
            text = self._file.readline()
            if text.endswith("\n"):
                return parse_json(text)
        except ValueError:
            raise self._not_ours() from None
        raise DevoteError(
            f"{self.path} ends before its last line: it was cut off.\nSave the log again."
        )

    def _not_ours(self) -> DevoteError:
        return DevoteError(
            f"{self.path} is not a saved log of this version.\n"
            "Save one with `devote verify URL --save FILE`."
        )


def _told(line: dict[str, Any]) -> Told:
    told = Told(**line)
    forms: tuple[str, ...] = get_args(Form)
    if told.form not in forms or type(told.number) is not int or not isinstance(told.values, dict):
        raise ValueError("another type")
    return told


class LogCopy(AbstractContextManager["LogCopy"]):
    """A copy of a log that is being read; the file appears at ``path`` once it is whole."""

    def __init__(self, path: str | Path, log: Log) -> None:
        self._target = Path(path)
        self._partial = self._target.with_name(f"{self._target.name}.{os.getpid()}.partial")
        self._file = self._partial.open("w", encoding="utf-8")
        counts = {"number": log.number, "voters": len(log.voters), "told": len(log.told)}
        experiment = log.experiment.to_dict()
        self._write({"devote": "log", "format": FORMAT, **counts, "experiment": experiment})
        for voter in sorted(log.voters):
            self._write({"voter": voter})
        for told in log.told:
            self._write(asdict(told))

    def keep(self, item: Any) -> None:
        """Write down the next message."""
        self._write({"item": item})

    def end(self, number: int, head: str | None) -> None:
        """Write down the last message's number and the head, and put the file in its place."""
        self._write({"end": number, "head": head})
        self._file.flush()
        os.fsync(self._file.fileno())
        self._partial.replace(self._target)

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._partial.unlink(missing_ok=True)

    def _write(self, value: Any) -> None:
        self._file.write(json.dumps(value, separators=(",", ":")) + "\n")
