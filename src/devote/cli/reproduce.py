"""``devote reproduce``: the paper's figures, and its sentences judged."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from devote.cli import options
from devote.cli.options import takes

if TYPE_CHECKING:
    from devote.studies import Reproduction

COLOURS = {"holds": "green", "does not hold": "red", "depends": "yellow"}


def reproduce(
    figures: Annotated[
        list[str] | None, typer.Argument(metavar="FIGURE", help="Which; all by default.")
    ] = None,
    trials: Annotated[int, takes("T", "Trials per point; 50 times that for single learners.")] = 20,
    players: Annotated[str, takes("RANGE", "Numbers of players: doubled, or a list.")] = "32..1024",
    out: Annotated[Path, takes("DIR", "For figures, claims and results.")] = Path("reproduction"),
    engine: options.Engine = "auto",
    seed: options.Seed = 0,
    workers: options.Workers = 0,
    json: options.Json = False,
) -> None:
    """Run the paper's section 5 again: every figure, and every sentence judged.

    Writes FIGURE.svg, .pdf and .png, claims.md and claims.json. Interrupted, it goes on where
    it stopped when it is started again with the same options.

    [bold]Figures[/bold]: problem-1, problem-2, problem-3, median-elimination, mean-gap,
    mean-gap-switch, switches, radius-forms, theorem-1, frequent-players.

    Examples:
        devote reproduce
        devote reproduce problem-1 problem-2 --trials 100 --out more-trials
        devote reproduce radius-forms --players 32..256 --json
    """
    from devote import studies
    from devote.cli.terminal import progress_bar, tell

    settings = studies.Settings(players=studies.parse_players(players), trials=trials, seed=seed)
    how: dict[str, Any] = {"out": out, "engine": engine, "workers": workers or None}
    with progress_bar() as progress:
        done = studies.reproduce(figures or (), settings=settings, progress=progress, **how)
    tell(done.to_dict(), json, lambda _: _show(done))


def _show(done: "Reproduction") -> None:
    from devote.cli.terminal import console, table

    rows = []
    for claim in done.claims:
        cut = " (cut)" if claim["missing_n_players"] else ""
        verdict = f"[{COLOURS.get(claim['verdict'], 'dim')}]{claim['verdict']}[/]{cut}"
        rows.append((claim["quote"].replace("[", "\\["), verdict, "; ".join(claim["depends_on"])))
    heads = ("the paper says", "verdict", "on")
    look = {"title": "The paper's claims", "title_justify": "left", "padding": (0, 2, 0, 0)}
    out = console()
    out.print(table("lLl", heads, rows, **look))
    if done.settings.missing:
        left_out = ", ".join(map(str, done.settings.missing))
        out.print(f"\n(cut): the paper's N = {left_out} was not run, and verdicts may differ.")
    files = len(done.figures)
    out.print(f"\n{files} files of figures, claims.md and claims.json in {done.folder}/")
