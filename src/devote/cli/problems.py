"""``devote problems``: the problems there are."""

import typer

from devote.cli import options
from devote.problems import PROBLEMS

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command()
def problems(json: options.Json = False) -> None:
    """The problems there are: what arms pay, who wakes, and where each comes from.

    [bold]Examples[/bold]

    devote problems

    devote problems --json
    """
    from devote.cli.terminal import show_json, show_listing

    known = PROBLEMS.values()
    if json:
        show_json([problem.to_dict() for problem in known])
    else:
        columns = ("problem", "what it is", "who wakes", "source")
        rows = ((one.name, one.summary, one.activity.spec, one.source) for one in known)
        show_listing(columns, rows)
