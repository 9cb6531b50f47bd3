"""Audits as a person likes to read them."""

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from devote.audit import Correctness, Exposure, Leak, Rate, Refusal
from devote.cli.terminal import CLOSE, console, number, table

STAND_IN = {
    "group": "its players form no groups",
    "activity": "its players wake equally often",
}
CORRECTNESS = "problem,scheme,N,runs,failed,interval,claimed,proved,stalled,lone"
PRIVACY = "question,sees,success,interval,without,cap,DP eps"
AMONG = "success among,sees,who voted,all but one,silent"
COUNTS = "activations,sees,error,interval,without,near,interval,without"
EXPOSURE = "secret,success,interval,e at least,from"
"""How the columns of each table are headed; each fits into 80 columns."""


def show_correctness(rows: Sequence[Correctness | Refusal], delta: float) -> None:
    """Print one row per scenario, and what the columns mean."""
    shown: list[tuple[str | Text, ...]] = []
    notes: dict[str, str] = {}
    for row in rows:
        if isinstance(row, Refusal):
            shown.append(("-", row.scheme, str(row.n_players), *["-"] * 7))
            notes[f"{row.scheme} N={row.n_players}"] = row.why
            continue
        label, failure = row.scenario.label, row.failure
        colour = "red" if failure.interval[0] > delta else "green"
        shown.append(
            (
                row.scenario.problem.name,
                row.scenario.scheme.name,
                str(row.scenario.n_players),
                f"{failure.runs:,}",
                Text(f"{failure.value:.4f}", style=colour),
                _interval(failure),
                "none" if row.claimed is None else f"{row.claimed:.4f}",
                "none" if row.proved is None else f"{row.proved:.2g}",
                f"{row.stalled.value:.3f}",
                "-" if row.lone is None else f"{row.lone.value:.3f}",
            )
        )
        alone = f"{row.scenario.spec.algorithm} alone"
        notes[alone] = f"{row.promised.standing}: {row.promised.why}"
        if row.terms is not None:
            notes[label] = (
                f"{row.mean_resets:.1f} resets a run; of {row.terms.runs:,} terms that were "
                f"decided {row.terms.count} failed: {_rate(row.terms)}"
            )
        elif row.unfinished.count:
            unfinished = f"{row.unfinished.count} of {failure.runs} runs"
            notes[label] = f"{unfinished} reached the horizon unfinished"
        if row.stalled.count:
            notes[f"stalls, {label}"] = (
                f"the arms left hold no good one in {_rate(row.set_wrong)} of stalled runs; the "
                f"first of them is bad in {_rate(row.plurality_wrong)}"
            )
    out = console()
    same, heads, rest = _apart(CORRECTNESS.split(","), shown)
    if same:
        out.print(f"{same}\n")
    out.print(table("L" * heads.index("N") + "r", heads, rest, **CLOSE))
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
    shown: list[tuple[str | Text, ...]] = [
        (
            leak.question,
            _sees(leak),
            f"{leak.success.value:.3f}",
            _interval(leak.success),
            f"{leak.baseline:.2f}",
            "-" if leak.cap is None else f"{leak.cap:.2f}",
            f"{leak.dp_epsilon:.2f}",
        )
        for leak in leaks
    ]
    among = [
        (
            leak.question,
            _sees(leak),
            *(_share(rate) for rate in (leak.voted, leak.complete, leak.silent)),
        )
        for leak in leaks
    ]
    counts = [
        (
            "estimated",
            _sees(leak),
            f"{count.error:.1%}",
            Text("[{:.1%} {:.1%}]".format(*count.interval)),
            f"{count.blind:.1%}",
            f"{count.near.value:.3f}",
            _interval(count.near),
            f"{count.blind_near.value:.3f}",
        )
        for leak in leaks
        if (count := leak.count) is not None
    ]
    out = console()
    out.print(table("LLr", PRIVACY.split(","), shown), "")
    out.print(table("LLr", AMONG.split(","), among), "")
    out.print(table("LLr", COUNTS.split(","), counts, **CLOSE), "")
    for question, leak in {leak.question: leak for leak in leaks}.items():
        why = f" (in place of yours: {STAND_IN[question]})" if leak.stand_in else ""
        out.print(f"{question}: problem {leak.problem}{why}", markup=False)
    out.print(
        f"\n[dim]without: the best guess without any message. cap: 1 - eta = {1 - eta:.2g}, which "
        "Definition 3 claims for the best arm. sees: the player's own messages, or everybody's.\n"
        "who voted, all but one, silent: players who had voted at the end, had voted against all "
        "arms but one, had not voted; and how many there were.\n"
        "DP eps: the least epsilon of differential privacy that the success leaves possible "
        "(95 %).\nerror: the median error of the estimated number of activations, relative to the "
        "true one; near: how often it is within 10 %; without: of the best single number.[/dim]"
    )


def show_exposure(rows: Sequence[Exposure], runs: int) -> None:
    """Print one row per secret, and whether the promise stands."""
    shown = [
        (
            row.secret,
            f"{row.success.value:.3f}",
            _interval(row.success),
            Text(f"{row.epsilon_at_least:.2f}", style="red" if row.is_broken else "green"),
            row.event_by if row.is_broken else row.by,
        )
        for row in rows
    ]
    first, out = rows[0], console()
    if first.promised is not None:
        out.print(
            f"Promised: e = {first.promised:g}, so that nobody names the world with more than "
            f"{first.cap:.3f}.\n"
        )
    out.print(table("LrrrL", EXPOSURE.split(","), shown), "")
    if broken := [row.secret for row in rows if row.is_broken]:
        out.print(f"[red]The promise is broken: {', '.join(broken)}.[/red]\n")
    else:
        out.print(f"Nothing seen of {runs:,} devices in each world breaks the promise.\n")
    out.print("[dim]Each secret is two worlds, equally likely:")
    for row in rows:
        out.print(f"[dim]  {row.secret}: the user {row.worlds[0]}, or {row.worlds[1]}.")
    out.print(
        "[dim]The adversary sees all that leaves one device, every copy with its moment, or\n"
        "that nothing does. Three of four acknowledgements are lost; every second device\n"
        "restarts. success: how often the best adversary names the world (95 %).\n"
        "e at least: the least e that its best event leaves possible; all rows hold\n"
        f"together with {100 * first.confidence:.4g} % confidence. from: what it looked at.\n"
        "Not hidden: that the app is used, and when. The device is simulated by the rules\n"
        "of the proofs; tests/device put the real one to the same audit.[/dim]"
    )


def show_pictures(drawn: dict[str, Any]) -> None:
    """Print where the pictures are, and their data."""
    console().print(f"Pictures: {', '.join(drawn['pictures'])}\nData: {drawn['data']}")


def _rate(rate: Rate) -> str:
    return "{:.4f} [{:.4f}, {:.4f}]".format(rate.value, *rate.interval)


def _interval(rate: Rate) -> Text:
    return Text("[{:.3f} {:.3f}]".format(*rate.interval))


def _sees(leak: Leak) -> str:
    return "all" if leak.others_known else "own"


def _share(rate: Rate) -> str:
    return f"{rate.value:.2f} of {number(rate.runs)}" if rate.runs else "nobody"


def _apart(
    heads: Sequence[str], rows: Sequence[Sequence[str | Text]]
) -> tuple[str, list[str], list[list[str | Text]]]:
    """What is the same in all rows, in words, and the table without its columns.

    Only of the columns before N, which say what was run.
    """
    named = list(heads[: heads.index("N")])
    held = {head: {str(row[place]) for row in rows} - {"-"} for place, head in enumerate(named)}
    same = [head for head in named if len(held[head]) == 1]
    kept = [place for place, head in enumerate(heads) if head not in same]
    words = ", ".join(f"{head} {next(iter(held[head]))}" for head in same)
    return words, [heads[place] for place in kept], [[row[place] for place in kept] for row in rows]
