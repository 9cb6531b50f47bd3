"""Rows that a command ran, kept in a JSON file from which its picture is drawn."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from devote.files import write_whole
from devote.simulator import ResultError


@dataclass(frozen=True)
class Sheet:
    """The base of what is saved; a subclass adds its fields."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    def save(self, path: str | Path) -> Path:
        """Write as JSON; the file appears whole or not at all."""
        return write_whole(path, json.dumps(self.to_dict(), allow_nan=False).encode())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what ``save`` wrote."""
        try:
            return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ResultError(
                f"{Path(path).name} is not a whole sweep ({type(error).__name__}).\n"
                "Run the sweep again."
            ) from None

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Read what ``to_dict`` gave; lists become tuples."""
        return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})
