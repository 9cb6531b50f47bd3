"""Pages of a log as they are sent: as they are and compressed, each made once and kept a while."""

import gzip
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from devote.boards.pages import PAGE, page_tag
from devote.protocol.wire import Scope

KEPT = 16
"""Pages kept in memory, those asked for last; a page takes up to half a megabyte."""

LEAST = 1_024
"""What is shorter is not worth compressing."""

Row = tuple[int, str, str]
"""Number, JSON text and signature of a message."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its JSON, the same compressed if that is worth it, and its name."""

    body: bytes
    packed: bytes | None
    tag: str
    full: bool


def as_item(number: int, message: str, signature: str) -> bytes:
    """A message of the store as JSON, as it is sent."""
    return f'{{"number":{number},"message":{message},"signature":"{signature}"}}'.encode()


def pack(body: bytes) -> bytes | None:
    """A body compressed, or None if it is too short for that."""
    # The same bytes on every server and at any time: no moment is written into it.
    return gzip.compress(body, compresslevel=4, mtime=0) if len(body) >= LEAST else None


def make_page(number: int, rows: Iterable[Row], scope: Scope) -> Page:
    """The page of this number that holds these messages."""
    listed = list(rows)
    full = len(listed) == PAGE
    items = b",".join(as_item(*row) for row in listed)
    head = f'{{"board":"{scope.board}","fingerprint":"{scope.fingerprint}","page":{number},'
    rest = f'"full":{"true" if full else "false"},"messages":['
    body = (head + rest).encode() + items + b"]}"
    return Page(body, pack(body), page_tag(row[2] for row in listed), full)


class KeptPages:
    """The pages that were asked for last."""

    def __init__(self, most: int = KEPT) -> None:
        self._most = most
        self._pages: OrderedDict[int, Page] = OrderedDict()

    def get(self, number: int) -> Page | None:
        """A page that is kept."""
        page = self._pages.get(number)
        if page is not None:
            self._pages.move_to_end(number)
        return page

    def keep(self, number: int, page: Page) -> None:
        """Keep a full page."""
        self._pages[number] = page
        if len(self._pages) > self._most:
            self._pages.popitem(last=False)

    def clear(self) -> None:
        """Forget all pages."""
        self._pages.clear()
