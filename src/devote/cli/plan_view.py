"""A plan as a person likes to read it."""

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from devote.cli.simulate_view import failure_table, standing
from devote.cli.terminal import console, duration, number, panel, probability, table

DAY = 86400.0


def show_plan(plan: dict[str, Any]) -> None:
    """Print the plan."""
    spec, problem = plan["spec"], plan["problem"]
    stall = "[yellow]yes[/]" if plan["stall_possible"] else "[green]no[/]"
    facts = {"votes needed": plan["votes_needed"], **plan["facts"], "can stall": stall}
    promises = [(one["name"], standing(one), one["words"]) for one in plan["promises"]]
    console().print(
        panel(
            f"[bold]{plan['scheme']} {spec['algorithm']}[/bold], "
            f"{len(spec['arms'])} arms, {plan['n_players']:,} devices",
            [
                Text(
                    f"Asked for: epsilon {spec['epsilon']:g}, delta {spec['delta']:g}, "
                    f"eta {spec['eta']:g}.\n"
                    f"Arms: {problem['summary']}; who wakes: {problem['activity']}.",
                    style="dim",
                ),
                *(Text(warning, style="yellow") for warning in plan["warnings"]),
                _costs(plan),
                *([_resets(plan["resets"])] if plan["resets"] else []),
                table("r", tuple(facts), [map(str, facts.values())]),
                failure_table(plan["failure"], spec["delta"]),
                table("BLl", ("promise", "standing", "in words"), promises, padding=(0, 2, 0, 0)),
            ],
        )
    )


def _costs(plan: dict[str, Any]) -> RenderableType:
    simulated = plan["simulated"]
    samples, device = simulated["samples_until_all_know"], simulated["per_device"]
    spread = f"± {number(samples['std'])} " if simulated["trials"] > 1 else ""
    bound = plan["message_bound"]
    never = "" if bound is None else f"never more than {bound:,} "
    rows = [
        ("until all know", samples["mean"], f"{spread}samples until every device has the answer")
    ]
    for name, words in (("median", "median"), ("p90", "90 %"), ("busiest", "busiest")):
        if device[name] is not None:
            rows.append((f"per device, {words}", device[name], ""))
    rows += [
        ("broadcasts", simulated["broadcasts"]["mean"], f"{never}{plan['sends']}"),
        ("deliveries", simulated["deliveries"]["mean"], ""),
    ]
    least = "at least " if simulated["unfinished"] else ""
    shown = [(name, least + number(value), words) for name, value, words in rows]
    if decided := simulated["samples"]:
        shown.insert(0, ("samples", number(decided["mean"]), _decided(plan)))
    shown += [("time", *_time(plan, least)), ("Theorem 2", *_bound(plan))]
    return table("brd", ("what to expect", "", _how_simulated(simulated)), shown)


def _decided(plan: dict[str, Any]) -> str:
    """How the samples until the group has its answer spread over runs."""
    found = plan["simulated"]["to_decision"]
    words = "until the group has one answer"
    if found["high"] > found["low"]:
        words += (
            f"; 95 % sure from {number(found['low'])} to {number(found['high'])}, median "
            f"{number(found['median'])}, 95 % of runs up to {number(found['p95'])}"
        )
    return words


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
    ended = {name: count for name, count in simulated["status"].items() if count}
    if simulated["trials"] == 1:
        return f"one simulated run, {next(iter(ended))}"
    counts = ", ".join(f"{count} {name}" for name, count in ended.items())
    return f"mean of {simulated['trials']} simulated runs: {counts}"


def _bound(plan: dict[str, Any]) -> tuple[str, str]:
    bound = plan["theorem_2"]
    if bound is None:
        simulated = plan["simulated"]
        measured = simulated["samples"] or simulated["samples_until_all_know"]
        return "-", f"{plan['why_no_theorem_2']} Simulated: {number(measured['mean'])}."
    return (
        f"<= {number(bound['samples'])}",
        f"samples, with probability {probability(bound['probability'])}, and about "
        f"{number(bound['last_player_wait'])} more until the last device has woken; if each of the "
        f"{plan['votes_needed']} most active is right and needs at most "
        f"{number(bound['single_player_samples'])} (the most of the devices simulated alone)",
    )


def _resets(resets: dict[str, Any]) -> RenderableType:
    """What SER4 does over the horizon; the costs above it are those of one term."""
    phi, best, printed = resets["phi"], resets["recommended_phi"], resets["printed_phi"]
    rows = [
        ("phi, used", f"{phi:.2g}", f"a reset every {1 / phi:,.0f} samples on average"),
        ("phi, recommended", f"{best:.2g}", "sqrt(S / (T C)), with C from these simulations"),
        ("phi, as printed", f"{printed:.2g}", "Theorem 4's; not recommended (erratum 17)"),
        ("resets", number(resets["resets"]), "on average"),
        ("votes", f"<= {number(resets['votes'])}", "on average, the first term's among them"),
        (
            "suboptimal plays",
            f"<= {number(resets['plays'])}",
            f"on average, if every term answers right: C (1 + phi T) + S / phi, "
            f"C = {number(resets['plays_per_term'])}",
        ),
        (
            "without resets",
            number(resets["plays_without"]),
            "if switches come evenly and the first best arm stays worse",
        ),
    ]
    if resets["failure_printed"] is not None:
        claim = (
            "if Theorem 2 holds in each, which is claimed; "
            f"{probability(resets['failure_printed'])} in print, with delta once for all terms"
        )
        rows.append(("some term fails", probability(resets["failure_over_terms"]), claim))
    notes = []
    if resets["plays"] >= resets["plays_without"]:
        notes.append("This bound promises no gain over ser3: switches come too soon for a term.")
    if resets["why_not_theorem_4"]:
        notes.append(f"Theorem 4 does not apply: {resets['why_not_theorem_4']}.")
    head = (
        f"{resets['switches']} switches within {number(resets['horizon'])} samples; "
        "the costs above are those of one term"
    )
    shown = table("brd", ("resets", "", head), rows)
    return Group(shown, *(Text(note, style="yellow") for note in notes))


def show_sweep(sweep: dict[str, Any]) -> None:
    """Print the numbers, and where their picture is if there is one."""
    heads = (sweep["axis"], "votes needed", "samples", "± std", "broadcasts", "agreed")
    rows = [
        (
            number(value),
            str(row["votes_needed"]),
            number(row["samples_until_all_know"]["mean"]),
            number(row["samples_until_all_know"]["std"]),
            number(row["broadcasts"]["mean"]),
            f"{row['status']['agreed']} of {row['trials']}",
        )
        for value, row in zip(sweep["values"], sweep["rows"], strict=True)
    ]
    console().print(table("r", heads, rows))
    if sweep["picture"] is not None:
        console().print(f"\nPicture: {sweep['picture']}\nData: {sweep['data']}", soft_wrap=True)
