"""A log of messages as it is checked: read from a server, or from a file that was saved before.

Beside the messages a log has *statements*: what a server, a file or another reader says that the
messages come to. The head is a chain of digests over the log. Two readers who compare one head have
read the same messages in the same order. A server signs it with each tally; a device keeps that,
and shows it to nobody but its owner, since a server that lied could tell devices apart by it.
"""

import json
import os
import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import httpx

from devote.boards.board import (
    PAGE,
    BoardRefused,
    BoardUnavailable,
    Experiment,
    ExperimentState,
    SignedSnapshot,
    is_address,
    page_of,
)
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
from devote.protocol.messages import Scope, from_dict, parse_json

STANDING = ("state", "ends", "delete_after")

Form: TypeAlias = Literal["tally", "page", "list", "head", "snapshot"]

VOTERS = 2_000
"""Voters that are asked for at once."""

LAGS = (1.0, 2.0, 4.0)
"""Seconds between the questions to a server that shows less than its log has: a cache may be behind
by six, and servers that share a store by a moment."""

LONGEST_PACE = 86_400
"""Devices wait no longer between two reads, whatever the server asks for."""

TRIES = 6
"""How often a page is asked for, with pauses that double, before reading is given up."""

FORMAT = 5
"""The version of a saved log."""


@dataclass(frozen=True)
class Statement:
    """What ``source`` says that the messages up to ``number`` come to.

    ``form`` says how ``values`` are to be read: as the public tally, as the page, as its entry in
    the list of experiments, as the head, or as a signed snapshot. ``partial``: a value that is not
    among them was not kept.
    """

    form: Form
    number: int
    values: Mapping[str, Any]
    source: str = "the server"
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong, by which check, and at which number of the log."""

    check: str
    number: int | None
    text: str


@dataclass(frozen=True, kw_only=True)
class SignedStatement(Statement):
    """A snapshot with the signature of a server of a board."""

    signed: SignedSnapshot
    scope: Scope


def snapshot_of(text: str, scope: Scope, source: str) -> SignedStatement:
    """What a server has signed, as a device has kept it; DevoteError if it is no snapshot."""
    signed = SignedSnapshot.parse(text)
    if signed is None:
        raise DevoteError(
            f"{source} has a line that is no snapshot.\n"
            "Write the file with `devote device snapshots STORE`."
        )
    values = {"head": signed.head, "tally": signed.tally}
    return SignedStatement("snapshot", signed.number, values, source, signed=signed, scope=scope)


@dataclass(frozen=True)
class Remembered:
    """What ``source`` knows to have been on the board: messages, with their numbers where known.

    ``voters`` are known to have been enrolled, ``scope`` is the board and the specification that
    it knows, ``facts`` are others of the experiment, and ``statements`` are what the server once
    sent it.
    """

    source: str
    scope: Scope
    messages: Iterable[tuple[int | None, Message]]
    voters: Iterable[str] = ()
    statements: Iterable[Statement] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


class LogCopy(AbstractContextManager["LogCopy"]):
    """All that is answered while a log is read; the file appears at ``path`` once that is all."""

    def __init__(self, path: str | Path) -> None:
        self._target = Path(path)
        self._partial = self._target.with_name(f"{self._target.name}.{os.getpid()}.partial")
        self._file = self._partial.open("w", encoding="utf-8")

    def keep(self, value: dict[str, Any]) -> None:
        """Write the next line."""
        self._file.write(json.dumps(value, separators=(",", ":")) + "\n")

    def end(self) -> None:
        """Put the file in its place."""
        self.keep({"end": True})
        self._file.flush()
        os.fsync(self._file.fileno())
        self._partial.replace(self._target)

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._partial.unlink(missing_ok=True)


class Log(AbstractContextManager["Log"]):
    """The log of an experiment, up to the message that was the last when it was opened.

    Whatever shows how the experiment stands is read after the length of the log, and must be as
    new; the log is read after that, and the list of voters after its last length: so on an honest
    server that goes on working nothing is behind. The log is read twice, in the pages that devices
    read and past all caches.

    ``source`` says where it is read from. ``statements`` are what is shown of the messages up to
    some number. ``findings`` are what reading has shown to be wrong, in ``compared`` comparisons.
    All answers go into ``copy`` too, in the order in which they are asked for: a saved log is read
    by asking for the same again. ``progress`` gets how many voters have been read, of how many.
    """

    def __init__(
        self,
        name: str,
        source: str,
        *,
        copy: LogCopy | None = None,
        progress: Callable[[int, int, str], None] = lambda done, total, label: None,
    ) -> None:
        self.source = source
        self.url = f"/experiments/{name}"
        self.findings: list[Finding] = []
        self.compared = 0
        self._name = name
        self._copy = copy
        self._progress = progress
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def _answer(self, path: str, *, may_lack: bool) -> Any:
        """What is answered at a path; None if it ``may_lack`` and there is nothing."""

    @abstractmethod
    def _not_ours(self) -> DevoteError:
        """The error that something else answers."""

    @abstractmethod
    def close(self) -> None:
        """Close what is read from."""

    def _pause(self, seconds: float) -> None:
        """Wait for a cache."""

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, path: str, *, may_lack: bool = False) -> Any:
        answer = self._answer(path, may_lack=may_lack)
        if self._copy is not None:
            self._copy.keep({"path": path, "answer": answer})
        return answer

    def _open(self) -> None:
        if self._copy is not None:
            self._copy.keep({"devote": "log", "format": FORMAT, "name": self._name})
        with self._expected():
            self.experiment = Experiment.from_dict(self._ask(self.url))
            if self.experiment.name != self._name:
                raise ValueError("another experiment")
            self.number = self._length()
            self.statements = tuple(self._read_statements())
            self.number = self._length()

    @contextmanager
    def _expected(self) -> Iterator[None]:
        """Refuse answers that are not as expected."""
        try:
            yield
        except SpecError as error:
            raise BoardRefused(f"What {self.source} holds is refused: {error}") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise self._not_ours() from None

    def remembered(self) -> Remembered:
        """What is known from here to have been on the board."""
        kept, voters = self.experiment, self.voters
        facts = {name: kept.facts[name] for name in ("players", "enrolment")}
        return Remembered(self.source, kept.scope, self._messages(), voters, facts=facts)

    def _messages(self) -> Iterator[tuple[int | None, Message]]:
        for item in self.items():
            try:
                yield int(item["number"]), from_dict(item["message"], self.experiment.spec.n_arms)
            except (ProtocolError, KeyError, TypeError, ValueError):
                continue  # it was wrong when it was saved

    def _length(self) -> int:
        return int(self._ask(f"{self.url}/messages?limit=1")["number"])

    @cached_property
    def voters(self) -> Collection[str]:
        """All voters who are enrolled."""
        found, enrolled = self._list_voters()
        self.experiment = replace(self.experiment, enrolled=enrolled)
        return found

    def _list_voters(self) -> tuple[set[str], int]:
        """The voters who are listed, and how many the server then says there are."""
        found: set[str] = set()
        after, is_last, enrolled = "", False, 0
        while not is_last:
            answer = self._ask(f"{self.url}/enrolments?after={after}&limit={VOTERS}")
            with self._expected():
                page, is_last = [str(voter) for voter in answer["voters"]], bool(answer["end"])
                enrolled = enrolled if after else int(answer["enrolled"])
            found.update(page)
            self._progress(len(found), max(len(found), enrolled), "voters")
            is_last = is_last or not page or page[-1] <= after  # a list without end
            after = page[-1] if page else after
        return found, enrolled

    def items(self) -> Iterator[Any]:
        """The messages as JSON values, as the server gives them."""
        last = 0
        while last < self.number:
            end = min(self.number, page_of(last + 1) * PAGE)
            answer = self._ask(f"{self.url}/messages?after={last}&limit={end - last}")
            with self._expected():
                items = list(answer["messages"])[: end - last]
                self._compare_page(last, end, items)
            before, last = last, max(map(_number, items), default=0)
            if last <= before:
                break  # the server has no more, whatever it said
            yield from items
        with self._expected():
            self._compare_enrolled()
        if self._copy is not None:
            self._copy.end()

    # What is shown elsewhere.

    def _compare(self, text: str, number: int | None = None, *, holds: bool) -> None:
        self.compared += 1
        if not holds:
            self.findings.append(Finding("shown", number, text))

    def _fresh(self, path: str, name: str, least: int) -> Any:
        """What is shown at a path, asked for again until it is as new as the log."""
        for pause in (*LAGS, 0.0):
            shown = self._entry(path)
            if shown is None or int(shown[name]) >= least:
                break
            self._pause(pause)
        if shown is not None:
            text = f"{path} gives as {name} {shown[name]:,}, and it should be {least:,} or more"
            self._compare(text, holds=int(shown[name]) >= least)
        return shown

    def _entry(self, path: str) -> Any:
        """What is shown at a path, of a list this experiment's entry; None if there is none."""
        answer = self._ask(path, may_lack=path.startswith("/views"))
        entries = answer["experiments"] if path == "/experiments" else answer
        if not isinstance(entries, list):
            return entries
        found = [
            each for each in entries if (each.get("name") or each["spec"]["name"]) == self._name
        ]
        self._compare(f"{path} lists the experiment {len(found)} times", holds=len(found) < 2)
        return found[0] if found else None

    def _standing(self) -> str:
        standing = self._ask(f"{self.url}/standing")
        return ExperimentState(*(standing[name] for name in STANDING)).words

    def _read_statements(self) -> Iterator[Statement]:
        """What devices and people are shown: the tally, the standing, the lists, and the page."""
        tally = self._fresh(f"/experiments/{self._name}/tally", "number", self.number)
        scope = {"board": tally["board"], "fingerprint": tally["fingerprint"]}
        yield Statement("tally", int(tally["number"]), {**scope, **tally["tally"]})
        pace, most = tally.get("pace"), f"1 to {LONGEST_PACE:,} seconds"
        holds = type(pace) is int and 0 < pace <= LONGEST_PACE
        self._compare(f"the tally asks for a pace of {pace!r}, not of {most}", holds=holds)
        before = self._standing()
        page = self._fresh(f"/views/{self._name}", "number", self.number)
        listed = [("/experiments", self._entry("/experiments"))]
        if page is not None:
            listed.append(("/views", self._fresh("/views", "number", self.number)))
        standings = {before, self._standing()}
        for path, entry in listed:
            holds = entry is not None or "archived" in standings
            self._compare(f"{path} does not list the experiment", holds=holds)
        if page is not None:
            text = f"the page gives as state {page['standing']!r}, /standing gives {before!r}"
            self._compare(text, holds=page["standing"] in standings)
            yield _shown("page", "the page", page)
        for path, entry in listed:
            if path == "/views" and entry is not None:
                yield _shown("list", path, entry)
            elif entry is not None:
                self._compare_facts(entry)

    def _compare_facts(self, entry: dict[str, Any]) -> None:
        for name, value in self.experiment.to_dict().items():
            if name != "enrolled":
                text = (
                    f"/experiments gives as {name} {entry.get(name)!r}, its own address {value!r}"
                )
                self._compare(text, holds=name in entry and entry[name] == value)

    def _compare_page(self, after: int, end: int, items: list[Any]) -> None:
        """Compare a page of the log, which devices read, with what is read past all caches."""
        page = page_of(end)
        path = f"/experiments/{self._name}/log/{self.experiment.board}/{page}"
        for pause in (*LAGS, 0.0):
            shown = list(self._ask(path)["messages"])
            if max(map(_number, shown), default=0) >= end:
                break
            self._pause(pause)
        found = [item for item in shown if after < _number(item) <= end]
        pairs = zip_longest(found, items)
        odd = next((one or other for one, other in pairs if one != other), None)
        text = f"page {page:,} of /log has another message than /messages"
        self._compare(text, odd and _number(odd), holds=odd is None)

    def _compare_enrolled(self) -> None:
        """As many are shown to be enrolled as are listed, or more if more are listed by now."""
        listed = len(self.voters)
        for path in (f"/views/{self._name}", "/views", "/experiments"):
            entry = self._fresh(path, "enrolled", listed)
            if entry is not None and int(entry["enrolled"]) > listed:
                listed = len(self._list_voters()[0])
                text = f"{path} gives as enrolled {entry['enrolled']:,}, but {listed:,} are listed"
                self._compare(text, holds=int(entry["enrolled"]) <= listed)


def _shown(form: Form, source: str, values: dict[str, Any]) -> Statement:
    """What is shown, but for what follows from more than the messages and is compared elsewhere."""
    kept = {k: value for k, value in values.items() if k not in ("enrolled", "standing", "now")}
    return Statement(form, int(values["number"]), kept, source)


def _number(item: Any) -> int:
    """An item's number, 0 if it has none."""
    number = item.get("number") if isinstance(item, dict) else None
    return number if isinstance(number, int) else 0


class HttpLog(Log):
    """The log of the experiment at ``url``.

    Everything that is read is public, unless only bearers of a ``token`` may read the log.
    """

    def __init__(
        self,
        url: str,
        client: httpx.Client | None = None,
        *,
        token: str | None = None,
        **given: Any,
    ) -> None:
        url = url.rstrip("/")
        self._server, found, name = url.rpartition("/experiments/")
        if not is_address(url) or not found or not name or "/" in name:
            raise no_experiment(url)
        self._client = client or httpx.Client(headers=HEADERS, timeout=30.0, verify=trusted())
        if token is not None:
            self._client.headers["Authorization"] = f"Bearer {token}"
        self._has_answered = False
        super().__init__(name, url, **given)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def _not_ours(self) -> DevoteError:
        return not_ours(self.source)

    def _answer(self, path: str, *, may_lack: bool) -> Any:
        """What the server answers; asked again after a fault, unless it never answered yet."""
        tries = TRIES if self._has_answered else 1
        for tried in range(1, tries + 1):
            wait = 0.0
            try:
                response, body = fetch(self._client, "GET", self._server + path)
            except BoardUnavailable:
                if tried == tries:
                    raise
            else:
                status = response.status_code
                if status < 500 and status != httpx.codes.TOO_MANY_REQUESTS:
                    self._has_answered = True
                    return self._read(response, body, may_lack=may_lack)
                if tried == tries:
                    raise BoardUnavailable(f"{self.source} answered {status}.\nTry again later.")
                wait = retry_after(response.headers.get("Retry-After", ""))
            time.sleep(max(2.0 ** (tried - 2), wait))
        raise AssertionError("tried at least once")

    def _read(self, response: httpx.Response, body: bytes, *, may_lack: bool) -> Any:
        answer = parse_answer(self.source, response, body)
        if response.is_success:
            return answer
        if response.status_code == httpx.codes.NOT_FOUND and may_lack:
            return None
        why = answer.get("error") if isinstance(answer, dict) else None
        raise BoardRefused(f"{self.source} answered {response.status_code}: {str(why)[:500]}")


class SavedLog(Log):
    """The copy at ``path``; its messages can be read once."""

    def __init__(self, path: str | Path, **given: Any) -> None:
        self.path = Path(path)
        self._file: IO[str] = self.path.open(encoding="utf-8")
        try:
            first = self._line()
            if (first.get("devote"), first.get("format")) != ("log", FORMAT):
                raise self._not_ours()
        except BaseException:
            self.close()
            raise
        super().__init__(str(first.get("name")), self.path.name, **given)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def items(self) -> Iterator[Any]:
        """The messages as JSON values; the file must have its last line after them."""
        yield from super().items()
        if "end" not in self._line():
            raise self._not_ours()

    def _answer(self, path: str, *, may_lack: bool) -> Any:
        line = self._line()
        if line.get("path") != path:
            raise self._not_ours()
        return line.get("answer")

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
