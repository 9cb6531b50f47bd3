"""Specifications of version 1, which had the schemes' parameters among their own fields."""

from typing import Any

from devote.protocol import spec
from devote.protocol.errors import SpecError

VERSION = 1
_JURY = {"seat_after": 50, "absent": 0}
_GONE = ("protocol", "quorum", "phi", *_JURY)


def register() -> None:
    """Let specifications of this version be read."""
    spec.OLD_VERSIONS[VERSION] = to_today
    spec.OLD_FIELDS.update(dict.fromkeys(_GONE, VERSION))


def to_today(given: dict[str, Any]) -> dict[str, Any]:
    """The same specification in today's fields; SpecError if its own contradict each other."""
    values = {name: value for name, value in given.items() if name not in _GONE}
    protocol = given.get("protocol", "decentralized")
    if "scheme" in given:
        old = ", ".join(name for name in _GONE if name in given)
        raise SpecError(
            f"{old} and scheme are given together, and are fields of different versions.\n"
            "Keep scheme, and write its parameters below [scheme]."
        )
    if protocol == "jury":
        raise SpecError(
            "This experiment was opened with the first form of the jury, which is gone.\n"
            "Open a new one with the scheme jury: its jurors learn alone and post one pick each."
        )
    for name, default in _JURY.items():
        if given.get(name, default) != default:
            raise SpecError(
                f"{name}={given[name]!r} is a jury's, but the protocol is {protocol}.\n"
                f"Remove {name}, or use the scheme jury."
            )
    if given.get("phi"):
        values["options"] = {**given.get("options", {}), "phi": given["phi"]}
    values["scheme"] = {"name": protocol}
    if "quorum" in given and protocol == "decentralized":
        values["scheme"]["quorum"] = given["quorum"]
    return values
