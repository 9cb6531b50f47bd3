"""``devote demo``: the main job end to end, on this machine, in under a minute."""

from typing import Annotated

import typer

from devote.cli import options

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command()
def demo(
    players: options.Players = 64,
    means: options.Means = None,
    scheme: Annotated[
        str | None, typer.Option(metavar="NAME", help="How the devices decide, such as jury.")
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A parameter of the scheme; may be repeated."
        ),
    ] = None,
    chaos: Annotated[
        bool, typer.Option("--chaos", help="Kill the server and devices as it goes.")
    ] = False,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Ten banners, 64 devices with hidden users, a server that sees only what devices say.

    [bold]Examples[/bold]

    devote demo

    devote demo --chaos

    devote demo --players 100 --means .8,.4,.4,.1

    devote demo --scheme jury --set seats=9
    """
    from devote.cli.demo_view import DemoView, summary
    from devote.cli.reading import read_means, read_options
    from devote.cli.showing import show_json
    from devote.demo.demonstration import MEANS, banners, run_demonstration
    from devote.problems import Problem
    from devote.protocol import ExperimentSpec
    from devote.schemes import make_scheme

    rates = MEANS if means is None else read_means(means)
    Problem("hidden", rates)  # refuses what cannot be a click rate
    values = {name: _whole_if_so(value) for name, value in read_options(parameters).items()}
    how = make_scheme(values if scheme is None else {"name": scheme, **values})
    spec = ExperimentSpec(arms=banners(len(rates)), name="banner", scheme=how)
    spec.check_players(players)
    with DemoView(spec, players, quiet=json) as view:
        outcome = run_demonstration(
            view.tell, players=players, means=rates, spec=spec, chaos=chaos, seed=seed
        )
    if json:
        show_json(summary(outcome))
    else:
        view.conclude(outcome)


def _whole_if_so(value: str | float) -> str | float:
    return int(value) if isinstance(value, float) and value.is_integer() else value
