"""A comparison of schemes as a person likes to read it."""

from json import dumps
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from devote.cli.terminal import CLOSE, console, duration, number, panel, table
from devote.protocol.scheme import SCHEMES

DAY = 86400.0
DECIDES = 0.95
DOUBT = 0.2
"""How far a mean may be off and still be shown without a mark."""
LABELS = {
    "privacy": "privacy e",
    "liars": "lying devices",
    "epsilon": "epsilon",
}


def show_comparison(found: dict[str, Any]) -> None:
    """Print what to use and what it takes, or what to relax; then the other schemes."""
    use = next((row for row in found["schemes"] if row["scheme"] == found["use"]), None)
    parts: list[RenderableType] = [_question(found)]
    if use is None:
        parts += [*_relax(found), _schemes(found)]
    else:
        parts += [
            Text.assemble((f"Use {found['use']}. ", "bold green"), found["why"]),
            _expect(use["simulated"], found),
            *_costs(found, use["simulated"]),
            *_under_way(use["simulated"]),
            *_scenarios(found, use["simulated"]),
            _schemes(found),
            Text(_settings(use)),
        ]
    console().print(panel(f"[bold]{_who(found)}[/bold], {found['n_arms']} options", parts))


def _who(found: dict[str, Any]) -> str:
    if found["visitors_per_day"] is not None:
        return f"{found['visitors_per_day']:,.10g} visitors a day"
    return f"{found['n_players']:,} devices"


def _question(found: dict[str, Any]) -> Text:
    """What is asked, in whole sentences."""
    privacy = "no privacy asked for"
    if found["privacy"] is not None:
        privacy = f"privacy e = {found['privacy']:g}"
    lies = f"up to {found['liars']:,} devices may lie" if found["liars"] else "all devices honest"
    how = "each visitor plays once"
    if found["visitors_per_day"] is None:
        how = f"each device plays {found['plays_per_day']:,.3g} times a day"
    return Text(
        f"Asked: find an option that is at most {found['epsilon']:g} worse than the best; wrong "
        f"with probability at most {found['delta']:g}; {privacy}; {lies}; {how}; within "
        f"{found['most_days']:g} days.\n"
        f"Options: {_options(found['problem'])}.",
        style="dim",
    )


def _options(problem: dict[str, Any]) -> str:
    means = problem["means"]
    shown = " ".join(f"{mean:g}" for mean in means[:8])
    more = f" and {len(means) - 8} more" if len(means) > 8 else ""
    summary = f" ({problem['summary']})" if problem["summary"] else ""
    return f"they pay {shown}{more}{summary}"


def _expect(simulated: dict[str, Any], found: dict[str, Any]) -> RenderableType:
    """What simulated runs of the scheme took."""
    takes, days = simulated["takes"], simulated["days"]
    runs = simulated["simulated_runs"]
    unit = "answers" if simulated["unit"] == "answers" else "plays of each device"
    fleet = "visitors" if found["visitors_per_day"] is not None else "devices"
    return table(
        "brrd",
        ("what to expect", "mean", "95 % of runs", f"{runs} simulated runs, {_ended(simulated)}"),
        [
            (unit, number(takes["mean"]), f"up to {number(takes['p95'])}", _interval(takes)),
            (
                "time",
                _time(days["mean"]),
                f"up to {_time(days['p95'])}",
                "until there is an answer",
            ),
            (
                f"{fleet} needed",
                "",
                number(simulated["devices_needed"]),
                _why_devices(simulated, fleet),
            ),
        ],
    )


def _under_way(simulated: dict[str, Any]) -> list[RenderableType]:
    """A note where many answers are under way when others are drawn."""
    under_way, takes = simulated["answers_under_way"], simulated["takes"]
    if under_way < 0.05 * takes["mean"]:
        return []
    return [
        Text(
            f"An answer leaves about a minute after the play (reply_after), so some {under_way:,} "
            "devices are asked before the first answer arrives. The forecast allows for that.",
            style="dim",
        )
    ]


def _interval(takes: dict[str, Any]) -> str:
    words = f"median {number(takes['median'])}"
    if takes["high"] > takes["low"]:
        words += f"; 95 % interval of the mean {number(takes['low'])} to {number(takes['high'])}"
    return words


def _why_devices(simulated: dict[str, Any], fleet: str) -> str:
    if simulated["unit"] == "answers":
        return f"with so many, 95 % of runs decide ({_sure(simulated)})"
    return "with so many it can decide; more do not make it quicker"


def _sure(simulated: dict[str, Any]) -> str:
    return "99 % sure" if simulated["simulated_runs"] >= 90 else "from few runs"


def _ended(simulated: dict[str, Any]) -> str:
    wrong = simulated["wrong_runs"]
    said = f"{simulated['decided_runs']} with an answer"
    return f"{said}, {wrong or 'none'} of them wrong"


def _time(days: float | None) -> str:
    return "-" if days is None else duration(days * DAY)


def _costs(found: dict[str, Any], main: dict[str, Any]) -> list[RenderableType]:
    """What other values of what is asked would take, one small table for each."""
    shown: list[RenderableType] = []
    for asked, label in LABELS.items():
        rows = [cost for cost in found["costs"] if cost["asked"] == asked]
        if len(rows) < 2:
            continue
        heads = (label, *(_value(cost) for cost in rows))
        answers = main["unit"] == "answers"
        lines = [
            ("answers" if answers else "plays each", *(_amount(cost) for cost in rows)),
            ("time", *(_days(cost) for cost in rows)),
        ]
        if answers:
            who = "visitors" if found["visitors_per_day"] is not None else "devices"
            lines.insert(1, (f"{who} needed", *(_devices(cost) for cost in rows)))
        shown.append(table("Br", heads, lines, **CLOSE))
    if shown:
        note = (
            "What it would take if you asked for something else, all else as asked (*): means of "
            f"simulated runs, 95 % sure to within {100 * DOUBT:.0f} %; ~ less sure (--seconds for "
            "more); > no time to see the end; - does not end with an answer here."
        )
        shown.insert(0, Text(note, style="dim"))
    return shown


def _value(cost: dict[str, Any]) -> str:
    value = "none" if cost["value"] is None else f"{cost['value']:,g}"
    return f"{value}*" if cost["is_asked"] else value


def _amount(cost: dict[str, Any]) -> str:
    simulated = cost["simulated"]
    if simulated is None:
        return "-"
    if simulated["takes"] is None:
        return f"> {_short(simulated['takes_at_least'])}"
    takes = simulated["takes"]
    doubt = "~" if takes["high"] > (1.0 + DOUBT) * takes["mean"] else ""
    return doubt + _short(takes["mean"])


def _devices(cost: dict[str, Any]) -> str:
    simulated = cost["simulated"]
    needed = None if simulated is None else simulated["devices_needed"]
    return "-" if needed is None else _short(needed)


def _days(cost: dict[str, Any]) -> str:
    simulated = cost["simulated"]
    if simulated is None or not _decides(simulated):
        return "-"
    return _brief(simulated["days"]["mean"])


def _decides(simulated: dict[str, Any]) -> bool:
    """Whether nearly all runs came to an answer: else a mean of those that did would mislead."""
    many = simulated["decided_runs"] >= DECIDES * simulated["simulated_runs"]
    return bool(many and simulated["days"] is not None)


def _brief(days: float) -> str:
    """A length of time in a few letters.

    >>> _brief(5.12), _brief(0.012), _brief(800.0)
    ('5.1 d', '17 min', '2.2 y')
    """
    for size, unit in ((365.25, "y"), (1.0, "d"), (1 / 24, "h"), (1 / 1440, "min")):
        if days >= size:
            return f"{days / size:.{0 if days >= 9.95 * size else 1}f} {unit}"
    return f"{days * 86400:.0f} s"


def _short(value: float) -> str:
    """A number of three digits at most, in thousands and millions.

    >>> _short(255_700), _short(1_634_773), _short(812.3)
    ('256k', '1.6M', '812')
    """
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= size:
            scale = 1e3 if unit == "k" else size
            scaled = value / scale
            return f"{scaled:.1f}{unit}" if scaled < 10 else f"{scaled:,.0f}{unit}"
    return f"{value:,.0f}"


def _scenarios(found: dict[str, Any], main: dict[str, Any]) -> list[RenderableType]:
    """What may come differently than assumed."""
    rows = []
    for cost in found["costs"]:
        simulated = cost["simulated"]
        if cost["asked"] not in SCENARIOS or simulated is None:
            continue
        said = SCENARIOS[cost["asked"]].format(cost["value"])
        amount = _amount(cost)
        if simulated["takes"] is not None and main["takes"] is not None:
            times = simulated["takes"]["mean"] / main["takes"]["mean"]
            amount += f" ({times:.1f} times)"
        rows.append((amount, said))
    return [table("rl", ("answers" if main["unit"] == "answers" else "plays each", "if"), rows)]


SCENARIOS = {
    "flash crowd": "all devices are asked before the first answer arrives (a flash crowd)",
    "all alike": "all options pay {:g}: no option is better, and it takes longest",
}


def _schemes(found: dict[str, Any]) -> RenderableType:
    """All schemes: what is proved, what they take, why they cannot."""
    heads = ("scheme", "takes on average", "time", "error", "privacy", "may lie")
    rows = found["schemes"]
    reasons = [(row["scheme"], "; ".join(row["cannot"])) for row in rows if row["cannot"]]
    note = (
        "Error, privacy and how many devices may lie are what is proved; - where nothing is, or "
        "where nothing was simulated."
    )
    shown: list[RenderableType] = [table("Br", heads, map(_row, rows), **CLOSE)]
    shown.append(Text(note, style="dim"))
    if reasons:
        shown += [Text(), table("Bl", ("cannot", "because"), reasons)]
    return Group(*shown)


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    error, privacy, simulated = row["proved_error"], row["proved_privacy"], row["simulated"]
    colour = "red" if row["cannot"] else "green"
    takes = time = "-"
    if simulated is not None:
        unit = "answers" if simulated["unit"] == "answers" else "plays each"
        takes = f"{_amount(row)} {unit}"
        if _decides(simulated):
            time = _time(simulated["days"]["mean"])
    return (
        f"[{colour}]{row['scheme']}[/]",
        takes,
        time,
        "-" if error is None else f"<= {error:.2g}",
        "-" if privacy is None else f"e = {privacy:g}",
        str(row["liars_tolerated"]),
    )


def _relax(found: dict[str, Any]) -> list[RenderableType]:
    head = f"No scheme can answer this question with {_who(found)}. "
    if not found["relax"]:
        words = "No single change helps: ask for a larger epsilon and less privacy, or more days."
        return [Text.assemble((head, "bold red"), words)]
    rows = [
        ("or" if place else "either", Text.assemble((one["words"], "bold"), "\n", _with(one)))
        for place, one in enumerate(found["relax"])
    ]
    return [
        Text.assemble((head, "bold red"), "What would do, everything else as asked:"),
        table("Bl", ("", ""), rows, show_header=False),
    ]


def _with(one: dict[str, Any]) -> str:
    simulated = one["simulated"]
    takes, days = simulated["takes"], simulated["days"]
    unit = "answers" if simulated["unit"] == "answers" else "plays of each device"
    return (
        f"{one['scheme']}: {number(takes['mean'])} {unit} and {_time(days['mean'])} on average, up "
        f"to {_time(days['p95'])} in 95 % of runs; {simulated['decided_runs']} of "
        f"{simulated['simulated_runs']} simulated runs came to an answer"
    )


def _settings(row: dict[str, Any]) -> str:
    """What to write in the specification."""
    spec = row["spec"]
    scheme = SCHEMES[row["scheme"]]()
    parameters = [
        f"{name} = {dumps(value)}"
        for name, value in spec["scheme"].items()
        if name == "name" or value != scheme.to_dict()[name]
    ]
    eta = "" if spec["eta"] == scheme.about.default_eta else f"\n  eta = {spec['eta']:g}"
    return (
        f"In its specification:\n  algorithm = {dumps(spec['algorithm'])}{eta}\n"
        f"  epsilon = {spec['epsilon']:g}\n  delta = {spec['delta']:g}\n"
        f"  scheme = {{ {', '.join(parameters)} }}"
    )
