"""A comparison of schemes as a person likes to read it."""

from json import dumps
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from devote.cli.terminal import CLOSE, console, duration, number, panel, table
from devote.protocol.scheme import SCHEMES

DAY = 86400.0
HEADS = ("scheme", "samples", "messages", "time", "error", "privacy", "liars")


def show_comparison(found: dict[str, Any]) -> None:
    """Print the table, what to use and why, or what to relax."""
    privacy = "none" if found["privacy"] is None else f"{found['privacy']:g}"
    parts: list[RenderableType] = [
        Text(
            f"Asked for: epsilon {found['epsilon']:g}, delta {found['delta']:g}, privacy "
            f"{privacy}; {found['plays_per_day']:g} plays a day each.\n"
            f"Arms: {found['problem']['summary']}.",
            style="dim",
        ),
        table("Br", HEADS, map(_row, found["schemes"]), **CLOSE),
        table("Bl", ("scheme", "asks of each device"), map(_asks, found["schemes"])),
        _notes(found),
        *([_cannot(found)] if any(row["cannot"] for row in found["schemes"]) else []),
        _verdict(found),
    ]
    console().print(
        panel(
            f"[bold]{found['n_players']:,} devices[/bold], {found['n_arms']} options",
            parts,
        )
    )


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    about = "" if row["simulated_runs"] else "~"
    error, privacy = row["proved_error"], row["proved_privacy"]
    colour = "red" if row["cannot"] else "green"
    return (
        f"[{colour}]{row['scheme']}[/]",
        _count(row["samples"], about),
        _count(row["messages"], about),
        "-" if row["days"] is None else about + duration(row["days"] * DAY),
        "-" if error is None else f"<= {error:.2g}",
        "-" if privacy is None else f"e = {privacy:g}",
        _count(row["liars_to_turn"], ""),
    )


def _asks(row: dict[str, Any]) -> tuple[str, str]:
    return row["scheme"], row["asks"] or "-"


def _count(value: float | None, about: str) -> str:
    return "-" if value is None else about + number(round(value))


def _notes(found: dict[str, Any]) -> Text:
    runs = [
        f"{row['scheme']} {row['answered']} of {row['simulated_runs']} runs came to one answer"
        for row in found["schemes"]
        if row["simulated_runs"]
    ]
    simulated = f"Simulated: {', '.join(runs)}. " if runs else ""
    return Text(
        f"{simulated}~ is a forecast, at most about this. Samples, messages and time are until "
        "there is an answer. Error and privacy are what is proved, - where nothing is. Liars: the "
        "fewest lying devices that can turn the answer.",
        style="dim",
    )


def _cannot(found: dict[str, Any]) -> RenderableType:
    rows = [(row["scheme"], "; ".join(row["cannot"])) for row in found["schemes"] if row["cannot"]]
    return table("Bl", ("cannot", "because"), rows)


def _verdict(found: dict[str, Any]) -> RenderableType:
    if found["use"] is not None:
        [row] = [row for row in found["schemes"] if row["scheme"] == found["use"]]
        return Text.assemble((f"Use {found['use']}. ", "bold"), found["why"], "\n", _settings(row))
    if not found["relax"]:
        return Text("No scheme can do this, and no single change helps: relax several.")
    words = [one["words"] for one in found["relax"]]
    rows = [("or" if place else "either", word) for place, word in enumerate(words)]
    return table("Bl", ("No scheme can do this.", "What would do:"), rows)


def _settings(row: dict[str, Any]) -> str:
    """What to write in the specification, for what differs from the defaults."""
    spec = row["spec"]
    scheme = SCHEMES[row["scheme"]]()
    parameters = [
        f"{name} = {dumps(value)}"
        for name, value in spec["scheme"].items()
        if name == "name" or value != scheme.to_dict()[name]
    ]
    eta = "" if spec["eta"] == scheme.default_eta else f"\n  eta = {spec['eta']:g}"
    return (
        f"In its specification:\n  algorithm = {dumps(spec['algorithm'])}{eta}\n"
        f"  scheme = {{ {', '.join(parameters)} }}"
    )
