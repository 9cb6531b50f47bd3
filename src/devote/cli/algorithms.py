"""``devote algorithms``: the subroutines there are."""

import typer

from devote.cli import options

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command()
def algorithms(json: options.Json = False, seed: options.IdleSeed = 0) -> None:
    """The subroutines there are, with their options and where they come from.

    [bold]Examples[/bold]

    devote algorithms

    devote algorithms --json
    """
    from devote.cli.showing import console, show_json
    from devote.kernels.registry import ALGORITHMS

    if json:
        show_json(
            [
                {
                    "name": algorithm.name,
                    "summary": algorithm.summary,
                    "source": algorithm.source,
                    "options": dict(algorithm.options),
                    "endless": algorithm.endless,
                }
                for algorithm in ALGORITHMS.values()
            ]
        )
        return

    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 1, 0), header_style="dim")
    for column in ("algorithm", "what it does", "source"):
        table.add_column(column, style="bold" if column == "algorithm" else "")
    for algorithm in ALGORITHMS.values():
        words = algorithm.summary
        for name, allowed in algorithm.options.items():
            choice = " or ".join(allowed) if isinstance(allowed, tuple) else f"{allowed:g}"
            words += f"\n[dim]--option {name}={choice}[/dim]"
        table.add_row(algorithm.name, words, f"[dim]{algorithm.source}[/dim]")
    console().print(table)
