"""The summary of a simulation as a person likes to read it."""

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from devote.cli.terminal import console, duration, number, panel, probability, table

STANDINGS = {"proved": "green", "measured": "cyan", "claimed": "yellow", "refuted": "red"}
STATUS_WORDS = {
    "agreed": ("green", "every player holds the one shared arm"),
    "stalled": ("yellow", "players split over several arms: no message can settle it any more"),
    "unfinished": ("red", "the horizon came first"),
}
BOUNDS = {"claimed": "claimed bound", "proved": "proved bound"}
"""How columns are headed that do not have the bound's own name."""


def show_summary(summary: dict[str, Any]) -> None:
    """Print the table."""
    spec, failure = summary["spec"], summary["failure"]
    options = "".join(f" {name}={value}" for name, value in spec["options"].items())
    failed = Group(failure_table(failure, spec["delta"]), Text(failure["meaning"], style="dim"))
    standings = " · ".join(f"{one['name']} {standing(one)}" for one in summary["promises"])
    promises = Text.from_markup(f"[bold]promises[/]  {standings}")
    rate = number(summary["pulls_per_second"] / 1e6)
    console().print(
        panel(
            f"[bold]{summary['scheme']} {spec['algorithm']}{options}[/bold], "
            f"problem {summary['problem']['name']}, {summary['n_players']:,} players, "
            f"{len(spec['arms'])} arms",
            [_costs(summary), _endings(summary), failed, promises],
            f"[dim]{duration(summary['wall_seconds'])}, {rate} million pulls per second, "
            f"engine {summary['engine']}, seed {summary['seed']}[/dim]",
        )
    )


def _costs(summary: dict[str, Any]) -> RenderableType:
    n_players, needed = summary["n_players"], summary["votes_needed"]
    until_all = summary["samples_until_all_know"]
    device = {name: until_all[name] / n_players for name in ("mean", "std")}
    decide = "" if needed is None else f"; {needed} about one arm decide on it"
    rows = [
        ("samples", summary["samples"], "pulls of all together until the answer"),
        ("all know", until_all, "pulls until every player has the answer"),
        ("per device", device, "on average; some wake more often"),
        ("broadcasts", summary["broadcasts"], summary["sends"] + decide),
        ("deliveries", summary["deliveries"], f"a broadcast reaches {n_players - 1:,} others"),
        ("conflicts", summary["conflicts"], "players whose last arm the others voted out"),
    ]
    if summary["resets"]["mean"] > 0:
        rows.append(("resets", summary["resets"], "everything forgotten, a new term opened"))
    shown = [
        (name, number(value["mean"]), number(value["std"]), words)
        for name, value, words in rows
        if value
    ]
    return table("brrd", ("per trial", "mean", "± std", ""), shown)


def _endings(summary: dict[str, Any]) -> RenderableType:
    from devote.plan.promises import stalled_counts, winner_counts

    rows = []
    trials, needed = summary["trials"], summary["votes_needed"]
    for status, count in summary["status"].items():
        if count:
            colour, words = STATUS_WORDS[status]
            if summary["horizon"] and status == "unfinished":
                words = f"the horizon of {summary['horizon']:,} pulls came first"
            rows.append((status, f"[{colour}]{count}[/] of {trials}", words))
    for arm, count in winner_counts(summary["winners"]):
        rows.append((f"arm {arm} won", f"{count} of {trials}", _mean_words(summary, arm)))
    left = "still held" if needed is None else "still shared"
    for arms, count in stalled_counts(summary["shared"], summary["endings"]):
        names = ", ".join(map(str, arms))
        rows.append((f"{left}: arms {names}", f"{count} of {trials}", "the answer is this set"))
    good = f"within epsilon = {summary['spec']['epsilon']:g} of the best arm"
    first = probability(summary["epsilon_optimal"])
    if summary["status"]["stalled"] and needed is not None:
        rows += [
            ("holds a good arm", probability(summary["holds_epsilon_optimal"]), good),
            ("first arm is good", first, "of a set that is left, the likeliest arm"),
        ]
    else:
        rows.append(("good answers", first, good))
    return table("brd", ("", "", ""), rows, show_header=False)


def _mean_words(summary: dict[str, Any], arm: int) -> str:
    """What the winner paid when it won: means may change during a run."""
    won = zip(summary["winners"], summary["winner_means"], strict=True)
    means = [mean for winner, mean in won if winner == arm]
    low, high = min(means), max(means)
    if f"{low:.3g}" != f"{high:.3g}":
        return f"mean {low:.3g} to {high:.3g} at the end"
    changing = summary["problem"]["switches"] or summary["problem"]["drift"]
    return f"mean {low:.3g} at the end" if changing else f"mean {low:g}"


def standing(promise: dict[str, Any]) -> str:
    """What a promise is worth, in its colour."""
    return f"[{STANDINGS[promise['standing']]}]{promise['standing']}[/]"


def failure_table(failure: dict[str, Any], delta: float) -> RenderableType:
    """What was asked for, and beside it what is claimed or proved."""
    names = (BOUNDS.get(row["name"], row["name"]) for row in failure["bounds"])
    values = (probability(row["value"]) for row in failure["bounds"])
    heads = ("chance of a wrong answer", "asked for", *names)
    return table("br", heads, [("", probability(delta), *values)])
