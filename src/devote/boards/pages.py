"""The log in fixed pages, so that any cache can keep them: a full page never changes.

A page is named after what it holds, by rules that do not depend on who serves it. A device works
the name out for itself: by one that a server chose it could be known again.
"""

import hashlib
from collections.abc import Iterable

PAGE = 1_000
"""Messages on a full page."""


def page_of(number: int) -> int:
    """The page that holds a message; pages and messages are counted from 1.

    >>> page_of(1), page_of(1_000), page_of(1_001)
    (1, 1, 2)
    """
    return (number - 1) // PAGE + 1


def page_tag(signatures: Iterable[str]) -> str:
    """The name of a page with these signatures, which stand for all that it holds.

    >>> page_tag([])
    'e3b0c44298fc1c149afbf4c8996fb924'
    """
    return hashlib.sha256("".join(signatures).encode()).hexdigest()[:32]
