"""A board behind a devote server, reached over HTTP.

An answer counts only if it carries the server's version header: a login page of a hotel's
network that answers 200 to everything must not pass for "your vote is there already".

What leaves the device is the path, the number read so far, and the messages themselves.
"""

import json
from collections.abc import AsyncIterator, Container
from contextlib import asynccontextmanager
from typing import Any

import httpx

from devote.boards import sse
from devote.boards.board import (
    Board,
    BoardRefused,
    BoardUnavailable,
    EndOfBacklog,
    EnrolmentRefused,
    Envelope,
    Event,
    Outcome,
    Posted,
    Snapshot,
)
from devote.boards.experiment import VERSION, VERSION_HEADER, Experiment, is_address
from devote.boards.identity import Identity
from devote.protocol import ProtocolError, SpecError
from devote.protocol.messages import MAX_ARMS, from_dict, to_dict

LONGEST_ANSWER = 64 * 2**20
_OUTCOMES = {201: Outcome.ACCEPTED, 200: Outcome.DUPLICATE, 403: Outcome.REFUSED}


class HttpBoard(Board):
    """The board at ``url``, for example ``http://127.0.0.1:8600/experiments/banner``.

    ``client`` is an ``httpx.AsyncClient`` to share between boards; without it the board has its
    own, which ``aclose`` (or ``async with``) closes. ``timeout`` bounds each request, and
    ``patience`` the silence on a stream: the server breaks it with heartbeats.
    """

    def __init__(
        self,
        url: str,
        client: httpx.AsyncClient | None = None,
        *,
        timeout: float = 10.0,
        patience: float = 30.0,
    ) -> None:
        self.url = url.rstrip("/")
        if not is_address(self.url) or "/experiments/" not in self.url:
            raise BoardRefused(
                f"{url!r} is not the address of an experiment.\n"
                "Give one like http://127.0.0.1:8600/experiments/banner."
            )
        self._own = client is None
        self._client = client or httpx.AsyncClient(headers={"User-Agent": "devote"})
        self._timeout = httpx.Timeout(timeout)
        self._patience = httpx.Timeout(timeout, read=patience)
        self._n_arms = MAX_ARMS

    async def aclose(self) -> None:
        """Close the connections this board has opened."""
        if self._own:
            await self._client.aclose()

    async def fetch_experiment(self) -> Experiment:
        """The experiment; BoardRefused if what answers is not a devote server of this version."""
        _, body = await self._request("GET", "")
        try:
            if body["version"] != VERSION:
                raise not_ours(self.url)
            experiment = Experiment.from_dict(body)
        except SpecError as error:
            raise BoardRefused(f"The specification at {self.url} is refused: {error}") from None
        except (KeyError, TypeError, AttributeError):
            raise not_ours(self.url) from None
        if experiment.name != self.url.rpartition("/")[2]:
            raise not_ours(self.url)
        self._n_arms = experiment.spec.n_arms
        return experiment

    async def enrol(self, identity: Identity, invite: str | None = None) -> Outcome:
        """Let this voter post; EnrolmentRefused if the server refuses."""
        signature = identity.sign_enrolment(self.url.rpartition("/")[2])
        request = {"voter": identity.voter, "signature": signature}
        if invite is not None:
            request["invite"] = invite
        return await self._post(
            "/enrolments", request, statuses=(200, 201), refused=EnrolmentRefused
        )

    async def publish(self, envelope: Envelope) -> Outcome:
        """Post a message."""
        posted = {"message": to_dict(envelope.message), "signature": envelope.signature}
        return await self._post("/messages", posted, statuses=_OUTCOMES)

    async def snapshot(self, after: int = 0) -> Snapshot:
        """All messages with a number above ``after``."""
        _, body = await self._request("GET", f"/messages?after={after}")
        try:
            if body["end"] is not True or not isinstance(body["number"], int):
                raise not_ours(self.url)
            return Snapshot(body["number"], tuple(self._posted(item) for item in body["messages"]))
        except (KeyError, TypeError):
            raise not_ours(self.url) from None

    async def stream(self, after: int = 0) -> AsyncIterator[Event]:
        """The messages above ``after``, one EndOfBacklog, then messages as they come.

        It never ends by itself: BoardUnavailable is raised when the connection does.
        """
        opened = self._answer("GET", f"/stream?after={after}", timeout=self._patience)
        async with opened as response:
            async for event in sse.decode(response.aiter_bytes()):
                yield self._event(event)
        raise BoardUnavailable(f"The stream of {self.url} has ended.\nRead on from where it did.")

    async def _post(self, path: str, body: Any, **expected: Any) -> Outcome:
        status, answer = await self._request("POST", path, body=body, **expected)
        outcome = _OUTCOMES[status]
        if not isinstance(answer, dict) or answer.get("outcome") != outcome:
            raise not_ours(self.url)
        return outcome

    async def _request(self, method: str, path: str, **options: Any) -> tuple[int, Any]:
        async with self._answer(method, path, **options) as response:
            return response.status_code, await _read(response)

    @asynccontextmanager
    async def _answer(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        timeout: httpx.Timeout | None = None,
        statuses: Container[int] = (200,),
        refused: type[BoardRefused] = BoardRefused,
    ) -> AsyncIterator[httpx.Response]:
        """What a devote server of this version answers, if with one of these statuses.

        ``refused`` is raised with the server's words for any other status.
        """
        # A cookie would let a server link what a device does; none is ever sent back.
        self._client.cookies.clear()
        options: dict[str, Any] = {"json": body, "timeout": timeout or self._timeout}
        try:
            async with self._client.stream(method, self.url + path, **options) as response:
                if response.status_code >= 500 or response.status_code == 429:
                    raise BoardUnavailable(
                        f"{self.url} answered {response.status_code}.\nTry again later."
                    )
                check_version(self.url, response)
                if response.status_code not in statuses:
                    raise refused(self._explain(response.status_code, await _read(response)))
                yield response
        except httpx.HTTPError as error:
            raise BoardUnavailable(
                f"{self.url} cannot be reached ({type(error).__name__}).\n"
                "Check that the server runs and the network is there; trying again is harmless."
            ) from None
        except (httpx.InvalidURL, ValueError):
            raise not_ours(self.url) from None

    def _event(self, event: sse.ServerEvent) -> Event:
        if event.event == sse.END:
            return EndOfBacklog(int(event.data))
        if event.event != sse.MESSAGE:
            raise not_ours(self.url)
        return self._posted(_parse(event.data))

    def _posted(self, item: Any) -> Posted:
        try:
            number, fields, signature = item["number"], item["message"], item["signature"]
            message = from_dict(fields, self._n_arms)
        except (KeyError, TypeError):
            raise not_ours(self.url) from None
        except ProtocolError as error:
            raise BoardRefused(f"A message at {self.url} is refused: {error}") from None
        if not isinstance(number, int) or not isinstance(signature, str):
            raise not_ours(self.url)
        return Posted(number, Envelope(message, signature))

    def _explain(self, status: int, body: Any) -> str:
        said = body.get("error") if isinstance(body, dict) else None
        why = f": {str(said)[:500]}" if said else " without saying why.\nCheck the address."
        return f"{self.url} answered {status}{why}"


def check_version(url: str, response: httpx.Response) -> None:
    """Refuse what is not a devote server of this version."""
    version = response.headers.get(VERSION_HEADER)
    if version is None:
        raise not_ours(url)
    if version != str(VERSION):
        raise BoardRefused(
            f"{url} speaks version {version[:20]!r}, this end version {VERSION}.\n"
            "Upgrade the older of the two."
        )


def not_ours(url: str) -> BoardRefused:
    """The error that something else than a devote server answers."""
    return BoardRefused(
        f"What answers at {url} is not a devote server.\n"
        "Check the address, and that no proxy or login page answers in its place."
    )


async def _read(response: httpx.Response) -> Any:
    body = bytearray()
    async for part in response.aiter_bytes():
        body += part
        if len(body) > LONGEST_ANSWER:
            raise ValueError("an answer without end")
    return _parse(bytes(body))


def _parse(body: bytes | str) -> Any:
    try:
        return json.loads(body)
    except RecursionError:
        raise ValueError("nested too deep") from None
