"""``devote schemes``: the ways a group can decide."""

from dataclasses import fields
from typing import Any

import typer

from devote.cli import options
from devote.protocol import Scheme
from devote.protocol.scheme import SCHEMES

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command()
def schemes(json: options.Json = False) -> None:
    """The schemes there are: how a group decides, with the parameters of each.

    [bold]Examples[/bold]

    devote schemes

    devote schemes --json
    """
    from devote.cli.terminal import show_json, show_listing

    known = SCHEMES.values()
    if json:
        show_json([_describe(scheme) for scheme in known])
    else:
        columns = ("scheme", "how the group decides", "in the paper")
        show_listing(columns, ((one.name, _words(one), one.paper_name) for one in known))


def _describe(scheme: type[Scheme]) -> dict[str, Any]:
    names = ("name", "summary", "paper_name", "deployable", "default_eta")
    return {
        **{name: getattr(scheme, name) for name in names},
        "parameters": [
            {
                "name": item.name,
                "default": item.default,
                "meaning": scheme.remedies.get(item.name, ""),
            }
            for item in fields(scheme)
        ],
    }


def _words(scheme: type[Scheme]) -> str:
    words = scheme.summary
    if not scheme.deployable:
        words += "\n[dim]a baseline, for simulations only[/dim]"
    for item in fields(scheme):
        default = "" if item.default is None else item.default
        words += f"\n[dim]--set {item.name}={default}  {scheme.remedies.get(item.name, '')}[/dim]"
    return words
