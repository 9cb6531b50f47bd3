"""A plan as a person likes to read it."""

from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from devote.cli.resets_view import resets_table
from devote.cli.simulate_view import STANDINGS, failure_table
from devote.cli.terminal import console, duration, number, probability

DAY = 86400.0


def show_plan(plan: dict[str, Any]) -> None:
    """Print the plan."""
    out = console()
    spec, problem = plan["spec"], plan["problem"]
    parts: list[RenderableType] = [
        Text(f"Arms: {problem['summary']}; who wakes: {problem['activity']}.", style="dim"),
        Text(),
        _costs(plan),
        Text(),
        *([resets_table(plan["resets"]), Text()] if plan["resets"] else []),
        _votes(plan),
        Text(),
        failure_table(plan["failure"], spec["delta"]),
        Text(),
        _promises(plan),
    ]
    out.print(
        Panel(
            Group(*parts),
            title=f"[bold]{plan['scheme']} {spec['algorithm']}[/bold], "
            f"{len(spec['arms'])} arms, {plan['n_players']:,} devices, "
            f"epsilon {spec['epsilon']:g}, delta {spec['delta']:g}, eta {spec['eta']:g}",
            title_align="left",
            padding=(1, 2),
            width=min(out.width, 100),
        )
    )


def _costs(plan: dict[str, Any]) -> RenderableType:
    simulated = plan["simulated"]
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("what to expect", style="bold")
    table.add_column("", justify="right")
    table.add_column(_how_simulated(simulated), style="dim")
    least = "at least " if simulated["unfinished"] else ""
    samples, device = simulated["samples"], simulated["per_device"]
    if decided := simulated["samples_to_decision"]:
        table.add_row("samples to decide", number(decided["mean"]), "the group has one answer")
    table.add_row(
        "samples",
        least + number(samples["mean"]),
        f"{_spread(simulated)} until the last device has heard of it".strip(),
    )
    for name, words in (("median", "median"), ("p90", "90 %"), ("busiest", "busiest")):
        if device[name] is not None:
            table.add_row(f"per device, {words}", least + number(device[name]), "")
    bound = plan["message_bound"]
    never = "" if bound is None else f"never more than {bound:,} "
    table.add_row(
        "broadcasts", least + number(simulated["broadcasts"]["mean"]), f"{never}{plan['sends']}"
    )
    table.add_row("deliveries", least + number(simulated["deliveries"]["mean"]), "")
    table.add_row("time", *_time(plan, least))
    table.add_row("Theorem 2", *_bound(plan))
    return table


def _time(plan: dict[str, Any], least: str) -> tuple[str, str]:
    if plan["days"] is None:
        return "?", "give --events-per-day, of all devices together"
    decided = plan["days_to_decision"]
    words = f"{duration(decided * DAY)} to decide; " if decided is not None else ""
    return (
        least + duration(plan["days"] * DAY),
        f"{words}at {number(plan['events_per_day'])} events per day, all devices together",
    )


def _how_simulated(simulated: dict[str, Any]) -> str:
    if simulated["unfinished"]:
        return "one run, cut off for time (--seconds)"
    if simulated["trials"] == 1:
        [ended] = (name for name, count in simulated["status"].items() if count)
        return f"one simulated run, {ended}"
    ended = ", ".join(f"{count} {name}" for name, count in simulated["status"].items() if count)
    return f"mean of {simulated['trials']} simulated runs: {ended}"


def _spread(simulated: dict[str, Any]) -> str:
    return f"± {number(simulated['samples']['std'])}" if simulated["trials"] > 1 else ""


def _bound(plan: dict[str, Any]) -> tuple[str, str]:
    bound = plan["theorem_2"]
    if bound is None:
        simulated = plan["simulated"]
        measured = simulated["samples_to_decision"] or simulated["samples"]
        return "-", f"{plan['why_no_theorem_2']} Simulated: {number(measured['mean'])}."
    return (
        f"<= {number(bound['samples'])}",
        f"samples, with probability {probability(bound['probability'])}, and about "
        f"{number(bound['last_player_wait'])} more until the last device has woken; if each of the "
        f"{plan['votes_needed']} most active is right and needs at most "
        f"{number(bound['single_player_samples'])} (the most of the devices simulated alone)",
    )


def _votes(plan: dict[str, Any]) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="dim")
    stall = "[yellow]yes[/]" if plan["stall_possible"] else "[green]no[/]"
    facts = {"votes needed": plan["votes_needed"], **plan["facts"], "can stall": stall}
    for name in facts:
        table.add_column(name, justify="right")
    table.add_row(*map(str, facts.values()))
    return table


def _promises(plan: dict[str, Any]) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("promise", style="bold", no_wrap=True)
    table.add_column("standing", no_wrap=True)
    table.add_column("in words")
    for promise in plan["promises"]:
        standing = promise["standing"]
        table.add_row(promise["name"], f"[{STANDINGS[standing]}]{standing}[/]", promise["words"])
    return table


def show_sweep(sweep: dict[str, Any], picture: Path, data: Path) -> None:
    """Print the numbers behind the picture, and where it is."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in (sweep["axis"], "votes needed", "samples", "± std", "broadcasts", "agreed"):
        table.add_column(name, justify="right")
    for value, row in zip(sweep["values"], sweep["rows"], strict=True):
        table.add_row(
            number(value),
            str(row["votes_needed"]),
            number(row["samples"]["mean"]),
            number(row["samples"]["std"]),
            number(row["broadcasts"]["mean"]),
            f"{row['status']['agreed']} of {row['trials']}",
        )
    console().print(table, f"\nPicture: {picture}\nData: {data}")
