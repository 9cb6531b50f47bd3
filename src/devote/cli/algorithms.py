"""``devote algorithms``: the subroutines there are."""

import typer

from devote.cli import options
from devote.kernels import Algorithm
from devote.kernels.registry import ALGORITHMS

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command()
def algorithms(json: options.Json = False) -> None:
    """The subroutines there are, with their options and where they come from.

    [bold]Examples[/bold]

    devote algorithms

    devote algorithms --json
    """
    from devote.cli.terminal import show_json, show_listing

    known = ALGORITHMS.values()
    if json:
        names = ("name", "summary", "source", "endless")
        show_json(
            [
                {**{name: getattr(one, name) for name in names}, "options": dict(one.options)}
                for one in known
            ]
        )
    else:
        columns = ("algorithm", "what it does", "source")
        show_listing(columns, ((one.name, _words(one), one.source) for one in known))


def _words(algorithm: Algorithm) -> str:
    words = algorithm.summary
    for name, allowed in algorithm.options.items():
        choice = " or ".join(allowed) if isinstance(allowed, tuple) else f"{allowed:g}"
        words += f"\n[dim]--option {name}={choice}[/dim]"
    return words
