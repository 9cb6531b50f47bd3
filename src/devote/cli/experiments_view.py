"""The list of experiments as a table."""

from collections.abc import Sequence
from typing import Any

from devote.boards.board import ExperimentState
from devote.cli.terminal import console, number, table

HEADS = ("experiment", "state", "devices", "messages", "answer")
INVITES = ("used", "open", "expired")


def show(items: Sequence[dict[str, Any]]) -> None:
    """Print the table; how invites stand only where that is known."""
    heads = (*HEADS, "invites") if items and "invites" in items[0] else HEADS
    console().print(table("bl", heads, map(_row, items)))


def _row(item: dict[str, Any]) -> list[str]:
    of = "" if item["n_players"] is None else f" of {number(item['n_players'])}"
    gone = f", {number(item['revoked'])} revoked" if item.get("revoked") else ""
    stands = ExperimentState(item["state"], item["ends"]).words
    row = [item["name"], stands, number(item["enrolled"]) + of + gone, number(item["messages"])]
    row.append(_answer(item))
    if invites := item.get("invites"):
        counts = [f"{number(invites[kind])} {kind}" for kind in INVITES if invites[kind]]
        row.append(", ".join(counts) or "none")
    return row


def _answer(item: dict[str, Any]) -> str:
    if item["status"] == "agreed":
        return str(item["answer"][0])
    return f"stalled: {' or '.join(item['answer'])}" if item["status"] == "stalled" else "none yet"
