"""The log of an experiment on a devote server, read from its beginning in pages."""

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import cached_property
from typing import Any

import httpx

from devote.boards.board import BoardRefused, BoardUnavailable
from devote.boards.experiment import Experiment, is_address
from devote.boards.http_answers import (
    HOPS,
    LONGEST_ANSWER,
    check_version,
    moved_to,
    not_ours,
    retry_after,
    unreachable,
)
from devote.boards.logs import SHOWN, Told
from devote.boards.trust import trusted
from devote.protocol import SpecError
from devote.protocol.messages import parse_json

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
        self._client = client or httpx.Client(
            headers={"User-Agent": "devote"}, timeout=30.0, verify=trusted()
        )
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
                with ExitStack() as opened:
                    response = self._open_answer(opened, url)
                    status = response.status_code
                    if status < 500 and status != httpx.codes.TOO_MANY_REQUESTS:
                        self._has_answered = True
                        return self._read(response, may_lack=may_lack)
                    wait = retry_after(response.headers.get("Retry-After", ""))
                fault = f"{self.url} answered {status}."
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                problem = unreachable(self.url, error)
                if isinstance(problem, BoardRefused):
                    raise problem from None
                fault = f"{self.url} cannot be reached ({type(error).__name__})."
        raise BoardUnavailable(f"{fault}\nCheck the address, and that `devote serve` runs there.")

    def _open_answer(self, opened: ExitStack, url: str) -> httpx.Response:
        for _ in range(HOPS + 1):
            response = opened.enter_context(self._client.stream("GET", url))
            there = moved_to(response)
            if there is None:
                return response
            url = there
        raise httpx.TooManyRedirects("too many redirects")

    def _read(self, response: httpx.Response, *, may_lack: bool) -> Any:
        check_version(self.url, response)
        body = bytearray()
        for part in response.iter_bytes():
            body += part
            if len(body) > LONGEST_ANSWER:
                raise not_ours(self.url)
        if response.status_code == httpx.codes.NOT_FOUND and may_lack:
            return None
        try:
            answer = parse_json(bytes(body))
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
