"""The root of every error that devote raises on purpose, and the hint about a misspelt name.

A message names the value, the rule and the remedy; a reward or a count of pulls never appears in
one.
"""

import difflib
from collections.abc import Iterable


class DevoteError(Exception):
    """Something that devote cannot do as asked."""


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """A hint at the nearest known name, to be put before the remedy; empty if none is near.

    >>> did_you_mean("ser33", ["ser3", "lucb"])
    "Did you mean 'ser3'? "
    """
    near = difflib.get_close_matches(str(word), list(known), n=1, cutoff=0.4)
    return f"Did you mean {near[0]!r}? " if near else ""
