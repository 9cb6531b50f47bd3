"""A player as it lies in the store: without its copy of the votes, which have their own table."""

from collections.abc import Iterable
from typing import Any

from devote.fleet.errors import StoreMismatch
from devote.fleet.schema import unreadable
from devote.protocol import (
    Ballot,
    ExperimentSpec,
    LocalProtocolError,
    Message,
    Player,
)


def player_fields(player: Player) -> dict[str, Any]:
    """All of a player but its ballot, as JSON values."""
    ballot = player.ballot
    player.ballot = Ballot(ballot.n_arms, ballot.quorum, ballot.n_seats)
    try:
        return player.to_dict()
    finally:
        player.ballot = ballot


def restore_player(
    path: str, spec: ExperimentSpec, fields: dict[str, Any], messages: Iterable[Message]
) -> Player:
    """The player that ``player_fields`` was taken of, with these messages on its ballot."""
    try:
        player = Player.from_dict(spec, fields)
        for message in messages:
            player.receive(message)
    except LocalProtocolError as error:
        raise StoreMismatch(f"The device store {path!r} does not fit: {error}") from None
    except Exception:
        # The cause is not chained: it may quote the player, whose rewards are private.
        raise unreadable(path) from None
    return player
