"""A log of messages as it is checked: read from a server, or from a file that was saved before.

Beside the messages a log has *statements*: what a server, a file or another reader says that the
messages come to. The head is a chain of digests over the log. Two readers who compare one head have
read the same messages in the same order. No server sends it: a reader computes it, and a device
that was sent one could be identified by it.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Literal, Protocol, TypeAlias, get_args

import httpx

from devote.boards.board import BoardRefused, BoardUnavailable, Envelope, Experiment, is_address
from devote.boards.http import (
    HEADERS,
    fetch,
    no_experiment,
    not_ours,
    parse_answer,
    retry_after,
    trusted,
)
from devote.errors import DevoteError
from devote.protocol import Message, ProtocolError, SpecError
from devote.protocol.messages import Scope, from_dict, parse_json, signed_bytes, to_bytes

Form: TypeAlias = Literal["tally", "page", "head"]

SHOWN = ("heading", "needed", "facts", "progress", "notes")
"""What the page shows as the tally gives it; estimates it shows in thousandths."""

PAGE = 2_000
"""Messages, or voters, that are asked for at once."""

TRIES = 6
"""How often a page is asked for, with pauses that double, before reading is given up."""

FORMAT = 3
"""The version of a saved log."""


@dataclass(frozen=True)
class Statement:
    """What ``source`` says that the messages up to ``number`` come to.

    ``form`` says how ``values`` are to be read: as the public tally, as what the page shows, or
    as the head. ``partial``: a value that is not among them was not given, or not kept.
    """

    form: Form
    number: int
    values: Mapping[str, Any]
    source: str = "the server"
    partial: bool = False


@dataclass(frozen=True)
class Remembered:
    """What ``source`` knows to have been on the board: messages, with their numbers where known.

    ``voters`` are known to have been enrolled, ``scope`` is the board and the specification that
    it knows, and ``statements`` are what the server once sent it.
    """

    source: str
    scope: Scope
    messages: Iterable[tuple[int | None, Message]]
    voters: Iterable[str] = ()
    statements: Iterable[Statement] = ()


class Log(Protocol):
    """Where a log is read from; ``number`` is about how many messages there are.

    ``statements`` were made before the messages were read, ``last_statements`` after them.
    """

    experiment: Experiment
    number: int
    statements: tuple[Statement, ...]
    last_statements: tuple[Statement, ...]

    @property
    def voters(self) -> Collection[str]:
        """All voters who are listed as enrolled."""
        ...

    def items(self) -> Iterator[Any]:
        """The messages as JSON values, in order."""
        ...


def begin_chain(scope: Scope) -> bytes:
    """The head of an empty log."""
    return hashlib.sha256(signed_bytes("log", {}, scope)).digest()


def extend_chain(head: bytes, envelope: Envelope, scope: Scope) -> bytes:
    """The head after one more message: over the head before, what is signed, and the signature."""
    signature = envelope.signature.encode(errors="replace")
    return hashlib.sha256(head + to_bytes(envelope.message, scope) + b" " + signature).digest()


class HttpLog(AbstractContextManager["HttpLog"]):
    """The log of the experiment at ``url``, up to the message that was the last when it was opened.

    Everything that is read is public, unless only bearers of a ``token`` may read the log. The
    server's statements are read before
    the log, and the list of voters after its length is known: so neither can be behind the other
    on an honest server that goes on working. ``progress`` gets how many voters have been read, of
    how many.
    """

    def __init__(
        self,
        url: str,
        client: httpx.Client | None = None,
        *,
        token: str | None = None,
        page: int = PAGE,
        progress: Callable[[int, int, str], None] = lambda done, total, label: None,
    ) -> None:
        self.url = url.rstrip("/")
        self.last_statements: tuple[Statement, ...] = ()
        self._page = page
        self._progress = progress
        self._server, found, self._name = self.url.rpartition("/experiments/")
        if not is_address(self.url) or not found or not self._name or "/" in self._name:
            raise no_experiment(url)
        self._client = client or httpx.Client(headers=HEADERS, timeout=30.0, verify=trusted())
        if token is not None:
            self._client.headers["Authorization"] = f"Bearer {token}"
        self._has_answered = False
        try:
            self._open()
        except BaseException:
            self._client.close()
            raise

    def _open(self) -> None:
        try:
            self.experiment = Experiment.from_dict(self._ask(self.url))
            if self.experiment.name != self._name:
                raise ValueError("another experiment")
            self.statements = tuple(self._read_statements())
            self.number = int(self._ask(f"{self.url}/messages?limit=1")["number"])
        except SpecError as error:
            raise BoardRefused(f"What {self.url} holds is refused: {error}") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise not_ours(self.url) from None

    def __exit__(self, *_: object) -> None:
        self._client.close()

    @cached_property
    def voters(self) -> Collection[str]:
        """All voters who are enrolled."""
        found: set[str] = set()
        after, is_last = "", False
        while not is_last:
            answer = self._ask(f"{self.url}/enrolments?after={after}&limit={self._page}")
            try:
                page, is_last = [str(voter) for voter in answer["voters"]], bool(answer["end"])
                if not after:
                    enrolled = int(answer["enrolled"])
                    self.experiment = replace(self.experiment, enrolled=enrolled)
            except (KeyError, TypeError, ValueError):
                raise not_ours(self.url) from None
            found.update(page)
            self._progress(len(found), max(len(found), self.experiment.enrolled), "voters")
            is_last = is_last or not page or page[-1] <= after  # a list without end
            after = page[-1] if page else after
        return found

    def items(self) -> Iterator[Any]:
        """The messages as JSON values, as the server gives them."""
        last = 0
        while last < self.number:
            limit = min(self._page, self.number - last)
            answer = self._ask(f"{self.url}/messages?after={last}&limit={limit}")
            try:
                page = list(answer["messages"])[:limit]
            except (KeyError, TypeError):
                raise not_ours(self.url) from None
            before, last = last, max(map(_number, page), default=0)
            if last <= before:
                return  # the server has no more, whatever it said
            yield from page

    def _read_statements(self) -> Iterator[Statement]:
        """The public tally, and the page if the server has one."""
        tally = self._ask(f"{self.url}/tally")
        scope = {"board": tally["board"], "fingerprint": tally["fingerprint"]}
        values = {**scope, **tally["tally"]}
        yield Statement("tally", int(tally["number"]), values)
        page = self._ask(f"{self._server}/views/{self._name}", may_lack=True)
        if page is not None:
            counts = [arm["count"] for arm in page["arms"]]
            names = (*SHOWN, "status", "answer", "open", "estimates")
            values = {name: page[name] for name in names if name in page} | {"counts": counts}
            yield Statement("page", int(page["number"]), values, partial=True)

    def _ask(self, url: str, *, may_lack: bool = False) -> Any:
        """What the server answers; asked again after a fault, unless it never answered yet."""
        tries = TRIES if self._has_answered else 1
        for tried in range(1, tries + 1):
            wait = 0.0
            try:
                response, body = fetch(self._client, "GET", url)
            except BoardUnavailable:
                if tried == tries:
                    raise
            else:
                status = response.status_code
                if status < 500 and status != httpx.codes.TOO_MANY_REQUESTS:
                    self._has_answered = True
                    return self._read(response, body, may_lack=may_lack)
                if tried == tries:
                    raise BoardUnavailable(f"{self.url} answered {status}.\nTry again later.")
                wait = retry_after(response.headers.get("Retry-After", ""))
            time.sleep(max(2.0 ** (tried - 2), wait))
        raise AssertionError("tried at least once")

    def _read(self, response: httpx.Response, body: bytes, *, may_lack: bool) -> Any:
        answer = parse_answer(self.url, response, body)
        if response.is_success:
            return answer
        if response.status_code == httpx.codes.NOT_FOUND and may_lack:
            return None
        why = answer.get("error") if isinstance(answer, dict) else None
        raise BoardRefused(f"{self.url} answered {response.status_code}: {str(why)[:500]}")


def _number(item: Any) -> int:
    """An item's number, 0 if it has none."""
    number = item.get("number") if isinstance(item, dict) else None
    return number if isinstance(number, int) else 0


class SavedLog(AbstractContextManager["SavedLog"]):
    """The copy at ``path``; its messages can be read once.

    Its first line has all but the messages, then comes a line for each, and one that ends it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.last_statements: tuple[Statement, ...] = ()
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
            self.voters: Collection[str] = set(map(str, first["voters"]))
            self.statements = tuple(_statement(values) for values in first["statements"])
        except SpecError as error:
            raise BoardRefused(f"What {self.path} holds is refused: {error}") from None
        except (KeyError, TypeError, ValueError):
            raise self._not_ours() from None

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def items(self) -> Iterator[Any]:
        """The messages as JSON values."""
        while "item" in (line := self._line()):
            yield line["item"]
        try:
            number, head = int(line["end"]), line["head"]
        except (KeyError, TypeError, ValueError):
            raise self._not_ours() from None
        self.last_statements = (Statement("head", number, {"head": head}, self.path.name),)

    def remembered(self) -> Remembered:
        """What the copy says to have been on the board."""
        return Remembered(self.path.name, self.experiment.scope, self._messages(), self.voters)

    def _messages(self) -> Iterator[tuple[int | None, Message]]:
        for item in self.items():
            try:
                yield int(item["number"]), from_dict(item["message"], self.experiment.spec.n_arms)
            except (ProtocolError, KeyError, TypeError, ValueError):
                continue  # it was wrong when it was saved

    def _line(self) -> dict[str, Any]:
        try:
            text = self._file.readline()
            line = parse_json(text) if text.endswith("\n") else None
        except ValueError:
            raise self._not_ours() from None
        if line is None:
            raise DevoteError(
                f"{self.path} ends before its last line: it was cut off.\nSave the log again."
            )
        if not isinstance(line, dict):
            raise self._not_ours()
        return line

    def _not_ours(self) -> DevoteError:
        return DevoteError(
            f"{self.path} is not a saved log of this version.\n"
            "Save one with `devote verify URL --save FILE`."
        )


def _statement(values: dict[str, Any]) -> Statement:
    made = Statement(**values)
    if (
        made.form not in get_args(Form)
        or type(made.number) is not int
        or not isinstance(made.values, dict)
    ):
        raise ValueError("another type")
    return made


class LogCopy(AbstractContextManager["LogCopy"]):
    """A copy of a log that is being read; the file appears at ``path`` once it is whole."""

    def __init__(self, path: str | Path, log: Log) -> None:
        self._target = Path(path)
        self._partial = self._target.with_name(f"{self._target.name}.{os.getpid()}.partial")
        self._file = self._partial.open("w", encoding="utf-8")
        first = {
            "devote": "log",
            "format": FORMAT,
            "number": log.number,
            "voters": sorted(log.voters),
            "statements": [asdict(statement) for statement in log.statements],
        }
        self._write({**first, "experiment": log.experiment.to_dict()})

    def keep(self, item: Any) -> None:
        """Write the next message."""
        self._write({"item": item})

    def end(self, number: int, head: str | None) -> None:
        """Write the last message's number and the head, and put the file in its place."""
        self._write({"end": number, "head": head})
        self._file.flush()
        os.fsync(self._file.fileno())
        self._partial.replace(self._target)

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._partial.unlink(missing_ok=True)

    def _write(self, value: Any) -> None:
        self._file.write(json.dumps(value, separators=(",", ":")) + "\n")
