"""The summary of a simulation as a person likes to read it."""

from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from devote.cli.terminal import console, duration, number, probability

STANDINGS = {"proved": "green", "measured": "cyan", "claimed": "yellow", "refuted": "red"}
STATUS_WORDS = {
    "agreed": ("green", "every player holds the one shared arm"),
    "stalled": ("yellow", "players split over several arms: no message can settle it any more"),
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
        f"[bold]{summary['scheme']} {spec['algorithm']}{options}[/bold], "
        f"problem {summary['problem']['name']}, {summary['n_players']:,} players, "
        f"{len(spec['arms'])} arms"
    )


def _costs(summary: dict[str, Any]) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("per trial", style="bold")
    table.add_column("mean", justify="right")
    table.add_column("± std", justify="right")
    table.add_column("", style="dim")
    n_players = summary["n_players"]
    samples = summary["samples"]
    rows = [
        ("samples", samples, "pulls of all players together"),
        *(
            [("to decide", decided, "until the group has its answer; the rest hear of it later")]
            if (decided := summary["samples_to_decision"])
            else []
        ),
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
    needed = summary["votes_needed"]
    decide = "" if needed is None else f"; {needed} about one arm decide on it"
    return f"{summary['sends']}{decide}"


def _scaled(value: dict[str, Any], factor: float) -> dict[str, float]:
    return {"mean": value["mean"] * factor, "std": value["std"] * factor}


def _endings(summary: dict[str, Any]) -> RenderableType:
    from devote.guarantees.summary import stalled_counts, winner_counts

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
    trials = summary["trials"]
    for arm, count in winner_counts(summary["winners"]):
        table.add_row(f"arm {arm} won", f"{count} of {trials}", _mean_words(summary, arm))
    left = "still held" if summary["votes_needed"] is None else "still shared"
    for arms, count in stalled_counts(summary["shared"], summary["endings"]):
        names = ", ".join(map(str, arms))
        table.add_row(f"{left}: arms {names}", f"{count} of {trials}", "the answer is this set")
    good = f"within epsilon = {summary['spec']['epsilon']:g} of the best arm"
    if summary["status"]["stalled"] and summary["votes_needed"] is not None:
        table.add_row("holds a good arm", probability(summary["holds_epsilon_optimal"]), good)
        table.add_row(
            "first arm is good",
            probability(summary["epsilon_optimal"]),
            "of a set that is left, the likeliest arm",
        )
    else:
        table.add_row("good answers", probability(summary["epsilon_optimal"]), good)
    return table


def _mean_words(summary: dict[str, Any], arm: int) -> str:
    """What the winner paid when it won: means may change during a run."""
    won = zip(summary["winners"], summary["winner_means"], strict=True)
    means = [mean for winner, mean in won if winner == arm]
    low, high = min(means), max(means)
    if f"{low:.3g}" == f"{high:.3g}":
        return f"mean {low:.3g} at the end" if _changing(summary["problem"]) else f"mean {low:g}"
    return f"mean {low:.3g} to {high:.3g} at the end"


def _changing(problem: dict[str, Any]) -> bool:
    return bool(problem["switches"] or problem["drift"])


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


BOUNDS = {
    "claimed": "claimed bound",
    "if one arm is good": "if one arm is good",
    "proved": "proved bound",
}
"""How the columns are headed."""


def failure_table(failure: dict[str, Any], delta: float) -> RenderableType:
    """What was asked for, and beside it what is claimed or proved."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("chance of a wrong answer", style="bold")
    for name in ("asked for", *(BOUNDS[row["name"]] for row in failure["bounds"])):
        table.add_column(name, justify="right")
    values = (probability(row["value"]) for row in failure["bounds"])
    table.add_row("", probability(delta), *values)
    return table


def _speed(summary: dict[str, Any]) -> str:
    rate = number(summary["pulls_per_second"] / 1e6)
    return (
        f"[dim]{duration(summary['wall_seconds'])}, {rate} million pulls per second, "
        f"seed {summary['seed']}[/dim]"
    )
