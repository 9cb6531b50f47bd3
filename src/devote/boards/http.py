"""A board behind a devote server, reached over HTTP, and how any client reads a server's answers.

What leaves the device is the path, which page of the log it reads, the tag of what it has read,
and the messages themselves.

An answer counts only if it carries the server's version header: a login page of a hotel's network
that answers 200 to everything must not pass for "your vote is there already". A server that has
moved for good is followed, to TLS but never away from it.
"""

import asyncio
import json
import math
import os
import ssl
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Container
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from functools import cache, partial
from typing import Any, TypeVar

import httpx

from devote.boards.admission import REJECTED
from devote.boards.board import (
    END,
    MESSAGE,
    PAGE,
    SNAPSHOT_HEADER,
    VERSION_HEADER,
    Board,
    BoardRefused,
    BoardUnavailable,
    EndOfBacklog,
    EnrolmentRefused,
    Envelope,
    Event,
    Experiment,
    Joined,
    Outcome,
    Posted,
    SignedSnapshot,
    Snapshot,
    TallySnapshot,
    UnknownExperiment,
    is_address,
    page_of,
    page_tag,
)
from devote.boards.identity import Identity
from devote.protocol import ProtocolError, SpecError
from devote.protocol.messages import (
    MAX_ARMS,
    VERSION,
    Scope,
    digest,
    from_dict,
    parse_json,
    to_dict,
)

T = TypeVar("T")

HEADERS = {"User-Agent": "devote", "Accept-Encoding": "gzip"}

HOPS = 5
"""So many redirects are followed, one after another."""

LONGEST_WAIT = 3_600.0
"""So many seconds a server can ask to wait: a broken one must not silence devices."""

LONGEST_ANSWER = 64 * 2**20
LONGEST_PAGE = 8 * 2**20
LONGEST_TALLY = 2**20
LONGEST_LINE = 65_536

_MOVED = (httpx.codes.MOVED_PERMANENTLY, httpx.codes.PERMANENT_REDIRECT)

_INVITE = '"invite":"'
"""What a body with an invite has in it, as ``json.dumps`` writes it."""

_JOIN_OUTCOMES = ("accepted", "duplicate", "refused", "mismatch")
_OUTCOMES = {201: Outcome.ACCEPTED, 200: Outcome.DUPLICATE, 403: Outcome.REFUSED}


class HttpBoard(Board):
    """The board at ``url``, for example ``http://127.0.0.1:8600/experiments/banner``.

    Of several addresses, with commas between them, one is asked until it does not answer; then
    the next is: they are of servers that share the experiment.

    ``client`` is an ``httpx.AsyncClient`` to share between boards; without it the board has its
    own, which ``aclose`` (or ``async with``) closes. ``timeout`` bounds each request, and
    ``patience`` the silence on a stream: the server breaks it with heartbeats. For ``fresh``
    seconds a tally that was read is the tally: set it where many devices share this board.
    """

    def __init__(
        self,
        url: str,
        client: httpx.AsyncClient | None = None,
        *,
        timeout: float = 10.0,
        patience: float = 30.0,
        fresh: float = 0.0,
    ) -> None:
        self._urls = addresses(url)
        self._moved: dict[str, str] = {}
        self.url = self._urls[0]
        if not all(is_address(each) and "/experiments/" in each for each in self._urls):
            raise no_experiment(url)
        self._name = self.url.rpartition("/")[2]
        self._own = client is None
        self._client = client or httpx.AsyncClient(headers=HEADERS, verify=trusted())
        self._timeout = httpx.Timeout(timeout)
        self._patience = httpx.Timeout(timeout, read=patience)
        self._n_arms = MAX_ARMS
        self._scope: Scope | None = None
        self._tally: TallySnapshot | None = None
        self._tally_until = -math.inf
        self._tally_lock = asyncio.Lock()
        self._fresh = fresh
        self._last_page: tuple[int, tuple[Posted, ...]] | None = None

    async def aclose(self) -> None:
        """Close the connections this board has opened."""
        if self._own:
            await self._client.aclose()

    async def fetch_experiment(self) -> Experiment:
        """The experiment; BoardRefused if what answers is not a devote server of this version."""
        return await self._ask_each(self._fetch_experiment)

    async def _fetch_experiment(self) -> Experiment:
        async with self._answer("GET", "") as answer:
            return self._experiment(await _read(answer))

    def _experiment(self, body: Any) -> Experiment:
        if body["version"] != VERSION:
            raise ValueError("another version")
        experiment = Experiment.from_dict(body)
        if experiment.name != self._name:
            raise ValueError("another experiment")
        self._n_arms, self._scope = experiment.spec.n_arms, experiment.scope
        return experiment

    async def enrol(self, identity: Identity, invite: str | None = None) -> Outcome:
        """Let this voter post; EnrolmentRefused if the server refuses."""
        scope = self._scope or (await self.fetch_experiment()).scope
        request = {"voter": identity.voter, "signature": identity.sign_enrolment(scope)}
        if invite is not None:
            request["invite"] = invite
        expected = {"statuses": (200, 201), "refused": EnrolmentRefused}
        return await self._ask_each(partial(self._post, "/enrolments", request, **expected))

    async def join(
        self,
        identity: Identity,
        invite: str | None = None,
        *,
        privacy: float | None = None,
        fingerprint: str | None = None,
    ) -> Joined:
        """Ask for all that it takes to take part, and to be enrolled, in one request.

        With ``privacy`` or ``fingerprint`` the server enrols, and takes the invite, only if the
        experiment has this fingerprint, and hides at least as much of what a user did.
        """
        asked = {
            "v": VERSION,
            "voter": identity.voter,
            "signature": identity.sign_join(self._name, invite),
            "invite": invite,
            "privacy": privacy,
            "fingerprint": fingerprint,
        }
        return await self._ask_each(partial(self._join, asked))

    async def _join(self, asked: dict[str, Any]) -> Joined:
        body = {name: value for name, value in asked.items() if value is not None}
        headers = {"Content-Type": "text/plain"}  # for which a browser needs no preflight
        async with self._answer("POST", "/join", body=body, headers=headers) as answer:
            found = await _read(answer, LONGEST_PAGE)
            experiment = self._experiment(found)
            tally = self._tally_of(found["tally"])
            if tally.scope != experiment.scope or found["outcome"] not in _JOIN_OUTCOMES:
                raise ValueError("another board, or another outcome")
            sent = tuple(self._posted(item).envelope for item in found["messages"])
            reason, cause = str(found.get("reason", ""))[:500], found.get("cause")
            return Joined(experiment, tally, found["outcome"], reason, cause, sent)

    async def publish(self, envelope: Envelope) -> Outcome:
        """Post a message."""
        posted = {"message": to_dict(envelope.message), "signature": envelope.signature}
        return await self._post("/messages", posted, statuses=_OUTCOMES)

    async def _post(self, path: str, body: Any, **expected: Any) -> Outcome:
        async with self._answer("POST", path, body=body, **expected) as answer:
            outcome, found = _OUTCOMES[answer.status_code], await _read(answer)
            if found["outcome"] != outcome:
                raise ValueError("another outcome")
            if rejected := REJECTED.get(str(found.get("cause"))):
                raise rejected(f"{self.url} answered: {str(found.get('error'))[:500]}")
            return outcome

    async def snapshot(self, after: int = 0) -> Snapshot:
        """The messages above ``after`` up to the end of their page."""
        if self._scope is None:
            await self.tally()
        number = page_of(after + 1)
        posted, full = await self._page(number)
        if posted is None:  # beyond the end: an older board, or one that has moved
            tally = await self.tally()
            if tally.number >= (number - 1) * PAGE:
                raise not_ours(self.url)
            return Snapshot(tally.number, ())
        last = posted[-1].number if posted else (number - 1) * PAGE
        return Snapshot(last, tuple(p for p in posted if p.number > after), more=full)

    async def _page(self, number: int) -> tuple[tuple[Posted, ...] | None, bool]:
        """The messages of a page, None if there is no such page, and whether it is full.

        The last page, which grows, is not sent again if it has not grown.
        """
        assert self._scope is not None
        headers = {}
        known = self._last_page if self._last_page and self._last_page[0] == number else None
        if known is not None:
            tag = page_tag(posted.envelope.signature for posted in known[1])
            headers = {"If-None-Match": f'"{tag}"'}
        path = f"/log/{self._scope.board}/{number}"
        async with self._answer("GET", path, headers=headers, statuses=(200, 304, 404)) as answer:
            if answer.status_code == 404:
                return None, False
            if answer.status_code == 304:
                if known is None:
                    raise ValueError("nothing was known")
                return known[1], False
            body = await _read(answer, LONGEST_PAGE)
            if Scope(body["board"], body["fingerprint"]) != self._scope or body["page"] != number:
                raise ValueError("another page")
            full = body["full"] is True
            posted = tuple(map(self._posted, body["messages"]))
            if full and len(posted) != PAGE:
                raise ValueError("cut off")
            if not full:
                self._last_page = number, posted
            return posted, full

    async def latest(self, after: int = 0) -> Snapshot:
        """The first messages above ``after``, past all caches."""
        return await self._messages(f"after={after}&limit={PAGE}")

    async def sent_by(self, voter: str) -> tuple[Envelope, ...]:
        """All messages of one voter."""
        sent: list[Posted] = []
        more = True
        while more:
            after = sent[-1].number if sent else 0
            found = await self._messages(f"voter={voter}&after={after}")
            sent += found.posted
            more = found.more
        return tuple(posted.envelope for posted in sent)

    async def _messages(self, query: str) -> Snapshot:
        async with self._answer("GET", f"/messages?{query}") as answer:
            body = await _read(answer)
            posted = tuple(map(self._posted, body["messages"]))
            more = body["end"] is not True
            if type(body["number"]) is not int or (more and not posted):
                raise ValueError("cut off")
            return Snapshot(posted[-1].number if more else body["number"], posted, more)

    async def stream(self, after: int = 0) -> AsyncIterator[Event]:
        """The messages above ``after``, one EndOfBacklog, then messages as they come.

        It never ends by itself: BoardUnavailable is raised when the connection does.
        """
        path, headers = f"/stream?after={after}", {"Accept-Encoding": "identity"}
        async with self._answer("GET", path, headers=headers, timeout=self._patience) as answer:
            async for event in decode(_raw(answer)):
                if event.event == END:
                    yield EndOfBacklog(int(event.data))
                elif event.event == MESSAGE:
                    yield self._posted(parse_json(event.data))
                else:
                    raise ValueError("another kind of event")
        raise BoardUnavailable(f"The stream of {self.url} has ended.\nRead on from where it did.")

    async def tally(self) -> TallySnapshot:
        """What the messages come to; one that has not changed is not sent again."""
        async with self._tally_lock:  # of many who ask at once one reads
            known = self._tally
            if known is not None and time.monotonic() < self._tally_until:
                return known
            headers = {} if known is None else {"If-None-Match": f'"{known.tag}"'}
            async with self._answer(
                "GET", "/tally", headers=headers, statuses=(200, 304)
            ) as answer:
                self._tally_until = time.monotonic() + self._fresh
                if answer.status_code != 304:
                    known = self._tally_of(await _read(answer, LONGEST_TALLY))
                if known is None:
                    raise ValueError("nothing was known")
                signed = SignedSnapshot.parse(answer.headers.get(SNAPSHOT_HEADER, ""))
                self._tally = known = replace(known, signed=signed)
                return known

    def _tally_of(self, body: Any) -> TallySnapshot:
        """A tally that was read, which is then the one that is known."""
        number, scope = body["number"], Scope(body["board"], body["fingerprint"])
        pace, streams = body["pace"], body["streams"]
        texts = isinstance(scope.board, str) and isinstance(scope.fingerprint, str)
        numbers = type(number) is int and type(pace) is int and pace > 0
        if not (numbers and texts and isinstance(streams, bool) and body["tally"]):
            raise ValueError("another type")
        tally = TallySnapshot.of(scope, number, dict(body["tally"]))
        tally = replace(tally, pace=pace, streams=streams)
        digest(tally.to_dict())  # fails for one without a tag, by which it is to be asked for again
        self._tally = tally
        self._scope = self._scope or scope
        return tally

    def _posted(self, item: Any) -> Posted:
        number, signature = item["number"], item["signature"]
        if not isinstance(number, int) or not isinstance(signature, str):
            raise ValueError("another type")
        return Posted(number, Envelope(from_dict(item["message"], self._n_arms), signature))

    @asynccontextmanager
    async def _answer(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        headers: dict[str, str] | None = None,
        timeout: httpx.Timeout | None = None,
        statuses: Container[int] = (200,),
        refused: type[BoardRefused] = BoardRefused,
    ) -> AsyncIterator[httpx.Response]:
        """What a devote server of this version answers, if with one of these statuses.

        ``refused`` is raised with the server's words for any other status. An answer that the
        block cannot read is not a devote server's.
        """
        # A cookie would let a server link what a device does; none is ever sent back.
        self._client.cookies.clear()
        headers = {"Accept-Encoding": "gzip", **(headers or {})}
        options: dict[str, Any] = {"headers": headers, "timeout": timeout or self._timeout}
        if body is not None:
            options["content"] = json.dumps(body, separators=(",", ":"))
            options["headers"] = {"Content-Type": "application/json", **headers}
        url = self.url
        try:
            async with AsyncExitStack() as opened:
                response = await self._open(opened, method, url, path, options)
                if (status := response.status_code) >= 500 or status == 429:
                    wait = retry_after(response.headers.get("Retry-After", ""))
                    text = f"{url} answered {status}.\nTry again later."
                    raise BoardUnavailable(text, retry_after=wait)
                check_version(url, response)
                if status not in statuses:
                    content = await _read(response)
                    why = content.get("error") if isinstance(content, dict) else None
                    why = str(why or "it does not say why.\nCheck the address.")[:500]
                    if status == httpx.codes.NOT_FOUND and refused is BoardRefused:
                        refused = UnknownExperiment
                    raise refused(f"{url} answered {status}: {why}")
                yield response
        except BoardUnavailable:
            self._move_on(url)
            raise
        except httpx.HTTPError as error:
            self._move_on(url)
            raise unreachable(url, error) from None
        except (SpecError, ProtocolError) as error:
            raise BoardRefused(f"What {url} holds is refused: {error}") from None
        except (
            httpx.InvalidURL, ValueError, KeyError, TypeError, AttributeError, RecursionError
        ):  # fmt: skip
            raise not_ours(url) from None

    async def _ask_each(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask one server after the other until one answers: a device that joins cannot wait."""
        for _ in self._urls[1:]:
            with suppress(BoardUnavailable):
                return await ask()
        return await ask()

    def _move_on(self, url: str) -> None:
        """Ask the next server from now on, unless that is done, and this one where it was."""
        self._moved.pop(url, None)
        if url == self.url:
            self.url = self._urls[(self._urls.index(url) + 1) % len(self._urls)]

    async def _open(
        self,
        opened: AsyncExitStack,
        method: str,
        url: str,
        path: str,
        options: dict[str, Any],
    ) -> httpx.Response:
        """The answer of a server, from wherever it has moved to.

        That is asked from then on, for as long as it answers as a devote server does: a captive
        portal redirects too.
        """
        at = self._moved.pop(url, url)  # until a devote server has answered from there
        if _INVITE in options.get("content", "") and httpx.URL(at).host != httpx.URL(url).host:
            at = url
        at += path
        for _ in range(HOPS + 1):
            response = await opened.enter_async_context(self._client.stream(method, at, **options))
            there = moved_to(response)
            if there is None:
                if at.endswith(path) and VERSION_HEADER in response.headers:
                    self._moved[url] = at.removesuffix(path)
                return response
            at = there
        raise httpx.TooManyRedirects("too many redirects")


def addresses(text: str) -> tuple[str, ...]:
    """The addresses of an experiment on servers that share it, written with commas between them.

    The path need be given once, after the last.

    >>> addresses("http://a:8600,http://b:8600/experiments/banner")
    ('http://a:8600/experiments/banner', 'http://b:8600/experiments/banner')
    """
    servers = [server.strip().rstrip("/") for server in text.split(",")]
    path = servers[-1].partition("/experiments/")[2]
    return tuple(
        server if "/experiments/" in server or not path else f"{server}/experiments/{path}"
        for server in servers
    )


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One server-sent event: its kind, the number to resume after, and its data."""

    event: str
    id: str
    data: str


async def decode(chunks: AsyncIterator[bytes]) -> AsyncIterator[ServerEvent]:
    """The server-sent events in a stream of bytes; one cut off by the stream's end is dropped.

    ValueError if a line never ends or is not text: then it is no event stream.
    """
    fields: dict[str, str] = {}
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > LONGEST_LINE:
            raise ValueError("a line without end")
        for line in lines:
            name, _, value = line.removesuffix(b"\r").decode().partition(":")
            if name:
                if name in ("event", "id", "data"):  # all others would fill the memory
                    fields[name] = value.removeprefix(" ")
                continue
            if not value and "data" in fields:  # an empty line; a comment has a value
                event = fields.get("event", MESSAGE)
                yield ServerEvent(event, fields.get("id", ""), fields["data"])
            if not value:
                fields = {}


# What any client makes of an answer.


async def _raw(response: httpx.Response) -> AsyncIterator[bytes]:
    """The bytes of an answer as they come, without unpacking them."""
    if response.is_stream_consumed:  # by a transport that gives whole answers
        yield response.content
        return
    async for part in response.aiter_raw():
        yield part


async def _read(response: httpx.Response, longest: int | None = None) -> Any:
    longest = longest or LONGEST_PAGE  # as values it takes some twenty times the memory
    body = bytearray()
    async for part in _raw(response):
        body += part
        if len(body) > longest:
            raise ValueError("an answer without end")
    return parse_json(_unpacked(response, bytes(body), longest))


def fetch(
    client: httpx.Client, method: str, url: str, **options: Any
) -> tuple[httpx.Response, bytes]:
    """A whole answer and its body, from wherever the server has moved to."""
    at = url
    try:
        for _ in range(HOPS + 1):
            with client.stream(method, at, **options) as response:
                there = moved_to(response)
                if there is None:
                    return response, _body(response)
            at = there
        raise httpx.TooManyRedirects("too many redirects")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise unreachable(url, error) from None
    except ValueError:
        raise not_ours(url) from None


def _body(response: httpx.Response) -> bytes:
    if response.is_stream_consumed:
        return response.content
    body = bytearray()
    for part in response.iter_raw():
        body += part
        if len(body) > LONGEST_ANSWER:
            raise ValueError("an answer without end")
    return _unpacked(response, bytes(body), LONGEST_ANSWER)


def parse_answer(url: str, response: httpx.Response, body: bytes) -> Any:
    """The JSON value that a devote server of this version has answered."""
    check_version(url, response)
    try:
        return parse_json(body)
    except ValueError:
        raise not_ours(url) from None


def _unpacked(response: httpx.Response, body: bytes, longest: int) -> bytes:
    """The body of an answer, which may be compressed once, and be so long at most.

    The client would unpack whatever it is sent, a few bytes to gigabytes.
    """
    encoding = response.headers.get("Content-Encoding", "identity")
    if encoding == "identity":
        return body
    if encoding != "gzip":
        raise ValueError("an encoding that was not asked for")
    unpacker = zlib.decompressobj(wbits=31)
    try:
        text = unpacker.decompress(body, longest)
    except zlib.error:
        raise ValueError("not compressed as it says") from None
    if not unpacker.eof:
        raise ValueError("an answer without end")
    return text


def check_version(url: str, response: httpx.Response) -> None:
    """Refuse what is not a devote server of this version."""
    version = response.headers.get(VERSION_HEADER)
    if version is None:
        raise not_ours(url)
    if version != str(VERSION):
        raise BoardRefused(
            f"{url} has version {version[:20]!r}, this end version {VERSION}.\n"
            "Upgrade the older of the two."
        )


def no_experiment(url: str) -> BoardRefused:
    """The error that a text is not the address of an experiment."""
    return BoardRefused(
        f"{url!r} is not the address of an experiment.\n"
        "Give one like http://127.0.0.1:8600/experiments/banner."
    )


def not_ours(url: str) -> BoardRefused:
    """The error that something else than a devote server answers."""
    return BoardRefused(
        f"What answers at {url} is not a devote server.\n"
        "Check the address, and that no proxy or login page answers in its place."
    )


def unreachable(url: str, error: Exception) -> BoardUnavailable | BoardRefused:
    """The error that a request has had no answer."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return BoardRefused(
                f"The certificate of {url} is not trusted: {cause.verify_message}.\n"
                "Check the address, or let this machine trust the certificate's authority, for "
                "example by SSL_CERT_FILE."
            )
        cause = cause.__cause__ or cause.__context__
    return BoardUnavailable(
        f"{url} cannot be reached ({type(error).__name__}).\n"
        "Check the address, the network, and that `devote serve` runs there; trying again is "
        "harmless.",
        is_sent=not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout),
    )


def retry_after(text: str) -> float:
    """The seconds that a Retry-After header asks for, 0 if it says nothing that can be read.

    >>> retry_after("120"), retry_after("soon"), retry_after("99999999")
    (120.0, 0.0, 3600.0)
    """
    try:
        if text.strip().isdecimal():
            seconds = float(text)
        else:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError):
        return 0.0
    return min(max(seconds, 0.0), LONGEST_WAIT)


def moved_to(response: httpx.Response) -> str | None:
    """Where a server answers that it has moved for good, or None; never from TLS to none.

    A token and an invite are not taken to another host.
    """
    if response.status_code not in _MOVED:
        return None
    request = response.request
    try:
        there = request.url.join(response.headers["Location"])
    except (httpx.InvalidURL, KeyError):
        return None
    if there.scheme not in ("http", "https") or not there.host:
        return None
    if request.url.scheme == "https" and there.scheme == "http":
        raise BoardRefused(
            f"{request.url} sends on to {there}, which has no TLS; that is not followed.\n"
            "Let the server redirect to an https address."
        )
    is_secret = "Authorization" in request.headers or _INVITE.encode() in request.content
    if there.host != request.url.host and is_secret:
        raise BoardRefused(
            f"{request.url} sends on to another host, {there.host}; that is not followed with an "
            "invite or a token.\nGive the new address."
        )
    return str(there)


def trusted() -> ssl.SSLContext:
    """The context with which ``httpx`` would check a server, made once.

    ``SSL_CERT_FILE`` and ``SSL_CERT_DIR`` count as they stand now.
    """
    return _context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _context(file: str | None, folder: str | None) -> ssl.SSLContext:
    return httpx.create_ssl_context()
