"""``devote reproduce``: the paper's figures, and its sentences judged."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from devote.cli import options

if TYPE_CHECKING:
    from devote.studies import Reproduction

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command()
def reproduce(
    figures: Annotated[
        list[str] | None, typer.Argument(metavar="FIGURE", help="Which; all by default.")
    ] = None,
    trials: Annotated[
        int,
        typer.Option(metavar="T", help="Trials of each point; single learners take 50 times that."),
    ] = 20,
    players: Annotated[
        str, typer.Option(metavar="RANGE", help="Numbers of players: doubling, or a list.")
    ] = "32..1024",
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where figures, claims and results go.")
    ] = Path("reproduction"),
    seed: options.Seed = 0,
    workers: options.Workers = 0,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on this cluster: tcp://host:8786.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Run the paper's section 5 again: every figure, and every sentence judged.

    Writes FIGURE.svg, .pdf and .png, claims.md and claims.json. Interrupted, it goes on where
    it stopped when it is started again with the same options.

    [bold]Figures[/bold]: problem-1, problem-2, problem-3, median-elimination, mean-gap,
    mean-gap-switch, switches, radius-forms, theorem-1, frequent-players.

    [bold]Examples[/bold]

    devote reproduce

    devote reproduce problem-1 problem-2 --trials 100 --out more-trials

    devote reproduce radius-forms --players 32..256 --json
    """
    from devote.cli.terminal import progress_bar, show_json
    from devote.studies import Settings, parse_players
    from devote.studies import reproduce as run

    settings = Settings(players=parse_players(players), trials=trials, seed=seed)
    with progress_bar() as progress:
        done = run(
            figures or (),
            settings=settings,
            out=out,
            workers=workers or None,
            dask=dask,
            progress=progress,
        )
    if json:
        show_json(done.to_dict())
    else:
        _show(done)


def _show(done: "Reproduction") -> None:
    from rich.table import Table

    from devote.cli.terminal import console

    colours = {"holds": "green", "does not hold": "red", "depends": "yellow"}
    table = Table(title="The paper's claims", box=None, title_justify="left", padding=(0, 2, 0, 0))
    table.add_column("the paper says")
    table.add_column("verdict", no_wrap=True)
    table.add_column("on")
    for claim in done.claims:
        colour = colours.get(claim.verdict, "dim")
        verdict = f"[{colour}]{claim.verdict}[/{colour}]" + (" (cut)" if claim.missing else "")
        table.add_row(claim.quote.replace("[", "\\["), verdict, "; ".join(claim.depends_on))
    out = console()
    out.print(table)
    if done.settings.missing:
        left_out = ", ".join(map(str, done.settings.missing))
        out.print(f"\n(cut): the paper's N = {left_out} was not run, and verdicts may differ.")
    files = len(done.figures)
    out.print(f"\n{files} files of figures, claims.md and claims.json in {done.folder}/")
