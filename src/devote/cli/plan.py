"""``devote plan``: which scheme for your fleet, and what it will cost."""

import math
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from json import dumps
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType

from devote.cli.lab import draw_sweep, failure_table, standing
from devote.cli.options import SCENARIO, CommandError, command, read_problem, read_spec, running
from devote.cli.render import (
    CLOSE,
    Cell,
    answer,
    duration,
    lines,
    number,
    panel,
    probability,
    progress_bar,
    table,
    words,
)

if TYPE_CHECKING:
    from devote.plan.question import Question
    from devote.problems import Problem

DEFAULT_ARMS = 4
DEFAULT_PLAYERS = 1000
PLAYS_PER_DAY = 10.0
VISITORS_PER_DAY = 50_000.0
MOST_DAYS = 365.0
DAY = 86400.0


@command(
    "plan",
    *SCENARIO,
    "--arms N  Number of options, if --means does not say. Default: 4.",
    "--visitors-per-day X  New visitors a day, each of whom plays once. Default: 50000.",
    "--plays-per-day X  In place of visitors: plays a day of each of --players devices. "
    "Default: 10.",
    "--events-per-day X  In place of --plays-per-day: plays of all devices together.",
    "--days X  The longest that you would wait. Default: 365.",
    "--privacy E  Privacy wanted: the e of local differential privacy, or none. Default: 1.",
    "--liars W  Lying devices to tolerate, by proof. Default: 0.",
    "--segments NAMES  Kinds of users with their shares: phone=.6,tablet=.1,desktop=.3. Shows what "
    "an answer for each takes, in place of the comparison of schemes.",
    "--switches N  ser4: expected changes of the best arm within --horizon.",
    "--trials COUNT  Most runs to simulate. Default: 400, one scheme 20, a sweep 5.",
    "--seconds X  About the most time for one forecast. Default: 10, one scheme 5.",
    "--sweep AXIS  Costs over eta, players or epsilon.",
    "--out FILE  Draw the sweep: .png or .svg; its data go beside it.",
    without=("--engine",),
    players=None,
    epsilon=0.005,
    workers=0,
    algorithm=None,
)
def plan(given: Namespace) -> None:
    """Which scheme for your fleet, and what it will cost, before anything is deployed.

    Simulates all schemes and names the one to use: how many answers it takes, how many devices and
    days are enough, and what more privacy, more lying devices or a smaller epsilon would cost. If
    no scheme can do what you ask, it says so, and what you could ask instead. It plans for visitors
    who come once (--visitors-per-day), or for devices that play again and again (--players and
    --plays-per-day). Without --means it plans for a web shop with click rates near 5 %.

    With --segments it says what a survey takes that has an answer for each kind of users: which are
    too small, and what it costs that nobody learns of which kind a user is.

    With --scheme it shows more about that one. For ser4 it recommends a phi, unless --option phi=P
    is given.

    Examples:
        devote plan
        devote plan --visitors-per-day 20000 --means .05,.04,.03,.03 --epsilon .005 --privacy 2
        devote plan --visitors-per-day 20000 --privacy 4 --liars 100
        devote plan --players 500 --plays-per-day 20 --means .7,.5,.3 --epsilon .1 --privacy none
        devote plan --players 1000000 --plays-per-day 3 --means .6,.5,.5 --epsilon .05
        devote plan --segments phone=.6,tablet=.1,desktop=.3 --epsilon .01 --privacy 4
        devote plan --scheme jury --set privacy=2 --set seats=61 --eta .1 --means .8,.4 --epsilon .2
        devote plan --scheme decentralized --means .7,.4 --players 500 --epsilon .2 --sweep eta
        devote plan --algorithm ser4 --means .8,.4,.1 --epsilon .25 --switches 2 --horizon 1000000
    """
    from devote.plan.plan import web_shop

    problem = read_problem(given, web_shop(DEFAULT_ARMS if given.arms is None else given.arms))
    if given.arms not in (None, problem.n_arms):
        raise CommandError(f"--arms {given.arms} with {problem.n_arms} means.\nLeave --arms out.")
    if given.out is not None and given.sweep is None:
        raise CommandError("--out is for the picture of a sweep.\nGive --sweep eta as well.")
    has_resets = _check_resets(given)
    if given.scheme is None and given.sweep is None and not has_resets:
        return _compare(given, problem) if given.segments is None else _segments(given, problem)
    for name in ("privacy", "days", "liars", "visitors_per_day", "segments"):
        if getattr(given, name) is not None:
            raise CommandError(
                f"--{name.replace('_', '-')} is for a comparison of all schemes.\nLeave --scheme, "
                "--sweep and --algorithm ser4 out; or give the scheme's own: --set privacy=1, "
                "--set liars=5."
            )
    given.players = DEFAULT_PLAYERS if given.players is None else given.players
    return _one(given, problem) if given.sweep is None else _sweep(given, problem)


def _check_resets(given: Namespace) -> bool:
    """Whether it is a plan for ser4, which must know what changes, and no other plan takes that."""
    if given.algorithm != "ser4":
        if given.switches is None and given.horizon is None:
            return False
        raise CommandError(
            "--switches and --horizon are for resets.\nGive --algorithm ser4 as well."
        )
    if given.sweep is not None:
        raise CommandError("--sweep is for one term of ser4.\nUse --algorithm ser3.")
    if given.switches is None or given.horizon is None:
        raise CommandError(
            "A plan for ser4 needs to know how often the best arm changes.\n"
            "Give --switches, the number of changes, and --horizon, within how many events."
        )
    return True


def _one(given: Namespace, problem: "Problem") -> None:
    """One scheme in detail."""
    from devote.plan.plan import make_plan

    events = given.events_per_day
    if given.plays_per_day is not None:
        events = given.plays_per_day * given.players
    if given.switches is not None and not any(word.startswith("phi") for word in given.option):
        # Without a phi a plan for ser4 is one for the terms of ser3, and recommends it.
        given.algorithm = "ser3"
    made = make_plan(
        read_spec(given, problem.n_arms),
        problem,
        given.players,
        events_per_day=events,
        trials=given.trials or 20,
        seed=given.seed,
        seconds=given.seconds or 5.0,
        switches=given.switches,
        horizon=given.horizon,
    ).to_dict()
    answer(given.json, made, plan_panel(made))


def _sweep(given: Namespace, problem: "Problem") -> None:
    """The costs of one scheme over an axis; a picture, and its data beside it, if asked for."""
    from devote.simulator import Scenario
    from devote.studies.sweeps import draw_plan, sweep_plan

    asked = Scenario(read_spec(given, problem.n_arms), problem, given.players)
    how: dict[str, Any] = {"trials": given.trials or 5, **running(given)}
    data = None
    if given.out is None:
        with progress_bar() as progress:
            swept = sweep_plan(asked, given.sweep, progress=progress, **how)
    else:
        swept, _, data = draw_sweep(given.out, draw_plan, sweep_plan, asked, given.sweep, **how)
    files = {"picture": given.out and str(given.out), "data": data and str(data)}
    found = {**files, **swept.to_dict()}
    rows = [
        (
            number(value),
            str(row["votes_needed"]),
            number(row["samples_until_all_know"]["mean"]),
            number(row["samples_until_all_know"]["std"]),
            number(row["broadcasts"]["mean"]),
            f"{row['status']['agreed']} of {row['trials']}",
        )
        for value, row in zip(found["values"], found["rows"], strict=True)
    ]
    heads = (given.sweep, "votes needed", "samples", "± std", "broadcasts", "agreed")
    more = [] if data is None else ["", f"Picture: {given.out}", f"Data: {data}"]
    answer(given.json, found, table("r", heads, rows), *more)


def plan_panel(made: dict[str, Any]) -> RenderableType:
    """The plan of one scheme."""
    spec, problem = made["spec"], made["problem"]
    facts: dict[str, Cell] = {
        "votes needed": str(made["votes_needed"]),
        **{name: str(value) for name, value in made["facts"].items()},
        "can stall": ("yes", "yellow") if made["stall_possible"] else ("no", "green"),
    }
    promises = [(one["name"], standing(one), one["words"]) for one in made["promises"]]
    resets = made["resets"]
    asked = lines(
        f"Asked for: epsilon {spec['epsilon']:g}, delta {spec['delta']:g}, eta {spec['eta']:g}.",
        f"Arms: {problem['summary']}; who wakes: {problem['activity']}.",
        style="dim",
    )
    size = f", {len(spec['arms'])} arms, {made['n_players']:,} devices"
    return panel(
        [(f"{made['scheme']} {spec['algorithm']}", "bold"), size],
        [
            asked,
            *(words(warning, style="yellow") for warning in made["warnings"]),
            _expected_costs(made),
            *(_resets(resets) if resets else []),
            table("r", tuple(facts), [facts.values()]),
            failure_table(made["failure"], spec["delta"]),
            table("BLl", "promise,standing,in words", promises, padding=(0, 2, 0, 0)),
        ],
    )


def _expected_costs(made: dict[str, Any]) -> RenderableType:
    simulated = made["simulated"]
    samples, device = simulated["samples_until_all_know"], simulated["per_device"]
    spread = f"± {number(samples['std'])} " if simulated["trials"] > 1 else ""
    bound = made["message_bound"]
    never = "" if bound is None else f"never more than {bound:,} "
    rows = [
        ("until all know", samples["mean"], f"{spread}samples until every device has the answer")
    ]
    for name, label in (("median", "median"), ("p90", "90 %"), ("busiest", "busiest")):
        if device[name] is not None:
            rows.append((f"per device, {label}", device[name], ""))
    rows += [
        ("broadcasts", simulated["broadcasts"]["mean"], f"{never}{made['sends']}"),
        ("deliveries", simulated["deliveries"]["mean"], ""),
    ]
    least = "at least " if simulated["unfinished"] else ""
    shown = [(name, least + number(value), text) for name, value, text in rows]
    if decided := simulated["samples"]:
        found, text = simulated["to_decision"], "until the group has one answer"
        if found["high"] > found["low"]:
            text += (
                f"; 95 % sure from {number(found['low'])} to {number(found['high'])}, median "
                f"{number(found['median'])}, 95 % of runs up to {number(found['p95'])}"
            )
        shown.insert(0, ("samples", number(decided["mean"]), text))
    shown += [("time", *_total_time(made, least)), ("Theorem 2", *_theorem_2(made))]
    ended = ", ".join(f"{count} {name}" for name, count in simulated["status"].items() if count)
    how = f"mean of {simulated['trials']} simulated runs: {ended}"
    if simulated["unfinished"]:
        how = "one run, cut off for time (--seconds)"
    return table("brd", ("what to expect", "", how), shown)


def _total_time(made: dict[str, Any], least: str) -> tuple[str, str]:
    if made["days"] is None:
        return "?", "give --events-per-day, of all devices together"
    decided = made["days_to_decision"]
    text = f"{duration(decided * DAY)} to decide; " if decided is not None else ""
    text += f"at {number(made['events_per_day'])} events per day, all devices together"
    return least + duration(made["days"] * DAY), text


def _theorem_2(made: dict[str, Any]) -> tuple[str, str]:
    bound, simulated = made["theorem_2"], made["simulated"]
    if bound is None:
        measured = simulated["samples"] or simulated["samples_until_all_know"]
        return "-", f"{made['why_no_theorem_2']} Simulated: {number(measured['mean'])}."
    return (
        f"<= {number(bound['samples'])}",
        f"samples, with probability {probability(bound['probability'])}, and about "
        f"{number(bound['last_player_wait'])} more until the last device has woken; if each of the "
        f"{made['votes_needed']} most active is right and needs at most "
        f"{number(bound['single_player_samples'])} (the most of the devices simulated alone)",
    )


def _resets(resets: dict[str, Any]) -> list[RenderableType]:
    """What SER4 does over the horizon; the costs above it are those of one term."""
    phi, best, printed = resets["phi"], resets["recommended_phi"], resets["printed_phi"]
    constant = number(resets["plays_per_term"])
    rows = [
        ("phi, used", f"{phi:.2g}", f"a reset every {1 / phi:,.0f} samples on average"),
        ("phi, recommended", f"{best:.2g}", "sqrt(S / (T C)), with C from these simulations"),
        ("phi, as printed", f"{printed:.2g}", "Theorem 4's; not recommended (erratum 17)"),
        ("resets", number(resets["resets"]), "on average"),
        ("votes", f"<= {number(resets['votes'])}", "on average, the first term's among them"),
        (
            "suboptimal plays",
            f"<= {number(resets['plays'])}",
            f"on average, if every term answers right: C (1 + phi T) + S / phi, C = {constant}",
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
    return [table("brd", ("resets", "", head), rows), *(words((n, "yellow")) for n in notes)]


def _read_question(given: Namespace, problem: "Problem") -> "Question":
    """What is asked of a fleet, without a scheme."""
    from devote.plan.question import Question
    from devote.protocol import Wish

    for flag, value in (("--set", given.set), ("--option", given.option), ("--eta", given.eta)):
        if value not in (None, []):
            raise CommandError(
                f"{flag} is for one scheme, and without --scheme all are compared.\n"
                "Give --scheme as well, one of `devote schemes`."
            )
    days = MOST_DAYS if given.days is None else given.days
    n_players, plays_per_day, visitors_per_day = _fleet(given, days)
    wish = Wish(
        n_players=n_players,
        n_arms=problem.n_arms,
        epsilon=given.epsilon,
        delta=given.delta,
        privacy=_read_privacy(given.privacy),
        liars=given.liars or 0,
        means=problem.means,
    )
    return Question(
        wish if given.algorithm is None else replace(wish, algorithm=given.algorithm),
        problem,
        plays_per_day,
        visitors_per_day,
        days,
    )


def _compare(given: Namespace, problem: "Problem") -> None:
    """All schemes side by side."""
    from devote.plan.compare import compare

    question = _read_question(given, problem)
    how = {"runs": given.trials or 400, "seed": given.seed, "seconds": given.seconds or 10.0}
    with progress_bar() as progress:
        found = compare(question, progress=progress, **how).to_dict()
    answer(given.json, found, _comparison_panel(found))


def _read_shares(text: str) -> dict[str, float]:
    """The names of segments with their shares."""
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = part.rpartition("=")
        try:
            share = float(value)
        except ValueError:
            share = math.nan
        if not name.strip() or not 0.0 < share < math.inf or name.strip() in shares:
            raise CommandError(
                f"--segments {text!r}: {part!r} is not a name, another one each time, with a share "
                "above 0.\nGive --segments phone=.6,tablet=.1,desktop=.3."
            )
        shares[name.strip()] = share
    return shares


def _segments(given: Namespace, problem: "Problem") -> None:
    """What an answer for each kind of users takes."""
    from devote.plan.forecast import Effort
    from devote.plan.segments import plan_segments

    effort = Effort(given.trials or 100, given.seconds or 10.0, given.seed)
    question = _read_question(given, problem)
    found = plan_segments(question, _read_shares(given.segments), effort)
    answer(given.json, found, _segments_panel(found))


def _ended(row: dict[str, Any]) -> str:
    """After how many answers 95 % of runs decide, or why they do not."""
    if row["ends"] == "decided":
        return short(row["answers"]["p95"])
    return f"> {short(row['at_least'])}" if row["ends"] == "unknown" else "-"


def _time(row: dict[str, Any]) -> str:
    """How long 95 % of runs take, if they decide."""
    return brief(row["days"]["p95"]) if row["ends"] == "decided" else "-"


def _segments_panel(found: dict[str, Any]) -> RenderableType:
    """Segments side by side: hidden, at several values of privacy, and known to everybody."""
    rows, heads = [], ["segment", "share"]
    for one in found["private"]:
        is_asked = one["privacy"] == found["privacy"]
        text = "e none" if one["privacy"] is None else f"e {one['privacy']:g}"
        heads += [text + "*", "time"] if is_asked else [text]
    for place, public in enumerate(found["public"]):
        cells = [public["segment"], f"{100 * public['share']:.3g} %"]
        for one in found["private"]:
            row = one["segments"][place]
            cells += (
                [_ended(row), _time(row)] if one["privacy"] == found["privacy"] else [_ended(row)]
            )
        rows.append((*cells, _ended(public), _time(public)))
    means = "; ".join(
        f"{name} {' '.join(f'{mean:g}' for mean in some[:8])}"
        for name, some in list(found["means"].items())[:4]
    )
    asked = lines(
        f"Asked: for each segment an option at most {found['epsilon']:g} worse than its best; any "
        f"wrong with probability at most {found['delta']:g}; within {found['most_days']:g} days, "
        f"with {found['n_players']:,} {_fleet_words(found)} at most.",
        f"Assumed: options pay the same in another order in each segment: {means}.",
        style="dim",
    )
    note = (
        "Answers of all devices until 95 % of simulated runs have decided. e: a device hides its "
        "segment together with what it found (* as asked). Public, at the same e: everybody may "
        "know the segment of a device, and there is a survey for each. -: too small, not decided "
        "within the days by so many devices. >: no time to see the end (--seconds)."
    )
    shown = table("B" + "r" * (len(heads) + 1), (*heads, "public", "time"), rows, **CLOSE)
    return panel(
        [(_who(found), "bold"), f", {len(rows) - 1} segments"],
        [asked, shown, words((note, "dim"))],
    )


def _fleet(given: Namespace, days: float) -> tuple[int, float | None, float | None]:
    """How many devices, how often each plays a day, or how many visitors come a day."""
    from devote.protocol.scheme import check

    each, together, visitors = given.plays_per_day, given.events_per_day, given.visitors_per_day
    if None not in (each, together):
        raise CommandError(
            "--plays-per-day and --events-per-day say the same.\nGive one of them: the first "
            "is of each device, the second of all together."
        )
    if each is not None or together is not None:
        if visitors is not None:
            raise CommandError(
                "--visitors-per-day is for visitors who come once, --plays-per-day and "
                "--events-per-day are for devices that play again and again.\nGive one of them."
            )
        if given.players is None:
            raise CommandError(
                "--plays-per-day and --events-per-day are about a fixed fleet, whose number of "
                "devices is missing.\nGive --players as well."
            )
    if given.players is not None and visitors is None:
        if together is not None:
            each = together / max(1, given.players)
        return given.players, PLAYS_PER_DAY if each is None else each, None
    visitors = VISITORS_PER_DAY if visitors is None else visitors
    for name, value in (("visitors_per_day", visitors), ("days", days)):
        check.positive(name, value, "It is a number of visitors, or of days to wait.")
    players = math.ceil(visitors * days) if given.players is None else given.players
    return players, None, visitors


def _read_privacy(text: str | None) -> float | None:
    if text in (None, "none"):
        return 1.0 if text is None else None
    try:
        return float(text)
    except ValueError:
        raise CommandError(
            f"--privacy {text!r} is not a number.\n"
            "Give the e of local differential privacy, such as 1, or none."
        ) from None


def _comparison_panel(found: dict[str, Any]) -> RenderableType:
    """What to use and what it takes, or what to relax; then the other schemes."""
    use = next((row for row in found["schemes"] if row["scheme"] == found["use"]), None)
    parts: list[RenderableType] = [_question(found)]
    if use is None:
        parts += [*_relax(found), _schemes(found)]
    else:
        main = use["simulated"]
        parts += [words((f"Use {found['use']}. ", "bold green"), found["why"])]
        parts += [_expect(main, found), *_costs(found, main), *_under_way(main)]
        parts += [_scenarios(found, main), _schemes(found), _settings(use)]
    return panel([(_who(found), "bold"), f", {found['n_arms']} options"], parts)


def _who(found: dict[str, Any]) -> str:
    if found["visitors_per_day"] is not None:
        return f"{found['visitors_per_day']:,.10g} visitors a day"
    return f"{found['n_players']:,} devices"


def _fleet_words(found: dict[str, Any]) -> str:
    return "devices" if found["visitors_per_day"] is None else "visitors"


def _unit(simulated: dict[str, Any], plays: str = "plays of each device") -> str:
    return "answers" if simulated["unit"] == "answers" else plays


def _question(found: dict[str, Any]) -> RenderableType:
    """What is asked, in whole sentences."""
    problem, privacy = found["problem"], found["privacy"]
    secret = "no privacy asked for" if privacy is None else f"privacy e = {privacy:g}"
    lies = f"up to {found['liars']:,} devices may lie" if found["liars"] else "all devices honest"
    how = "each visitor plays once"
    if found["visitors_per_day"] is None:
        how = f"each device plays {found['plays_per_day']:,.3g} times a day"
    means = problem["means"]
    more = f" and {len(means) - 8} more" if len(means) > 8 else ""
    summary = f" ({problem['summary']})" if problem["summary"] else ""
    return lines(
        f"Asked: find an option that is at most {found['epsilon']:g} worse than the best; wrong "
        f"with probability at most {found['delta']:g}; {secret}; {lies}; {how}; within "
        f"{found['most_days']:g} days.",
        f"Options: they pay {' '.join(f'{mean:g}' for mean in means[:8])}{more}{summary}.",
        style="dim",
    )


def _expect(simulated: dict[str, Any], found: dict[str, Any]) -> RenderableType:
    """What simulated runs of the scheme took."""
    takes, days, runs = simulated["takes"], simulated["days"], simulated["simulated_runs"]
    fleet = _fleet_words(found)
    interval = f"median {number(takes['median'])}"
    if takes["high"] > takes["low"]:
        ends = f"{number(takes['low'])} to {number(takes['high'])}"
        interval += f"; 95 % interval of the mean {ends}"
    why = "with so many it can decide; more do not make it quicker"
    if simulated["unit"] == "answers":
        why = (
            f"with so many, 95 % of runs decide ({'99 % sure' if runs >= 90 else 'from few runs'})"
        )
    wrong = simulated["wrong_runs"] or "none"
    ended = f"{simulated['decided_runs']} with an answer, {wrong} of them wrong"
    return table(
        "brrd",
        ("what to expect", "mean", "95 % of runs", f"{runs} simulated runs, {ended}"),
        [
            (_unit(simulated), number(takes["mean"]), f"up to {number(takes['p95'])}", interval),
            (
                "time",
                duration(days["mean"] * DAY),
                f"up to {duration(days['p95'] * DAY)}",
                "until there is an answer",
            ),
            (f"{fleet} needed", "", number(simulated["devices_needed"]), why),
        ],
    )


def _under_way(simulated: dict[str, Any]) -> list[RenderableType]:
    """A note where many answers are under way when others are drawn."""
    under_way = simulated["answers_under_way"]
    if under_way < 0.05 * simulated["takes"]["mean"]:
        return []
    note = (
        f"An answer leaves about a minute after the play (reply_after), so some {under_way:,} "
        "devices are asked before the first answer arrives. The forecast allows for that."
    )
    return [words((note, "dim"))]


DOUBT = 0.2
"""How far a mean may be off and still be shown without a mark."""
LABELS = {"privacy": "privacy e", "liars": "lying devices", "epsilon": "epsilon"}
SCENARIOS = {
    "flash crowd": "all devices are asked before the first answer arrives (a flash crowd)",
    "all alike": "all options pay {:g}: no option is better, and it takes longest",
}


def _costs(found: dict[str, Any], main: dict[str, Any]) -> list[RenderableType]:
    """What other values of what is asked would take, one small table for each."""
    shown: list[RenderableType] = []
    for asked, label in LABELS.items():
        rows = [cost for cost in found["costs"] if cost["asked"] == asked]
        if len(rows) < 2:
            continue
        values = (
            ("none" if row["value"] is None else f"{row['value']:,g}")
            + "*" * (row["value"] == row["before"])
            for row in rows
        )
        times = (_days(row, brief) for row in rows)
        body = [(_unit(main, "plays each"), *map(_amount, rows)), ("time", *times)]
        if main["unit"] == "answers":
            body.insert(1, (f"{_fleet_words(found)} needed", *map(_devices, rows)))
        shown.append(table("Br", (label, *values), body, **CLOSE))
    if shown:
        note = (
            "What it would take if you asked for something else, all else as asked (*): means of "
            f"simulated runs, 95 % sure to within {100 * DOUBT:.0f} %; ~ less sure (--seconds for "
            "more); > no time to see the end; - does not end with an answer here."
        )
        shown.insert(0, words((note, "dim")))
    return shown


def _amount(cost: dict[str, Any]) -> str:
    simulated = cost["simulated"]
    if simulated is None:
        return "-"
    if simulated["takes"] is None:
        return f"> {short(simulated['takes_at_least'])}"
    takes = simulated["takes"]
    doubt = "~" if takes["high"] > (1.0 + DOUBT) * takes["mean"] else ""
    return doubt + short(takes["mean"])


def _devices(cost: dict[str, Any]) -> str:
    simulated = cost["simulated"]
    needed = None if simulated is None else simulated["devices_needed"]
    return "-" if needed is None else short(needed)


def _days(cost: dict[str, Any], shown: Callable[[float], str]) -> str:
    """The mean time, only if nearly all runs decided: else that of those that did misleads."""
    simulated = cost["simulated"]
    if simulated is None or simulated["days"] is None:
        return "-"
    if simulated["decided_runs"] < 0.95 * simulated["simulated_runs"]:
        return "-"
    return shown(simulated["days"]["mean"])


def brief(days: float) -> str:
    """A length of time in a few letters.

    >>> brief(5.12), brief(0.012), brief(800.0)
    ('5.1 d', '17 min', '2.2 y')
    """
    for size, unit in ((365.25, "y"), (1.0, "d"), (1 / 24, "h"), (1 / 1440, "min")):
        if days >= size:
            return f"{days / size:.{0 if days >= 9.95 * size else 1}f} {unit}"
    return f"{days * 86400:.0f} s"


def short(value: float) -> str:
    """A number of three digits at most, in thousands and millions.

    >>> short(255_700), short(1_634_773), short(812.3)
    ('256k', '1.6M', '812')
    """
    for least, size, unit in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if value >= least:
            scaled = value / size
            return f"{scaled:.1f}{unit}" if scaled < 10 else f"{scaled:,.0f}{unit}"
    return f"{value:,.0f}"


def _scenarios(found: dict[str, Any], main: dict[str, Any]) -> RenderableType:
    """What may come differently than assumed."""
    rows = []
    for cost in found["costs"]:
        simulated = cost["simulated"]
        if cost["asked"] not in SCENARIOS or simulated is None:
            continue
        amount = _amount(cost)
        if simulated["takes"] is not None and main["takes"] is not None:
            times = simulated["takes"]["mean"] / main["takes"]["mean"]
            amount += f" ({times:.1f} times)"
        rows.append((amount, SCENARIOS[cost["asked"]].format(cost["value"])))
    return table("rl", (_unit(main, "plays each"), "if"), rows)


def _schemes(found: dict[str, Any]) -> RenderableType:
    """All schemes: what is proved, what they take, why they cannot."""
    rows: list[tuple[Cell, ...]] = []
    for row in found["schemes"]:
        error, privacy, simulated = row["proved_error"], row["proved_privacy"], row["simulated"]
        rows.append(
            (
                (row["scheme"], "red" if row["cannot"] else "green"),
                "-" if simulated is None else f"{_amount(row)} {_unit(simulated, 'plays each')}",
                _days(row, lambda days: duration(days * DAY)),
                "-" if error is None else f"<= {error:.2g}",
                "-" if privacy is None else f"e = {privacy:g}",
                str(row["liars_tolerated"]),
            )
        )
    heads = "scheme,takes on average,time,error,privacy,may lie"
    note = (
        "Error, privacy and how many devices may lie are what is proved; - where nothing is, or "
        "where nothing was simulated."
    )
    reasons = [(r["scheme"], "; ".join(r["cannot"])) for r in found["schemes"] if r["cannot"]]
    shown: list[RenderableType] = [table("Br", heads, rows, **CLOSE), words((note, "dim"))]
    if reasons:
        shown += ["", table("Bl", "cannot,because", reasons)]
    return Group(*shown)


def _relax(found: dict[str, Any]) -> list[RenderableType]:
    head = (f"No scheme can answer this question with {_who(found)}. ", "bold red")
    if not found["relax"]:
        return [
            words(
                head,
                "No single change helps: ask for a larger epsilon and less privacy, or more days.",
            )
        ]
    rows = []
    for place, one in enumerate(found["relax"]):
        runs = one["simulated"]
        takes, days = runs["takes"], runs["days"]
        text = (
            f"{one['scheme']}: {number(takes['mean'])} {_unit(runs)} and "
            f"{duration(days['mean'] * DAY)} on average, up to {duration(days['p95'] * DAY)} in "
            f"95 % of runs; {runs['decided_runs']} of {runs['simulated_runs']} simulated runs came "
            "to an answer"
        )
        rows.append(("or" if place else "either", lines((one["words"], "bold"), text)))
    return [
        words(head, "What would do, everything else as asked:"),
        table("Bl", ",", rows, show_header=False),
    ]


def _settings(row: dict[str, Any]) -> RenderableType:
    """What to write in the specification."""
    from devote.protocol.scheme import SCHEMES

    spec, scheme = row["spec"], SCHEMES[row["scheme"]]()
    parameters = [
        f"{name} = {dumps(value)}"
        for name, value in spec["scheme"].items()
        if name == "name" or value != scheme.to_dict()[name]
    ]
    eta = [] if spec["eta"] == scheme.about.default_eta else [f"  eta = {spec['eta']:g}"]
    return lines(
        "In its specification:",
        f"  algorithm = {dumps(spec['algorithm'])}",
        *eta,
        f"  epsilon = {spec['epsilon']:g}",
        f"  delta = {spec['delta']:g}",
        f"  scheme = {{ {', '.join(parameters)} }}",
    )
