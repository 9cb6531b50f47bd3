"""The summary of a simulation as a person likes to read it."""

from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from devote.cli.showing import console, duration, number, probability

STANDINGS = {"proved": "green", "measured": "cyan", "claimed": "yellow", "refuted": "red"}
STATUS_WORDS = {
    "agreed": ("green", "every player holds the one shared arm"),
    "stalled": ("yellow", "players split over near-equal arms: no quorum can form any more"),
    "unfinished": ("red", "the horizon came first"),
}


def show_summary(summary: dict[str, Any]) -> None:
    """Print the table."""
    console().print(
        Panel(
            Group(_costs(summary), Text(), _endings(summary), Text(), _failure(summary)),
            title=title(summary),
            subtitle=_speed(summary),
            title_align="left",
            subtitle_align="right",
            padding=(1, 2),
            width=min(console().width, 100),
        )
    )


def title(summary: dict[str, Any]) -> str:
    """What was run, in one line."""
    spec = summary["spec"]
    options = "".join(f" {name}={value}" for name, value in spec["options"].items())
    return (
        f"[bold]{summary['protocol']} {spec['algorithm']}{options}[/bold], "
        f"problem {summary['problem']['name']}, {summary['players']:,} players, "
        f"{len(spec['arms'])} arms"
    )


def _costs(summary: dict[str, Any]) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("per trial", style="bold")
    table.add_column("mean", justify="right")
    table.add_column("± std", justify="right")
    table.add_column("", style="dim")
    n_players = summary["players"]
    samples = summary["samples"]
    rows = [
        ("samples", samples, "pulls of all players together"),
        ("per device", _scaled(samples, 1.0 / n_players), "on average; some wake more often"),
        ("broadcasts", summary["broadcasts"], _broadcast_words(summary)),
        ("deliveries", summary["deliveries"], f"a broadcast reaches {n_players - 1:,} others"),
        ("conflicts", summary["conflicts"], "players whose last arm the others voted out"),
    ]
    if summary["resets"]["mean"] > 0:
        rows.append(("resets", summary["resets"], "everything forgotten, a new term opened"))
    for name, value, words in rows:
        table.add_row(name, number(value["mean"]), number(value["std"]), words)
    return table


def _broadcast_words(summary: dict[str, Any]) -> str:
    if summary["protocol"] == "pooled":
        return "every sample is sent"
    if summary["quorum"] is None:
        return "nothing is sent"
    return f"votes; {summary['quorum']} against an arm eliminate it"


def _scaled(value: dict[str, Any], factor: float) -> dict[str, float]:
    return {"mean": value["mean"] * factor, "std": value["std"] * factor}


def _endings(summary: dict[str, Any]) -> RenderableType:
    from devote.simulate.summary import winner_counts

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    for status, count in summary["status"].items():
        if count:
            colour, words = STATUS_WORDS[status]
            if summary["horizon"] and status == "unfinished":
                words = f"the horizon of {summary['horizon']:,} pulls came first"
            table.add_row(status, f"[{colour}]{count}[/] of {summary['trials']}", words)
    means = summary["problem"]["means"]
    for arm, count in winner_counts(summary["winners"]):
        table.add_row(f"arm {arm} won", f"{count} of {summary['trials']}", f"mean {means[arm]:g}")
    table.add_row(
        "good answers",
        probability(summary["epsilon_optimal"]),
        f"within epsilon = {summary['spec']['epsilon']:g} of the best arm",
    )
    return table


def _failure(summary: dict[str, Any]) -> RenderableType:
    failure = summary["failure"]
    table = failure_table(failure, summary["spec"]["delta"])
    return Group(table, Text(failure["meaning"], style="dim"), Text(), _standings(summary))


def _standings(summary: dict[str, Any]) -> RenderableType:
    """What each promise is worth, in a line; ``devote plan`` tells why."""
    words = " · ".join(
        f"{promise['name']} [{STANDINGS[promise['standing']]}]{promise['standing']}[/]"
        for promise in summary["promises"]
    )
    return Text.from_markup(f"[bold]promises[/]  {words}")


def failure_table(failure: dict[str, Any], delta: float) -> RenderableType:
    """The claimed and the honest bound side by side."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("chance of a wrong answer", style="bold")
    for name in ("asked for", "claimed bound", "honest bound"):
        table.add_column(name, justify="right")
    table.add_row(
        "", probability(delta), probability(failure["claimed"]), probability(failure["honest"])
    )
    return table


def _speed(summary: dict[str, Any]) -> str:
    rate = number(summary["pulls_per_second"] / 1e6)
    return (
        f"[dim]{duration(summary['wall_seconds'])}, {rate} million pulls per second, "
        f"seed {summary['seed']}[/dim]"
    )
