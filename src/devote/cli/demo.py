"""``devote demo``: the main job end to end, on this machine, in under a minute."""

from typing import Annotated

from typer import Option

from devote.cli import options


def demo(
    players: Annotated[
        int | None, options.takes("N", "Number of devices; 64, and 3,000 in a survey.")
    ] = None,
    means: options.Means = None,
    scheme: options.SchemeName = None,
    parameters: options.Parameters = None,
    chaos: Annotated[bool, Option("--chaos", help="Kill server and devices as it goes.")] = False,
    gossip: Annotated[
        bool, Option("--gossip", help="No server: 32 devices, and a network that breaks in two.")
    ] = False,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Ten banners, devices with hidden users, a server that sees only what devices say.

    Examples:
        devote demo
        devote demo --chaos
        devote demo --players 100 --means .8,.4,.4,.1
        devote demo --scheme jury --set seats=9
        devote demo --scheme survey --set privacy=2
        devote demo --gossip
    """
    from devote.cli.demo_view import DemoView, PeersView, summary
    from devote.cli.errors import CommandError
    from devote.cli.terminal import tell
    from devote.demo.demonstration import MEANS, banner_experiment, quickly, run_demonstration
    from devote.problems import Problem

    rates = MEANS if means is None else options.read_means(means)
    Problem("hidden", rates)  # refuses what cannot be a click rate
    how = options.read_scheme(scheme, quickly(scheme, parameters or []))
    if gossip:
        from devote.demo.gossip import DEVICES, between_peers, run_gossip_demonstration

        if chaos:
            raise CommandError("--gossip has no server to kill.\nLeave out --chaos.")
        experiment = between_peers(how, players=players or DEVICES, arms=len(rates))
        with PeersView(experiment, quiet=json) as peers:
            outcome = run_gossip_demonstration(peers.tell, experiment, means=rates, seed=seed)
        tell(summary(outcome), json, lambda _: peers.conclude(outcome))
        return
    experiment = banner_experiment(how, players=players, arms=len(rates))
    with DemoView(experiment, quiet=json) as view:
        outcome = run_demonstration(view.tell, experiment, means=rates, chaos=chaos, seed=seed)
    tell(summary(outcome), json, lambda _: view.conclude(outcome))
