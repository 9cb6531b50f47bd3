"""The list of experiments as a table."""

from collections.abc import Sequence
from typing import Any

from devote.boards.standing import written
from devote.cli.terminal import console, number, table

HEADS = ("experiment", "state", "scheme", "devices", "messages", "answer")
INVITES = ("invites used", "open", "expired")


def stands(item: dict[str, Any]) -> str:
    """How an experiment stands, in words.

    >>> stands({"state": "open", "ends": 1793491200})
    'open until 2026-11-01 00:00 UTC'
    """
    if item["ends"] is None or item["state"] == "archived":
        return str(item["state"])
    since = "until" if item["state"] == "open" else "with the end"
    return f"{item['state']} {since} {written(item['ends'])}"


def show(items: Sequence[dict[str, Any]]) -> None:
    """Print the table; how invites stand only where that is known."""
    heads = HEADS + (INVITES if items and "invites" in items[0] else ())
    console().print(table("bl", heads, map(_row, items)))


def _row(item: dict[str, Any]) -> list[str]:
    of = "" if item["n_players"] is None else f" of {number(item['n_players'])}"
    gone = f", {number(item['revoked'])} revoked" if item.get("revoked") else ""
    devices = number(item["enrolled"]) + of + gone
    row = [item["name"], stands(item), item["scheme"], devices, number(item["messages"])]
    row.append(_answer(item))
    if invites := item.get("invites"):
        row += [number(invites[kind]) for kind in ("used", "open", "expired")]
    return row


def _answer(item: dict[str, Any]) -> str:
    if item["status"] == "agreed":
        return str(item["answer"][0])
    return f"stalled: {' or '.join(item['answer'])}" if item["status"] == "stalled" else "none yet"
