"""A device's row, as its store holds it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from devote.fleet.bookmark import Bookmark
from devote.fleet.plays import Fate
from devote.protocol import ExperimentSpec
from devote.protocol.wire import Scope

COLUMNS = (
    "spec, board, fingerprint, address, players, secret, enrolled, player, pending_at, reply_at,"
    " plays, cursor, anchor, complete"
)


@dataclass(frozen=True, slots=True)
class Saved:
    """The device's row as it stands.

    ``scope`` is the board and the specification of the first join, for good.
    """

    address: str
    scope: Scope
    spec: ExperimentSpec
    players: int | None
    secret: bytes
    enrolled: bool
    player: dict[str, Any]
    pending_at: float | None
    reply_at: float | None
    plays: dict[str, Fate]
    bookmark: Bookmark

    @classmethod
    def read(cls, row: Sequence[Any]) -> "Saved":
        """Decode ``COLUMNS``; any error says that the row is damaged."""
        text, board, fingerprint, address, players, secret, enrolled, player, *rest = row
        pending_at, reply_at, plays, number, anchor, complete = rest
        spec = _spec(text)
        if spec.fingerprint != fingerprint:
            raise ValueError("another specification")
        return cls(
            address=address,
            scope=Scope(board, fingerprint),
            spec=spec,
            players=players,
            secret=secret,
            enrolled=bool(enrolled),
            player=json.loads(player),
            pending_at=pending_at,
            reply_at=reply_at,
            plays=json.loads(plays),
            bookmark=Bookmark(number, tuple(anchor.split()), bool(complete)),
        )

    def __repr__(self) -> str:
        return f"Saved({self.address!r}, {self.spec.name!r})"


@lru_cache(maxsize=64)
def _spec(text: str) -> ExperimentSpec:
    """One specification for all devices of a process that have the same."""
    return ExperimentSpec.from_json(text)
