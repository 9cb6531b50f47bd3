"""What any client of a devote server makes of an answer, or of none.

An answer counts only if it carries the server's version header: a login page of a hotel's network
that answers 200 to everything must not pass for "your vote is there already". A server that has
moved for good is followed, to TLS but never away from it.
"""

import ssl
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

import httpx

from devote.boards.board import BoardRefused, BoardUnavailable
from devote.boards.experiment import VERSION_HEADER
from devote.protocol.wire import VERSION

LONGEST_ANSWER = 64 * 2**20

HOPS = 5
"""So many redirects are followed, one after another."""

LONGEST_WAIT = 3_600.0
"""So many seconds a server can ask to be left alone: a broken one must not silence devices."""

PLAIN = {"Accept-Encoding": "identity"}
"""Asks for an answer as it is: a compressed one of a few kilobytes can unpack to gigabytes."""

_MOVED = (httpx.codes.MOVED_PERMANENTLY, httpx.codes.PERMANENT_REDIRECT)


def check_version(url: str, response: httpx.Response) -> None:
    """Refuse what is not a devote server of this version, or is compressed, before it is read."""
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise BoardRefused(
            f"{url} answered with a compressed body, which was not asked for.\n"
            "Let no proxy in front of the server compress."
        )
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
        "Check that the server runs and the network is there; trying again is harmless.",
        is_sent=not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout),
    )


def check_busy(url: str, response: httpx.Response) -> None:
    """Raise BoardUnavailable for what a server in trouble answers, with when to ask again."""
    status = response.status_code
    if status >= 500 or status == httpx.codes.TOO_MANY_REQUESTS:
        wait = retry_after(response.headers.get("Retry-After", ""))
        raise BoardUnavailable(f"{url} answered {status}.\nTry again later.", retry_after=wait)


def retry_after(text: str) -> float:
    """The seconds that a Retry-After header asks for, 0 if it says nothing that can be read.

    >>> retry_after("120"), retry_after("soon"), retry_after("99999999")
    (120.0, 0.0, 3600.0)
    """
    try:
        seconds = float(text) if text.strip().isdecimal() else _until(text)
    except (ValueError, TypeError, OverflowError):
        return 0.0
    return min(max(seconds, 0.0), LONGEST_WAIT)


def _until(date: str) -> float:
    return parsedate_to_datetime(date).timestamp() - time()


def is_same_host(one: str, other: str) -> bool:
    """Whether two addresses are of one host."""
    return httpx.URL(one).host == httpx.URL(other).host


def moved_to(response: httpx.Response, *, is_secret: bool = False) -> str | None:
    """Where a server says that it has moved for good, or None; never from TLS to none.

    What is secret, a token or an invite, is not taken to another host.
    """
    if response.status_code not in _MOVED:
        return None
    try:
        there = response.request.url.join(response.headers["Location"])
    except (httpx.InvalidURL, KeyError):
        return None
    if there.scheme not in ("http", "https") or not there.host:
        return None
    if response.request.url.scheme == "https" and there.scheme == "http":
        raise BoardRefused(
            f"{response.request.url} sends on to {there}, which has no TLS; that is not followed.\n"
            "Let the server redirect to an https address."
        )
    if is_secret and there.host != response.request.url.host:
        raise BoardRefused(
            f"{response.request.url.host} sends on to {there.host}, another host, to which no "
            "token and no invite is sent.\nIf that is right, use the new address."
        )
    return str(there)


def get(client: httpx.Client, method: str, url: str, **options: Any) -> httpx.Response:
    """A whole answer, from wherever the server has moved to."""
    is_secret = "Authorization" in client.headers
    for _ in range(HOPS + 1):
        request = client.build_request(method, url, headers=PLAIN, **options)
        response = client.send(request, stream=True)
        try:
            there = moved_to(response, is_secret=is_secret)
            if there is None:
                check_version(url, response)
                response.read()
                return response
        finally:
            response.close()
        url = there
    raise httpx.TooManyRedirects("too many redirects")
