"""``devote device``: one device in the terminal, for trying things out."""

import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from devote.cli import options
from devote.cli.errors import CommandError
from devote.cli.options import takes


def device(
    url: Annotated[str, typer.Argument(metavar="URL", help="The experiment's address.")],
    store: Annotated[Path, takes("FILE", "Where the device keeps its state.")] = Path("device.db"),
    invite: Annotated[
        str | None, Option(help="A single-use invite; needed the first time only.")
    ] = None,
    means: Annotated[str | None, takes("LIST", "Click rates of a user to play for you.")] = None,
    gossip: Annotated[
        list[str] | None,
        takes(
            "NAME=VALUE",
            "Without a server: listen=HOST:PORT, announce, allow, period, certificate, key, "
            "authority, mutual, discover; may be repeated.",
        ),
    ] = None,
    page: Annotated[
        bool, Option("--page", help="Without a server: show the page where this device listens.")
    ] = False,
    stay: Annotated[
        bool, Option("--stay", help="Go on exchanging messages after the answer, until Ctrl-C.")
    ] = False,
    pulls: Annotated[int | None, takes("N", "Stop after so many, or at the answer.", min=1)] = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Join an experiment: with made-up clicks, or asking you at each turn (0..1, or an empty line).

    What you answer stays in the store; only the messages of the scheme leave. In a survey one
    noisy bit leaves a minute or so after the first turn. Stop with Ctrl-D or Ctrl-C and go on
    later with the same store.

    Examples:
        devote device http://127.0.0.1:8600/experiments/banner --invite ...
        devote device http://127.0.0.1:8600/experiments/banner --means .7,.5,.3 --pulls 1000
        devote device gossip://10.0.0.7:7700/banner --invite 3.json --gossip listen=0.0.0.0:7700
    """
    from devote.cli.terminal import tell
    from devote.cli.turns import ask, made_up, play
    from devote.device import Device

    rates = None if means is None else options.read_means(means)
    board = None
    if url.startswith("gossip:"):
        from devote.cli.gossip import open_board

        board = open_board(url, store, invite, gossip or [], page=page)
    elif gossip or page:
        raise CommandError("--gossip and --page need a gossip:// address.\nLeave them out.")
    with Device.join(url, store=store, invite=invite, board=board) as joined:
        if rates is None:
            users = ask(joined.arms, sys.stdin, lambda text: typer.echo(text, err=json))
        else:
            users = made_up(rates, joined.arms, seed)
        play(joined, users, pulls)
        while (wait := joined.status().reply_in) is not None:
            typer.echo(f"An answer leaves in {wait:.0f} s; Ctrl-C keeps it for later.", err=True)
            time.sleep(wait + 0.01)
        joined.sync()
        if stay:
            typer.echo(f"{joined.status()}\nCtrl-C ends it.", err=True)
            with suppress(KeyboardInterrupt):
                while True:
                    time.sleep(1.0)
        status = joined.status()
        answer = [] if status.state == "open" else [joined.arms[k] for k in status.answer]
        names = ("experiment", "voter", "state", "freshness")
        told = {name: getattr(status, name) for name in names} | {
            "answer": answer,
            "sent": len(status.sent),
            "waiting": len(status.waiting),
            "degraded": list(status.degraded),
        }
        words = f"{status}\nthe answer: {' or '.join(answer) or 'none yet'}"
        tell(told, json, lambda _: typer.echo(words))
