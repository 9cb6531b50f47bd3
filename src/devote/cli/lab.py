"""The lab: simulated runs, the paper again, audits, and what there is to choose from."""

import sys
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType

from devote.cli.options import (
    ENGINE,
    IMPORT,
    JSON,
    SCENARIO,
    SEED,
    WORKERS,
    CommandError,
    check_writable,
    command,
    read_problem,
    read_scenario,
    read_spec,
    read_spec_file,
    running,
)
from devote.cli.render import (
    CLOSE,
    Cell,
    Styled,
    answer,
    console,
    duration,
    lines,
    number,
    panel,
    probability,
    progress_bar,
    show,
    show_json,
    table,
    words,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from devote.audit import Correctness, Exposure, Leak, Rate, Refusal
    from devote.protocol import ExperimentSpec
    from devote.simulator import Scenario
    from devote.simulator.block import Block
    from devote.simulator.frames import Frame
    from devote.simulator.trial import Event
    from devote.studies import Reproduction

STANDINGS = {"proved": "green", "measured": "cyan", "claimed": "yellow", "refuted": "red"}
STATUS_WORDS = {
    "agreed": ("green", "every player holds the one shared arm"),
    "stalled": ("yellow", "players split over several arms: no message can settle it any more"),
    "unfinished": ("red", "the horizon came first"),
}
BOUNDS = {"claimed": "claimed bound", "proved": "proved bound"}
"""How columns are headed that do not have the bound's own name."""


@command(
    "simulate",
    *SCENARIO,
    "--trials COUNT  Number of trials. [20]",
    "--results FILE.jsonl  Keep each trial there, to go on or grow later.",
    "--save FILE.jsonl  Write all trials, once they are done.",
)
def simulate(given: Namespace) -> None:
    """Run trials of one scenario: samples, messages, who won.

    Without --means and --problem it runs the paper's problem 1.

    Examples:
        devote simulate --problem 1 --players 64
        devote simulate --means .7,.5,.3 --activity zipf:1.1 --players 500 --json
        devote simulate --problem 4 --algorithm ser4 --option phi=.0001 --horizon 180000
        devote simulate --players 1000000 --trials 1 --engine passes
        devote simulate --players 1024 --trials 1000 --engine cuda
        devote simulate --scheme jury --set seats=41 --algorithm mixture_elimination
        devote simulate --import my_rule.py --algorithm my_rule --results trials.jsonl
    """
    asked = read_scenario(given)
    if given.save is not None:
        check_writable(given.save)
    from devote.plan.promises import summarise
    from devote.simulator import run_sweep
    from devote.simulator.trials import warm_up

    how: dict[str, Any] = {"trials": given.trials, "results": given.results, **running(given)}
    with progress_bar() as progress:
        warm_up(asked)
        begin = time.perf_counter()
        [result] = run_sweep([asked], progress=progress, **how)
        seconds = time.perf_counter() - begin
    if given.save is not None:
        result.save(given.save)
    if not asked.spec.resets and set(result.status) == {"unfinished"}:
        raise CommandError(
            f"0 of {given.trials} trials ended within --horizon {asked.horizon} pulls.\n"
            "Raise --horizon, or leave --horizon out to run to the end."
        )
    rate = float(result.samples_until_all_know.sum()) / seconds
    summary = {**summarise(result), "wall_seconds": seconds, "pulls_per_second": rate}
    answer(given.json, summary, _summary_panel(summary))


def _summary_panel(summary: dict[str, Any]) -> RenderableType:
    spec, failure = summary["spec"], summary["failure"]
    options = "".join(f" {name}={value}" for name, value in spec["options"].items())
    promises: list[Styled] = [("promises", "bold"), "  "]
    for one in summary["promises"]:
        promises += [" · "] * (len(promises) > 2) + [f"{one['name']} ", standing(one)]
    rate = number(summary["pulls_per_second"] / 1e6)
    size = f"{summary['n_players']:,} players, {len(spec['arms'])} arms"
    meaning = words((failure["meaning"], "dim"))
    failed = Group(failure_table(failure, spec["delta"]), meaning)
    return panel(
        [
            (f"{summary['scheme']} {spec['algorithm']}{options}", "bold"),
            f", problem {summary['problem']['name']}, {size}",
        ],
        [_costs(summary), _endings(summary), failed, words(*promises)],
        f"{duration(summary['wall_seconds'])}, {rate} million pulls per second, "
        f"engine {summary['engine']}, seed {summary['seed']}",
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
        (name, number(value["mean"]), number(value["std"]), meaning)
        for name, value, meaning in rows
        if value
    ]
    return table("brrd", "per trial,mean,± std,", shown)


def _endings(summary: dict[str, Any]) -> RenderableType:
    from devote.plan.promises import stalled_counts, winner_counts

    rows: list[tuple[Cell, ...]] = []
    of, needed, status = f" of {summary['trials']}", summary["votes_needed"], summary["status"]
    for name, count in status.items():
        if count:
            colour, meaning = STATUS_WORDS[name]
            if summary["horizon"] and name == "unfinished":
                meaning = f"the horizon of {summary['horizon']:,} pulls came first"
            rows.append((name, words((str(count), colour), of), meaning))
    for arm, count in winner_counts(summary["winners"]):
        rows.append((f"arm {arm} won", f"{count}{of}", _mean_words(summary, arm)))
    left = "still held" if needed is None else "still shared"
    for arms, count in stalled_counts(summary["shared"], summary["endings"]):
        names = ", ".join(map(str, arms))
        rows.append((f"{left}: arms {names}", f"{count}{of}", "the answer is this set"))
    good = f"within epsilon = {summary['spec']['epsilon']:g} of the best arm"
    first = probability(summary["epsilon_optimal"])
    if status["stalled"] and needed is not None:
        rows += [
            ("holds a good arm", probability(summary["holds_epsilon_optimal"]), good),
            ("first arm is good", first, "of a set that is left, the likeliest arm"),
        ]
    else:
        rows.append(("good answers", first, good))
    return table("brd", ",,", rows, show_header=False)


def _mean_words(summary: dict[str, Any], arm: int) -> str:
    """What the winner paid when it won: means may change during a run."""
    won = zip(summary["winners"], summary["winner_means"], strict=True)
    means = [mean for winner, mean in won if winner == arm]
    low, high = min(means), max(means)
    if f"{low:.3g}" != f"{high:.3g}":
        return f"mean {low:.3g} to {high:.3g} at the end"
    changing = summary["problem"]["switches"] or summary["problem"]["drift"]
    return f"mean {low:.3g} at the end" if changing else f"mean {low:g}"


def standing(promise: dict[str, Any]) -> tuple[str, str]:
    """What a promise is worth, in its colour."""
    return promise["standing"], STANDINGS[promise["standing"]]


def failure_table(failure: dict[str, Any], delta: float) -> RenderableType:
    """What was asked for, and beside it what is claimed or proved."""
    names = (BOUNDS.get(row["name"], row["name"]) for row in failure["bounds"])
    values = (probability(row["value"]) for row in failure["bounds"])
    heads = ("chance of a wrong answer", "asked for", *names)
    return table("br", heads, [("", probability(delta), *values)])


@command(
    "sweep",
    "file FILE.toml  What to run.",
    "--trials N  Trials per cell, in place of the file's.",
    "--results FILE.jsonl  Where trials are kept. Default: beside FILE.toml.",
    "--csv FILE.csv  Also write a row per trial there.",
    "--seed INTEGER  In place of the file's.",
    *(WORKERS, JSON, IMPORT),
    workers=0,
)
def sweep(given: Namespace) -> None:
    """Run every combination of what a file lists, and show it as it goes.

    Interrupted, it goes on where it stopped when it is started again. With more trials, or more
    values in the file, it runs only what is missing.

    Examples:
        devote sweep grid.toml
        devote sweep grid.toml --trials 100 --csv grid.csv
        devote sweep grid.toml --import my_rule.py --workers 4
      where grid.toml holds
        problem = "1"
        n_players = [32, 64, 128]
        eta = [0.5, 0.9]
        algorithm = ["ser3", "mixture_elimination"]
        trials = 20
    """
    from rich.live import Live

    from devote.simulator.grids import read_sweep

    asked = read_sweep(given.file)
    if given.csv is not None:
        check_writable(given.csv)
    kept = given.file.with_suffix(".jsonl") if given.results is None else given.results
    seed = asked.seed if given.seed is None else given.seed
    trials = asked.trials if given.trials is None else given.trials
    how: dict[str, Any] = {"trials": trials, "seed": seed, "workers": given.workers or None}
    from devote.simulator import run_sweep
    from devote.simulator.results import setting

    blocks: list[list[Block]] = [[] for _ in asked.cells]
    live = Live(
        get_renderable=lambda: _cells_table(asked.cells, blocks),
        console=console(stderr=True, quiet=not sys.stderr.isatty()),
        transient=True,
    )
    with live:
        done = run_sweep(
            asked.cells,
            on_block=lambda cell, block: blocks[cell].append(block),
            results=kept,
            **how,
        )
    if given.csv is not None:
        done.to_csv(given.csv)
    cells = [
        {
            **setting(one.scenario),
            "trials": one.trials,
            "status": one.status_counts(),
            "summary": one.summary().to_dict()["rows"],
        }
        for one in done
    ]

    answer(
        given.json,
        {"results": str(kept), "seed": seed, "cells": cells},
        _cells_table([one.scenario for one in done], [[one] for one in done]),
        "",
        ("Mean per trial; ± is half of the 95 % Student t interval.", "dim"),
        f"Trials are kept in {kept}: raise trials or add values, and run it again.",
    )


def _cells_table(
    cells: "Sequence[Scenario]", blocks: "Sequence[Sequence[Block]]"
) -> RenderableType:
    """A row per cell: what differs between cells, and the trials that its blocks hold."""
    from devote.simulator.results import setting, varying

    names = varying(cells)
    rows = [
        [*(str(setting(cell)[name]) for name in names), *_cell_numbers(some)]
        for cell, some in zip(cells, blocks, strict=True)
    ]
    heads = (*names, "trials", "samples", "±", "messages", "good")
    return table("l" * len(names) + "r", heads, rows, **CLOSE)


def _cell_numbers(blocks: "Sequence[Block]") -> list[str]:
    import numpy as np

    from devote.simulator.summary import mean_row
    from devote.simulator.trial import NEVER

    if not sum(len(block.samples) for block in blocks):
        return ["0", "", "", "", ""]
    samples, sent, good = (
        np.concatenate([getattr(block, name) for block in blocks])
        for name in ("samples", "broadcasts", "epsilon_optimal")
    )
    shares = number(float(sent.mean())), probability(float(good.mean()))
    decided = samples[samples != NEVER]
    if not len(decided):
        return [str(len(samples)), "-", "", *shares]
    row = mean_row("", decided)
    half = "" if row.high is None else number(row.high - row.value)
    return [str(len(samples)), number(row.value), half, *shares]


FRAMES_PER_SECOND = 20
FULL_SPEED_STEP = 4096
BAR_WIDTH = 28
ENDINGS = {
    "agreed": ("green", "agreed: every player holds arm {}"),
    "stalled": (
        "yellow",
        "stalled: players are split over arms {}, and no message can settle it any more",
    ),
    "unfinished": ("cyan", "unfinished at the horizon: arms {} are left"),
}


@command(
    "watch",
    *SCENARIO,
    "--speed W  Pulls per second; 0: no limit. Default: 3000 in a terminal, or 0.",
    without=("--workers", "--engine"),
)
def watch(given: Namespace) -> None:
    """One run, live in the terminal: arms, messages about them, players done.

    Where stdout is not a terminal, each message, elimination and reset is a line; with --json, a
    JSON object.

    Examples:
        devote watch --problem 1 --players 64
        devote watch --means .7,.7,.1 --players 32 --speed 10000
        devote watch --problem 2 | grep eliminated
    """
    asked = read_scenario(given)
    from devote.simulator.frames import frames

    out = console()
    live = out.is_terminal and not given.json
    rate = (3000 if live else 0) if given.speed is None else given.speed
    step = max(1, int(rate / FRAMES_PER_SECOND)) if rate else FULL_SPEED_STEP
    with watcher(asked, out, json=given.json) as see:
        due = time.monotonic()
        for frame in frames(asked, seed=given.seed, step=step):
            see(frame)
            if rate and not frame.over:
                due = max(due + step / rate, time.monotonic())
                time.sleep(max(0.0, due - time.monotonic()))


@contextmanager
def watcher(
    asked: "Scenario", out: "Console", *, json: bool = False
) -> "Iterator[Callable[[Frame], None]]":
    """What shows one frame after another: a screen that redraws itself only in a terminal."""
    if json:
        yield _print_json
    elif not out.is_terminal:
        counted: Counter[tuple[int, int]] = Counter()
        yield lambda frame: _print_lines(asked, frame, counted)
    else:
        from rich.live import Live

        with Live(console=out, auto_refresh=False) as live:
            yield lambda frame: live.update(picture(asked, frame), refresh=True)


def _print_json(frame: "Frame") -> None:
    for event in frame.events:
        show_json(event._asdict())
    if frame.over:
        end = {"time": frame.samples, "kind": "end", "status": frame.status}
        show_json({**end, "winners": list(frame.winners), "broadcasts": frame.broadcasts})


def _print_lines(asked: "Scenario", frame: "Frame", counted: Counter[tuple[int, int]]) -> None:
    """A line per event, and one for the end; messages about an arm are counted."""
    sentences = {} if asked.part is None else asked.part.sentences

    def sentence(event: "Event") -> str:
        text = sentences.get(event.kind, "player {player}: {kind}").format(**event._asdict())
        if event.arm < 0 or event.kind == "elimination":
            return text
        counted[event.term, event.arm] += 1
        return f"{text} ({counted[event.term, event.arm]}/{asked.spec.votes_needed})"

    for event in frame.events:
        show(f"{event.time:>10,}  {sentence(event)}")
    if frame.over:
        show(f"{frame.samples:>10,}  {_ending(frame)}")


def picture(asked: "Scenario", frame: "Frame") -> RenderableType:
    """The arms with the messages about them, and how far the players are."""
    spec, means = asked.spec, asked.problem.values(asked.n_players, frame.samples)
    view = asked.scheme.tally(spec).view()
    needed = view["needed"]
    heading = f"{view['heading']}, of {needed}" if needed else ""
    arms = table("rrlr" if needed else "r", ("arm", "mean", heading, "", "holders"), ())
    for arm in range(spec.n_arms):
        votes = frame.votes[arm]
        counts: tuple[Any, str] = (_bar(votes, needed), str(votes)) if needed else ("", "")
        if frame.shared[arm] and not frame.asked[arm]:
            counts = ("not asked about now", counts[1])
        cells = (str(arm), f"{means[arm]:.3g}", *counts, f"{frame.holders[arm]:,}")
        arms.add_row(*cells, style="" if frame.shared[arm] else "dim strike")
    count = f"{frame.players_done:,} of {frame.n_learners:,}"
    rows = [("players down to one arm", _bar(frame.players_done, frame.n_learners), count)]
    text = _ending(frame) if frame.over else f"running, {frame.n_shared} arms left"
    text += f", term {frame.term}" if frame.term else ""
    colour = ENDINGS[frame.status][0] if frame.over else "cyan"
    progress = table("l", ",,", rows, show_header=False)
    return panel(
        [(asked.label, "bold")],
        [arms, progress, words((text, f"bold {colour}"))],
        f"{frame.samples:,} samples, {frame.broadcasts:,} broadcasts",
        width=76,
    )


def _bar(done: int, total: int) -> "Text":
    filled = BAR_WIDTH * min(done, total) // total
    return words(("█" * filled, "cyan"), ("░" * (BAR_WIDTH - filled), "dim"))


def _ending(frame: "Frame") -> str:
    return ENDINGS[frame.status][1].format(", ".join(map(str, frame.winners)))


VERDICTS = {"holds": "green", "does not hold": "red", "depends": "yellow"}


@command(
    "reproduce",
    "figures [FIGURE...]  Which; all by default.",
    "--trials N  Trials per point; 50 times that for single learners. [20]",
    "--players RANGE  Numbers of players: doubled, or a list. [32..1024]",
    "--out FOLDER  For figures, claims and results. [reproduction]",
    *(ENGINE, SEED, WORKERS, JSON),
    workers=0,
)
def reproduce(given: Namespace) -> None:
    """Run the paper's section 5 again: every figure, and every sentence judged.

    Writes FIGURE.svg, .pdf and .png, claims.md and claims.json. Interrupted, it goes on where
    it stopped when it is started again with the same options.

    Figures: problem-1, problem-2, problem-3, median-elimination, mean-gap, mean-gap-switch,
    switches, radius-forms, theorem-1, frequent-players.

    Examples:
        devote reproduce
        devote reproduce problem-1 problem-2 --trials 100 --out more-trials
        devote reproduce radius-forms --players 32..256 --json
    """
    from devote import studies

    sizes = studies.parse_players(given.players)
    settings = studies.Settings(players=sizes, trials=given.trials, seed=given.seed)
    how = {"out": given.out, "engine": given.engine}
    with progress_bar() as progress:
        done = studies.reproduce(
            given.figures,
            settings=settings,
            progress=progress,
            workers=given.workers or None,
            **how,
        )
    answer(given.json, done.to_dict(), *_reproduction(done))


def _reproduction(done: "Reproduction") -> Iterator[Cell]:
    rows: list[tuple[Cell, ...]] = []
    for claim in done.claims:
        cut = " (cut)" if claim["missing_n_players"] else ""
        verdict = words((claim["verdict"], VERDICTS.get(claim["verdict"], "dim")), cut)
        rows.append((claim["quote"], verdict, "; ".join(claim["depends_on"])))
    look = {"title": "The paper's claims", "title_justify": "left", "padding": (0, 2, 0, 0)}
    yield table("lLl", "the paper says,verdict,on", rows, **look)
    if done.settings.missing:
        left_out = ", ".join(map(str, done.settings.missing))
        text = f"(cut): the paper's N = {left_out} was not run, and verdicts may differ."
        yield lines("", text)
    yield ""
    yield f"{len(done.figures)} files of figures, claims.md and claims.json in {done.folder}/"


@command(
    "audit correctness",
    *SCENARIO,
    "--hard  A set of hard problems instead of one.",
    "--worst-case  Subroutines that fail with probability eta.",
    "--players LIST  Numbers of devices, such as 32,64.",
    "--precision X  Half the width of the interval to reach. [0.02]",
    "--confidence P  Confidence of the intervals. [0.95]",
    "--yes  Go on however long it takes.",
)
def correctness(given: Namespace) -> None:
    """How often the vote is really wrong, beside what is claimed and what is proved.

    Runs until the interval for the failure probability is tight enough.

    Examples:
        devote audit correctness --worst-case
        devote audit correctness --scheme jury --hard --algorithm kl_racing
        devote audit correctness --problem 1 --players 64 --precision .005
        devote audit correctness --problem 4 --algorithm ser4 --option phi=4e-5 --horizon 180000
    """
    from devote.audit import audit_correctness, audit_worst_case, hard_problems
    from devote.audit.worst_case import PLAYERS as WORST_CASE_PLAYERS
    from devote.studies import parse_players

    sizes = () if given.players is None else parse_players(given.players)
    how = {"precision": given.precision, "confidence": given.confidence, "allow_long": given.yes}
    how |= running(given)
    problems = hard_problems(given.epsilon) if given.hard else (read_problem(given),)
    rows: Sequence[Correctness | Refusal]
    with progress_bar() as progress:
        how["progress"] = progress
        if given.worst_case:
            bounds = {"eta": given.eta, "delta": given.delta}
            rows = audit_worst_case(players=sizes or WORST_CASE_PLAYERS, **bounds, **how)
        else:
            rows = [
                audit_correctness(read_scenario(given, problem, n), **how)
                for problem in problems
                for n in sizes or (64,)
            ]
    value = {"rows": [row.to_dict() for row in rows], "precision": given.precision}
    answer(given.json, value, *_correctness(rows, given.delta))


def _correctness(rows: "Sequence[Correctness | Refusal]", delta: float) -> Iterator[Cell]:
    from devote.audit import Refusal

    shown: list[tuple[Cell, ...]] = []
    notes: dict[str, str] = {}
    for row in rows:
        if isinstance(row, Refusal):
            shown.append(("-", row.scheme, str(row.n_players), *["-"] * 7))
            notes[f"{row.scheme} N={row.n_players}"] = row.why
            continue
        asked, failure = row.scenario, row.failure
        colour = "red" if failure.interval[0] > delta else "green"
        shown.append(
            (
                asked.problem.name,
                asked.scheme.name,
                str(asked.n_players),
                f"{failure.runs:,}",
                (f"{failure.value:.4f}", colour),
                _interval(failure),
                "none" if row.claimed is None else f"{row.claimed:.4f}",
                "none" if row.proved is None else f"{row.proved:.2g}",
                f"{row.stalled.value:.3f}",
                "-" if row.lone is None else f"{row.lone.value:.3f}",
            )
        )
        notes |= _notes(row)
    heads = "problem,scheme,N,runs,failed,interval,claimed,proved,stalled,lone"
    columns = list(zip(heads.split(","), zip(*shown, strict=True), strict=True))
    same = [column for column in columns[:2] if len(set(column[1]) - {"-"}) == 1]
    for head, cells in same:  # once, above the table, where all rows share it
        yield words(f"{head} {next(iter(set(cells) - {'-'}))}")
    kept = [column for column in columns if column not in same]
    rest = zip(*(cells for _, cells in kept), strict=True)
    yield table("L" * (2 - len(same)) + "r", [head for head, _ in kept], rest, **CLOSE)
    yield lines(
        "",
        "failed: no epsilon-optimal arm left in the shared set at the end. The interval would be "
        "exact if the number of runs had been fixed; they stop when it is narrow.",
        "claimed: eta^M, Theorem 1 as printed. proved: what is proved of this scheme with this "
        "subroutine on these arms; see docs/guarantees.md.",
        "lone: error of a player alone, who was allowed eta.",
        "With resets (ser4) a run has failed if some term of it has; claimed and proved are about "
        "one term.",
        *(f"{name}: {text}" for name, text in notes.items()),
        style="dim",
    )


def _notes(row: "Correctness") -> dict[str, str]:
    """What a row of the table cannot hold, by what it is about."""
    asked, runs = row.scenario, row.failure.runs
    notes = {f"{asked.spec.algorithm} alone": f"{row.promised.standing}: {row.promised.why}"}
    if row.terms is not None:
        notes[asked.label] = (
            f"{row.mean_resets:.1f} resets a run; of {row.terms.runs:,} terms that were "
            f"decided {row.terms.count} failed: {_rate(row.terms)}"
        )
    elif row.unfinished.count:
        notes[asked.label] = f"{row.unfinished.count} of {runs} runs reached the horizon unfinished"
    if row.stalled.count:
        notes[f"stalls, {asked.label}"] = (
            f"the arms left hold no good one in {_rate(row.set_wrong)} of stalled runs; the "
            f"first of them is bad in {_rate(row.plurality_wrong)}"
        )
    return notes


@command(
    "audit privacy",
    "spec [SPEC]  The specification of an experiment; without one, that of the options.",
    *SCENARIO,
    "--runs N  Runs per question, or devices in each world, a third of which measure. [2000]",
    "--client FILE  A browser client of your own in place of the one that ships.",
    "--figure FILE  Draw success over eta and N instead, as .svg, .pdf and .png.",
    without=("--engine",),
)
def privacy(given: Namespace) -> None:
    """What one device's messages give away to somebody who knows the algorithm.

    A scheme with `privacy`: the Python device that ships, and the browser client in Node, are run
    for users who do different things; adversaries see all that leaves a device, each copy with its
    moment, and tell what its user did, measured beside the promise. Other schemes, simulated:
    adversaries name a device's best arm, its group, and how often it is used.

    Examples:
        devote audit privacy banner.toml
        devote audit privacy --scheme survey --set privacy=1 --runs 3000
        devote audit privacy --problem 1 --players 64
        devote audit privacy --algorithm ser4 --option phi=2e-5 --horizon 100000 --players 32
        devote audit privacy --figure privacy.svg
    """
    from devote.audit import audit_devices, audit_privacy, promised_epsilon

    how: dict[str, Any] = {"runs": given.runs, **running(given)}
    if given.figure is not None:
        from devote.studies.sweeps import draw_eta, sweep_eta

        _, pictures, data = draw_sweep(given.figure, draw_eta, sweep_eta, **how)
        drawn = {"pictures": [str(path) for path in pictures], "data": str(data)}
        pictures_line = f"Pictures: {', '.join(drawn['pictures'])}"
        return answer(given.json, drawn, pictures_line, f"Data: {data}")
    problem = read_problem(given)
    spec = read_spec_file(given.spec) if given.spec else read_spec(given, problem.n_arms)
    if promised_epsilon(spec) is not None:
        with progress_bar() as progress:
            found = audit_devices(spec, client=given.client, progress=progress, **how)
        tables = {device: [row.to_dict() for row in rows] for device, rows in found.items()}
        value = {"spec": spec.to_dict(), "runs": given.runs, "devices": tables}
        return answer(given.json, value, *_exposures(spec, found))
    n_players = given.players
    with progress_bar() as progress:
        leaks = audit_privacy(
            spec, problem, n_players, horizon=given.horizon, progress=progress, **how
        )
    value = {"n_players": n_players, "eta": spec.eta, "leaks": [x.to_dict() for x in leaks]}
    return answer(given.json, value, *_leaks(leaks, spec.eta))


STAND_IN = {"group": "its players form no groups", "activity": "its players wake equally often"}


def _leaks(leaks: "Sequence[Leak]", eta: float) -> Iterator[Cell]:
    success, among, counts = [], [], []
    for leak in leaks:
        sees = "all" if leak.others_known else "own"
        cap = "-" if leak.cap is None else f"{leak.cap:.2f}"
        rate = (f"{leak.success.value:.3f}", _interval(leak.success))
        success.append(
            (leak.question, sees, *rate, f"{leak.baseline:.2f}", cap, f"{leak.dp_epsilon:.2f}")
        )
        shares = (leak.voted, leak.complete, leak.silent)
        among.append(
            (
                leak.question,
                sees,
                *(f"{s.value:.2f} of {number(s.runs)}" if s.runs else "nobody" for s in shares),
            )
        )
        if (count := leak.count) is not None:
            low, high = count.interval
            near = (f"{count.near.value:.3f}", _interval(count.near))
            error = (f"{count.error:.1%}", f"[{low:.1%} {high:.1%}]", f"{count.blind:.1%}")
            counts.append(("estimated", sees, *error, *near, f"{count.blind_near.value:.3f}"))
    yield table("LLr", "question,sees,success,interval,without,cap,DP eps", success)
    yield ""
    yield table("LLr", "success among,sees,who voted,all but one,silent", among)
    heads = "activations,sees,error,interval,without,near,interval,without"
    yield ""
    yield table("LLr", heads, counts, **CLOSE)
    yield ""
    for question, leak in {leak.question: leak for leak in leaks}.items():
        why = f" (in place of yours: {STAND_IN[question]})" if leak.stand_in else ""
        yield words(f"{question}: problem {leak.problem}{why}")
    yield lines(
        "",
        f"without: the best guess without any message. cap: 1 - eta = {1 - eta:.2g}, which "
        "Definition 3 claims for the best arm. sees: the player's own messages, or everybody's.",
        "who voted, all but one, silent: players who had voted at the end, had voted against all "
        "arms but one, had not voted; and how many there were.",
        "DP eps: the least epsilon of differential privacy that the success leaves possible "
        "(95 %).",
        "error: the median error of the estimated number of activations, relative to the "
        "true one; near: how often it is within 10 %; without: of the best single number.",
        style="dim",
    )


def _exposures(spec: "ExperimentSpec", found: "Mapping[str, Sequence[Exposure]]") -> Iterator[Cell]:
    rows = [row for those in found.values() for row in those]
    yield words(f"{spec.name}: all that a device sends is promised to be e-locally differentially")
    yield words(f"private, e = {spec.scheme.sending.privacy:g}.")
    for device, those in found.items():
        shown = [
            (
                row.secret,
                f"{row.success.value:.3f}",
                _interval(row.success),
                f"{row.cap:.3f}",
                (row.verdict, "red" if row.is_broken else "green"),
            )
            for row in those
        ]
        yield ""
        yield words(f"{device}, {those[0].success.runs // len(those[0].worlds):,} measured a world")
        yield table("LrrrL", "secret,named,interval,cap,verdict", shown)
    if len(found) == 1:
        yield ""
        yield words("Not audited: the browser client, which runs surveys, where Node is installed.")
    verdict = ("No interval lies above its cap: consistent with the promise.", "green")
    if broken := [
        f"{device} ({row.secret})" for device in found for row in found[device] if row.is_broken
    ]:
        verdict = (f"The promise is broken: {', '.join(broken)}.", "red")
    yield Group("", words(verdict), "")
    yield lines(
        "Each secret is some worlds, equally likely:",
        *(
            f"  {name}: the user {', or '.join(worlds)}."
            for name, worlds in {row.secret: row.worlds for row in rows}.items()
        ),
        "named: how often the best adversary names the world of devices that it did not learn "
        "from. It sees all requests of a device, every copy with its moment, or that nothing "
        "leaves. Three of four acknowledgements are lost; every second device restarts.",
        "interval: exact for this number of devices, fixed beforehand; all of a table hold with "
        f"{100 * rows[0].confidence:.4g} % together. cap: what e allows at most. A value above its "
        "cap is chance while the interval holds the cap. Devices draw their own random numbers: "
        "another run gives other figures, whatever the seed.",
        "Not hidden: that the app is used, and when; with a survey, the arm shown.",
        style="dim",
    )


def _rate(rate: "Rate") -> str:
    return "{:.4f} [{:.4f}, {:.4f}]".format(rate.value, *rate.interval)


def _interval(rate: "Rate") -> str:
    return "[{:.3f} {:.3f}]".format(*rate.interval)


def draw_sweep(
    picture: Path, draw: Callable[..., Any], run: Callable[..., Any], *what: Any, **how: Any
) -> tuple[Any, Any, Path]:
    """Run a sweep, keep its numbers in a file beside the picture, and draw from that file.

    Gives the sweep, what ``draw`` gave, and the file of the numbers.
    """
    data = picture.with_suffix(".json")
    check_writable(picture, (".png", ".svg"))
    check_writable(data)
    with progress_bar() as progress:
        swept = run(*what, progress=progress, **how)
    swept.save(data)
    return swept, draw(type(swept).load(data), picture), data


@command("schemes", JSON)
def schemes(given: Namespace) -> None:
    """The schemes there are: how a group decides, with the parameters of each.

    Examples:
        devote schemes
        devote schemes --json
    """
    from devote.protocol.scheme import SCHEMES

    def describe(scheme: Any) -> dict[str, Any]:
        about = scheme.about
        facts = ("summary", "source", "deployable", "default_eta")
        meaning = about.parameters
        parameters = [
            {"name": item.name, "default": item.default, "meaning": meaning.get(item.name, "")}
            for item in fields(scheme)
        ]
        named = {"name": scheme.name, **{fact: getattr(about, fact) for fact in facts}}
        return {**named, "parameters": parameters}

    columns = {"scheme": "name", "how the group decides": "summary", "in the paper": "source"}
    _list(given.json, columns, [describe(scheme) for scheme in SCHEMES.values()])


@command("algorithms", JSON, IMPORT)
def algorithms(given: Namespace) -> None:
    """The subroutines there are, with their options and where they come from.

    Examples:
        devote algorithms
        devote algorithms --json
    """
    from devote.rules.algorithm import ALGORITHMS
    from devote.rules.outside import load_entry_points

    load_entry_points()
    facts = ("name", "summary", "source", "endless")
    items = [
        {**{fact: getattr(one, fact) for fact in facts}, "options": dict(one.options)}
        for one in ALGORITHMS.values()
    ]
    columns = {"algorithm": "name", "what it does": "summary", "source": "source"}
    _list(given.json, columns, items)


@command("problems", JSON)
def problems(given: Namespace) -> None:
    """The problems there are: what arms pay, who wakes, and where each comes from.

    Examples:
        devote problems
        devote problems --json
    """
    from devote.problems import PROBLEMS

    columns = {"problem": "name", "what it is": "summary", "who wakes": "activity"}
    items = [problem.to_dict() for problem in PROBLEMS.values()]
    _list(given.json, {**columns, "source": "source"}, items)


def _list(json: bool, columns: Mapping[str, str], items: list[dict[str, Any]]) -> None:
    """``columns`` are heads, and keys of the items."""
    layout = "b" + "l" * (len(columns) - 2) + "d"
    rows = [
        [{**item, "summary": _summary(item)}[key] for key in columns.values()] for item in items
    ]
    shown = table(layout, list(columns), rows, padding=(0, 2, 1, 0))
    answer(json, items, shown)


def _summary(item: dict[str, Any]) -> "Text":
    """The summary, and below it what can be set."""
    more = [] if item.get("deployable", True) else ["for simulations only"]
    for one in item.get("parameters", ()):
        default = "" if one["default"] is None else one["default"]
        more.append(f"--set {one['name']}={default}  {one['meaning']}")
    for name, allowed in item.get("options", {}).items():
        choice = " or ".join(allowed) if isinstance(allowed, tuple) else f"{allowed:g}"
        more.append(f"--option {name}={choice}")
    return lines(item["summary"], *((row, "dim") for row in more))
