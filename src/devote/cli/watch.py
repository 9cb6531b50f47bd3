"""``devote watch``: one run, live."""

import time
from typing import Annotated

from devote.cli import options
from devote.cli.options import takes

FRAMES_PER_SECOND = 20
FULL_SPEED_STEP = 4096


@options.scenario_options("workers", "engine")
def watch(
    asked: options.ScenarioOptions,
    speed: Annotated[
        float | None,
        takes("PULLS", "Pulls per second; 0: no limit. (default: 3000 in a terminal, or 0)", min=0),
    ] = None,
) -> None:
    """One run, live in the terminal: arms, messages about them, players done.

    Where stdout is not a terminal, each message, elimination and reset is a line; with --json, a
    JSON object.

    Examples:
        devote watch --problem 1 --players 64
        devote watch --means .7,.7,.1 --players 32 --speed 10000
        devote watch --problem 2 | grep eliminated
    """
    from devote.cli.terminal import console
    from devote.cli.watch_view import choose_view

    scenario = asked.read_scenario()

    from devote.simulator.frames import frames

    out = console()
    live = out.is_terminal and not asked.json
    rate = (3000.0 if live else 0.0) if speed is None else speed
    step = max(1, int(rate / FRAMES_PER_SECOND)) if rate else FULL_SPEED_STEP
    with choose_view(scenario, out, json=asked.json) as show:
        due = time.monotonic()
        for frame in frames(scenario, seed=asked.seed, step=step):
            show(frame)
            if rate and not frame.over:
                due = max(due + step / rate, time.monotonic())
                time.sleep(max(0.0, due - time.monotonic()))
