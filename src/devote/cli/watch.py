"""``devote watch``: one run, live."""

import time
from typing import Annotated

import typer

from devote.cli import options

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

FRAMES_PER_SECOND = 20
FULL_SPEED_STEP = 4096


@app.command()
def watch(
    protocol: options.Protocol = "decentralized",
    algorithm: options.Algorithm = "ser3",
    option: options.Options = None,
    means: options.Means = None,
    problem: options.ProblemName = None,
    activity: options.Activity = None,
    players: options.Players = 64,
    epsilon: options.Epsilon = 0.25,
    eta: options.Eta = 0.9,
    delta: options.Delta = 0.05,
    quorum: options.Quorum = "paper",
    seat_after: options.SeatAfter = 50,
    absent: options.Absent = 0,
    phi: options.Phi = 0.0,
    horizon: options.Horizon = None,
    speed: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="PULLS",
            help="Pulls per second; 0: as fast as it goes. [default: 3000 in a terminal, else 0]",
        ),
    ] = None,
    seed: options.Seed = 0,
    json: Annotated[
        bool, typer.Option("--json", help="One JSON object per event, a line each, and the end.")
    ] = False,
) -> None:
    """One run, live in the terminal: arms, votes against the quorum, players done.

    Where stdout is not a terminal, each vote, elimination and reset is a line.

    [bold]Examples[/bold]

    devote watch --problem 1 --players 64

    devote watch --means .7,.7,.1 --players 32 --speed 10000

    devote watch --problem 2 | grep eliminated
    """
    from devote.cli import reading, watch_view
    from devote.cli.showing import console

    chosen = reading.read_problem(problem, means, activity)
    spec = reading.read_spec(
        chosen.n_arms,
        protocol=protocol,
        algorithm=algorithm,
        option=option,
        quorum=quorum,
        epsilon=epsilon,
        eta=eta,
        delta=delta,
        phi=phi,
        seat_after=seat_after,
        absent=absent,
    )

    from devote.simulate.live import frames
    from devote.simulate.setting import Setting

    setting = Setting.of(spec, chosen, players, protocol, horizon)
    out = console()
    live = out.is_terminal and not json
    rate = (3000.0 if live else 0.0) if speed is None else speed
    step = max(1, int(rate / FRAMES_PER_SECOND)) if rate else FULL_SPEED_STEP
    show: watch_view.View = watch_view.Lines(setting)
    if json:
        show = watch_view.JsonLines()
    elif live:
        show = watch_view.Screen(setting, out)
    with show:
        due = time.monotonic()
        for frame in frames(setting, seed=seed, step=step):
            show.show(frame)
            if rate and not frame.over:
                due = max(due + step / rate, time.monotonic())
                time.sleep(max(0.0, due - time.monotonic()))
