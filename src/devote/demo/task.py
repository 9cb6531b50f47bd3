"""What a process of the demonstration is told to do."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

JOIN_ATTEMPTS = 60
JOIN_PAUSE = 0.5


@dataclass(frozen=True)
class Task:
    """Which experiment to join, what users like, and which devices to run, each with its invite.

    Where devices are only asked now and then, ``answers`` says how often, and ``reply_after`` how
    many seconds after its choice each of them answers.
    """

    url: str
    folder: Path
    means: tuple[float, ...]
    invites: Mapping[int, str | None]
    seed: int
    answers: int = 0
    reply_after: float = 0.0
