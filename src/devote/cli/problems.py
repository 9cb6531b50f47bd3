"""``devote problems``: the problems there are."""

import typer

from devote.cli import options

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command()
def problems(json: options.Json = False, seed: options.IdleSeed = 0) -> None:
    """The problems there are: what arms pay, who wakes, and where each comes from.

    [bold]Examples[/bold]

    devote problems

    devote problems --json
    """
    from devote.cli.showing import console, show_json
    from devote.problems import PROBLEMS

    if json:
        show_json([problem.to_dict() for problem in PROBLEMS.values()])
        return

    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 1, 0), header_style="dim")
    for column in ("problem", "what it is", "who wakes", "source"):
        table.add_column(column, style="bold" if column == "problem" else "")
    for problem in PROBLEMS.values():
        table.add_row(
            problem.name, problem.summary, problem.activity.spec, f"[dim]{problem.source}[/dim]"
        )
    console().print(table)
