"""Audits as a person likes to read them."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from devote.audit import Correctness, Leak, Rate, Refusal
from devote.cli.terminal import console, number

STAND_IN = {
    "group": "its players form no groups",
    "activity": "its players wake equally often",
}


def show_correctness(rows: Sequence[Correctness | Refusal], delta: float) -> None:
    """Print one row per scenario, and what the columns mean."""
    table = _table(
        "problem", "scheme", "N", "runs", "failed", "interval", "claimed", "proved",
        "stalled", "lone",
    )  # fmt: skip
    notes: dict[str, str] = {}
    for row in rows:
        if isinstance(row, Refusal):
            table.add_row("-", row.scheme, str(row.n_players), *["-"] * 7)
            notes[f"{row.scheme} N={row.n_players}"] = row.why
            continue
        spec = row.scenario.spec
        colour = "red" if row.failure.interval[0] > delta else "green"
        table.add_row(
            row.scenario.problem.name,
            row.scenario.scheme.name,
            str(row.scenario.n_players),
            f"{row.failure.runs:,}",
            Text(f"{row.failure.value:.4f}", style=colour),
            _interval(row.failure),
            f"{row.claimed:.4f}",
            "none" if row.proved is None else f"{row.proved:.2g}",
            f"{row.stalled.value:.3f}",
            "-" if row.lone is None else f"{row.lone.value:.3f}",
        )
        notes[f"{spec.algorithm} alone"] = f"{row.promised.standing}: {row.promised.why}"
        if row.terms is not None:
            notes[f"{row.scenario.label}"] = (
                f"{row.mean_resets:.1f} resets a run; of {row.terms.runs:,} terms that were "
                f"decided {row.terms.count} failed: {_rate(row.terms)}"
            )
        elif row.unfinished.count:
            notes[f"{row.scenario.label}"] = (
                f"{row.unfinished.count} of {row.failure.runs} runs reached the horizon unfinished"
            )
        if row.stalled.count:
            notes[f"stalls, {row.scenario.label}"] = (
                f"the arms left hold no good one in {_rate(row.set_wrong)} of stalled runs; the "
                f"first of them is bad in {_rate(row.plurality_wrong)}"
            )
    out = console()
    out.print(table)
    out.print(
        "\n[dim]failed: no epsilon-optimal arm left in the shared set at the end, with the exact "
        "interval for this number of runs.\nclaimed: eta^M, Theorem 1 as printed. proved: what is "
        "proved of this scheme with this subroutine on these arms; see docs/guarantees.md.\n"
        "lone: error of a player alone, who was allowed eta.\nWith resets (ser4) a run has failed "
        "if some term of it has; claimed and proved are about one term.[/dim]"
    )
    for name, words in notes.items():
        out.print(f"[dim]{name}: {words}[/dim]")


def show_privacy(leaks: Sequence[Leak], eta: float) -> None:
    """Print one row per adversary."""
    table = _table(
        "question", "sees", "success", "interval", "without", "cap", "voted", "all but one",
        "silent", "DP eps",
    )  # fmt: skip
    for leak in leaks:
        table.add_row(
            leak.question,
            _sees(leak),
            f"{leak.success.value:.3f}",
            _interval(leak.success),
            f"{leak.baseline:.2f}",
            "-" if leak.cap is None else f"{leak.cap:.2f}",
            *(_share(rate) for rate in (leak.voted, leak.complete, leak.silent)),
            f"{leak.dp_epsilon:.2f}",
        )
    counts = _table(
        "activations",
        "sees",
        "median error",
        "interval",
        "without",
        "within 10 %",
        "interval",
        "without",
    )
    for leak in leaks:
        if leak.count is not None:
            low, high = leak.count.interval
            counts.add_row(
                "estimated",
                _sees(leak),
                f"{leak.count.error:.1%}",
                Text(f"[{low:.1%} {high:.1%}]"),
                f"{leak.count.blind:.1%}",
                f"{leak.count.near.value:.3f}",
                _interval(leak.count.near),
                f"{leak.count.blind_near.value:.3f}",
            )
    out = console()
    out.print(table)
    out.print()
    out.print(counts)
    out.print()
    for question, leak in {leak.question: leak for leak in leaks}.items():
        why = f" (in place of yours: {STAND_IN[question]})" if leak.stand_in else ""
        out.print(f"{question}: problem {leak.problem}{why}", markup=False)
    out.print(
        f"\n[dim]without: the best guess without any message. cap: 1 - eta = {1 - eta:.2g}, which "
        "Definition 3 claims for the best arm.\nsees: the player's own messages, or everybody's. "
        "voted, all but one, silent: success among players who\nhad voted at the end, had voted "
        "against all arms but one, had not voted; and how many there were.\nDP eps: the least "
        "epsilon of differential privacy that the success leaves possible (95 %).\nmedian "
        "error, within 10 %: of the estimated number of activations, relative to the true one; "
        "without: of the best single number.[/dim]"
    )


def _rate(rate: Rate) -> str:
    low, high = rate.interval
    return f"{rate.value:.4f} [{low:.4f}, {high:.4f}]"


def _interval(rate: Rate) -> Text:
    low, high = rate.interval
    return Text(f"[{low:.3f} {high:.3f}]")


def _sees(leak: Leak) -> str:
    return "all" if leak.others_known else "own"


def _share(rate: Rate) -> str:
    return f"{rate.value:.2f}/{number(rate.runs)}" if rate.runs else "nobody"


def _table(*columns: str) -> Any:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place < 2 else "right", no_wrap=True)
    return table
