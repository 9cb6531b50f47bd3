"""The lines of a results file: JSON with a checksum, and a trial as the values of one."""

import json
import zlib
from typing import Any

from devote.simulate.result import COLUMNS, JUDGEMENTS
from devote.simulate.trial import NEVER, STATUSES, Point, Record, Trial


def to_line(values: dict[str, Any]) -> bytes:
    """A whole line."""
    text = json.dumps(values, separators=(",", ":"))
    return f'{text[:-1]},"crc":{zlib.crc32(text.encode())}}}\n'.encode()


def from_line(line: bytes) -> dict[str, Any] | None:
    """The values of a whole line, None for anything else."""
    text, mark, crc = line.rpartition(b',"crc":')
    if not mark or crc != b"%d}" % zlib.crc32(text + b"}"):
        return None
    values: dict[str, Any] = json.loads(text + b"}")
    return values


def trial_to_dict(run: Trial) -> dict[str, Any]:
    """A trial as JSON values; its trace is left out."""
    values = {
        **{name: getattr(run, name) for name in (*COLUMNS, *JUDGEMENTS)},
        "status": run.status,
        "winners": run.winners,
        # Few of many players ever vote: pairs of who and when.
        "first_vote": [[n, pulls] for n, pulls in enumerate(run.first_vote) if pulls != NEVER],
    }
    return values if run.record is None else {**values, "record": run.record}


def trial_from_dict(values: dict[str, Any], n_players: int) -> Trial:
    """The trial of a line, also of one that an earlier version wrote."""
    first_vote = [NEVER] * n_players
    for n, pulls in values["first_vote"]:
        first_vote[n] = pulls
    record = None
    if "record" in values:
        points, arms, players = values["record"]
        record = Record(tuple(Point(*point) for point in points), tuple(arms), tuple(players))
    return Trial(
        **{name: values.get(name, NEVER) for name in COLUMNS},
        epsilon_optimal=values["epsilon_optimal"],
        holds_epsilon_optimal=values.get("holds_epsilon_optimal", values["epsilon_optimal"]),
        status=STATUSES[STATUSES.index(values["status"])],
        winners=tuple(values["winners"]),
        first_vote=tuple(first_vote),
        record=record,
    )
