"""``devote simulate``: trials of one scenario."""

import time
from pathlib import Path
from typing import Annotated

from devote.cli import options
from devote.cli.errors import CommandError
from devote.cli.options import takes


@options.scenario_options()
def simulate(
    asked: options.ScenarioOptions,
    trials: Annotated[int, takes("T", "Number of trials.", min=1)] = 20,
    results: Annotated[
        Path | None, takes("FILE.jsonl", "Keep each trial there, to go on or grow later.")
    ] = None,
    save: Annotated[Path | None, takes("FILE.npz", "Keep trials for devote.Result.load.")] = None,
) -> None:
    """Run trials of one scenario: samples, messages, who won.

    Without --means and --problem it runs the paper's problem 1.

    Examples:
        devote simulate --problem 1 --players 64
        devote simulate --means .7,.5,.3 --activity zipf:1.1 --players 500 --json
        devote simulate --problem 4 --algorithm ser4 --option phi=.0001 --horizon 180000
        devote simulate --players 1000000 --trials 1 --engine passes
        devote simulate --players 1024 --trials 1000 --engine cuda
        devote simulate --scheme jury --set seats=41 --algorithm mixture_elimination
        devote simulate --import my_rule.py --algorithm my_rule --results trials.jsonl
    """
    from devote.cli.output_file import check_writable
    from devote.cli.simulate_view import show_summary
    from devote.cli.terminal import progress_bar, tell

    scenario = asked.read_scenario()
    if save is not None:
        check_writable(save)

    from devote.plan.promises import summarise
    from devote.simulator import run_sweep
    from devote.simulator.trials import compile_loop

    with progress_bar() as progress:
        compile_loop(scenario)
        begin = time.perf_counter()
        [result] = run_sweep(
            [scenario], trials=trials, progress=progress, results=results, **asked.running
        )
        seconds = time.perf_counter() - begin
    if save is not None:
        result.save(save)
    if not scenario.spec.resets and set(result.status) == {"unfinished"}:
        raise CommandError(
            f"0 of {trials} trials ended within --horizon {scenario.horizon} pulls.\n"
            "Raise --horizon, or leave --horizon out to run to the end."
        )
    tell(summarise(result, wall_seconds=seconds), asked.json, show_summary)
