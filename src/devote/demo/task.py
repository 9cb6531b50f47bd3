"""What a process of the demonstration is told to do."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
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

    def to_json(self) -> str:
        """As JSON text, for another process."""
        return json.dumps({**asdict(self), "folder": str(self.folder)})

    @classmethod
    def from_json(cls, text: str | bytes) -> "Task":
        """Read what ``to_json`` gave."""
        values = json.loads(text)
        values["folder"] = Path(values["folder"])
        values["means"] = tuple(values["means"])
        values["invites"] = {int(number): text for number, text in values["invites"].items()}
        return cls(**values)
