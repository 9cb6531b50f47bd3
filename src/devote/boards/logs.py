"""A log of messages as it is checked: what was told of it, what is remembered of it, its head.

It is read from a server (``HttpLog``), or from a file that was saved before (``SavedLog``).

The head is a chain of digests over the log. Two readers who compare one head have read the same
messages in the same order. No server tells it: a reader works it out, and a device that was told
one could be known again by it.
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
    check_version,
    fetch,
    not_ours,
    retry_after,
    trusted,
    unreachable,
)
from devote.errors import DevoteError
from devote.protocol import Message, ProtocolError, SpecError
from devote.protocol.messages import from_dict, parse_json, to_bytes
from devote.protocol.wire import Scope, signed_bytes

Form: TypeAlias = Literal["tally", "page", "head"]

SHOWN = ("heading", "needed", "facts", "progress", "notes")
"""What the page shows as the tally gives it; estimates it shows in thousandths."""


@dataclass(frozen=True)
class Told:
    """What somebody was told of the messages up to ``number``.

    ``form`` says how ``values`` are to be read: as the public tally, as what the page shows, or
    as the head. ``source`` is who told it, for the report. ``partial``: a value that is
    not among them was not told, or not kept.
    """

    form: Form
    number: int
    values: Mapping[str, Any]
    source: str = "the server"
    partial: bool = False


@dataclass(frozen=True)
class Remembered:
    """What somebody knows to have been on the board: messages, with their numbers where known.

    ``voters`` are known to have been enrolled, ``scope`` is the board and the specification that
    they know, and ``told`` is what the server once told.
    """

    source: str
    scope: Scope
    messages: Iterable[tuple[int | None, Message]]
    voters: Iterable[str] = ()
    told: Iterable[Told] = ()


class Log(Protocol):
    """Where a log is read from: a server, or a file.

    ``voters`` are those that are listed as enrolled, ``number`` how many messages there are.
    """

    @property
    def experiment(self) -> Experiment:
        """The experiment."""
        ...

    @property
    def voters(self) -> Collection[str]:
        """All voters who are enrolled."""
        ...

    @property
    def told(self) -> Collection[Told]:
        """What was told before the messages were read."""
        ...

    @property
    def number(self) -> int:
        """About how many messages there are."""
        ...

    def items(self) -> Iterator[Any]:
        """The messages as JSON values, in order."""
        ...

    def told_last(self) -> Collection[Told]:
        """What was told after the messages."""
        ...


def begin_chain(scope: Scope) -> bytes:
    """The head of an empty log."""
    return hashlib.sha256(signed_bytes("log", {}, scope)).digest()


def extend_chain(head: bytes, envelope: Envelope, scope: Scope) -> bytes:
    """The head after one more message: over the head before, what is signed, and the signature."""
    signature = envelope.signature.encode(errors="replace")
    return hashlib.sha256(head + to_bytes(envelope.message, scope) + b" " + signature).digest()


PAGE = 2_000
"""Messages, or voters, that are asked for at once."""

TRIES = 6
"""How often a page is asked for, with pauses that double, before reading is given up."""


class HttpLog(AbstractContextManager["HttpLog"]):
    """The log of the experiment at ``url``, up to the message that was the last when it was opened.

    Everything that is read is public: no token is needed. What the server tells of the log is
    read before the log, and the list of voters after its length is known: so neither can be
    behind the other on an honest server that goes on working. ``progress`` is told how many
    voters have been read, of how many.
    """

    def __init__(
        self,
        url: str,
        client: httpx.Client | None = None,
        *,
        page: int = PAGE,
        progress: Callable[[int, int, str], None] = lambda done, total, label: None,
    ) -> None:
        self.url = url.rstrip("/")
        self._page = page
        self._progress = progress
        self._server, found, self._name = self.url.rpartition("/experiments/")
        if not is_address(self.url) or not found or not self._name or "/" in self._name:
            raise BoardRefused(
                f"{url!r} is not the address of an experiment.\n"
                "Give one like http://127.0.0.1:8600/experiments/banner."
            )
        self._client = client or httpx.Client(headers=HEADERS, timeout=30.0, verify=trusted())
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
            self.told = tuple(self._told())
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
        """The messages as JSON values, as the server gives them.

        A server whose log has a gap may count places where it says numbers. So the next page is
        asked for from whichever is lower, and what was read already is left out.
        """
        read = last = 0
        while last < self.number:
            page = self._fresh(min(read, last), last) or self._fresh(last, last)
            if not page:
                return  # the server has no more, whatever it said
            yield from page
            read += len(page)
            last = max(last, *map(_number, page))

    def _fresh(self, after: int, last: int) -> list[Any]:
        limit = min(self._page, self.number - after)
        answer = self._ask(f"{self.url}/messages?after={after}&limit={limit}")
        try:
            page = list(answer["messages"])[:limit]
        except (KeyError, TypeError):
            raise not_ours(self.url) from None
        if after == last and max(map(_number, page), default=0) <= last:
            return []
        return page if after == last else [item for item in page if _number(item) > last]

    def told_last(self) -> Collection[Told]:
        """Nothing."""
        return ()

    def _told(self) -> Iterator[Told]:
        """What the server tells of the messages: the tally, and the page if it has one."""
        tally = self._ask(f"{self.url}/tally")
        scope = {"board": tally["board"], "fingerprint": tally["fingerprint"]}
        values = {**scope, **tally["tally"]}
        yield Told("tally", int(tally["number"]), values)
        page = self._ask(f"{self._server}/views/{self._name}", may_lack=True)
        if page is not None:
            counts = [arm["count"] for arm in page["arms"]]
            names = (*SHOWN, "status", "answer", "open", "estimates")
            values = {name: page[name] for name in names if name in page} | {"counts": counts}
            yield Told("page", int(page["number"]), values, partial=True)

    def _ask(self, url: str, *, may_lack: bool = False) -> Any:
        """What the server answers; asked again after a fault, unless it never answered yet."""
        wait = 0.0
        for tried in range(TRIES if self._has_answered else 1):
            if tried:
                time.sleep(max(2.0 ** (tried - 2), wait))
            try:
                response, body = fetch(self._client, "GET", url)
                status = response.status_code
                if status < 500 and status != httpx.codes.TOO_MANY_REQUESTS:
                    self._has_answered = True
                    return self._read(response, body, may_lack=may_lack)
                wait = retry_after(response.headers.get("Retry-After", ""))
                fault = f"{self.url} answered {status}."
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                problem = unreachable(self.url, error)
                if isinstance(problem, BoardRefused):
                    raise problem from None
                fault = f"{self.url} cannot be reached ({type(error).__name__})."
        raise BoardUnavailable(f"{fault}\nCheck the address, and that `devote serve` runs there.")

    def _read(self, response: httpx.Response, body: bytes, *, may_lack: bool) -> Any:
        check_version(self.url, response)
        if response.status_code == httpx.codes.NOT_FOUND and may_lack:
            return None
        try:
            answer = parse_json(body)
        except ValueError:
            raise not_ours(self.url) from None
        if response.is_success:
            return answer
        said = answer.get("error") if isinstance(answer, dict) else None
        raise BoardRefused(f"{self.url} answered {response.status_code}: {str(said)[:500]}")


def _number(item: Any) -> int:
    """An item's number, 0 if it has none."""
    number = item.get("number") if isinstance(item, dict) else None
    return number if isinstance(number, int) else 0


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
