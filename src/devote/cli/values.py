"""From the texts of the command line to values.

Only what the library cannot see is checked here: whether a text is a list, a pair or a number.
"""

from collections.abc import Sequence

from devote.cli.errors import CommandError


def read_means(text: str) -> tuple[float, ...]:
    """A list of means.

    >>> read_means(".7, .5,.1")
    (0.7, 0.5, 0.1)
    """
    words = [word.strip() for word in text.split(",")]
    for place, word in enumerate(words):
        if isinstance(_value(word), str):
            fault = f"{word!r}" if word else "nothing"
            raise CommandError(
                f"--means {text!r} has {fault} in place {place + 1}, not a number.\n"
                "Write numbers in [0, 1] separated by commas, such as .7,.5,.3"
            )
    return tuple(map(float, words))


def read_pairs(flag: str, words: Sequence[str] | None) -> dict[str, str | float]:
    """Names with values; what looks like a number is one.

    >>> read_pairs("--set", ["quorum=5", "privacy=2.5", "quorum=ceil"])
    {'quorum': 'ceil', 'privacy': 2.5}
    """
    pairs: dict[str, str | float] = {}
    for word in words or ():
        name, equals, value = (part.strip() for part in word.partition("="))
        if not (name and equals and value):
            raise CommandError(f"{flag} {word!r} is not a pair.\nWrite it as name=value.")
        pairs[name] = _value(value)
    return pairs


def _value(text: str) -> str | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
