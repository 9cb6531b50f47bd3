"""``devote audit``: the promises, measured."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from devote.cli import options
from devote.cli.options import takes

audit = typer.Typer(add_completion=False, no_args_is_help=True)


@audit.command()
@options.scenario_options("players")
def correctness(
    asked: options.ScenarioOptions,
    hard: Annotated[bool, Option("--hard", help="A set of hard problems instead of one.")] = False,
    worst_case: Annotated[
        bool, Option("--worst-case", help="Subroutines that fail with probability eta.")
    ] = False,
    players: Annotated[str | None, takes("LIST", "Numbers of devices, such as 32,64.")] = None,
    precision: Annotated[float, takes("P", "Half the width of the interval to reach.")] = 0.02,
    confidence: Annotated[float, takes("P", "Confidence of the exact intervals.")] = 0.95,
    yes: Annotated[bool, Option("--yes", help="Go on however long it takes.")] = False,
) -> None:
    """How often the vote is really wrong, beside what is claimed and what is proved.

    Runs until the exact interval for the failure probability is tight enough.

    Examples:
        devote audit correctness --worst-case
        devote audit correctness --scheme jury --hard --algorithm kl_racing
        devote audit correctness --problem 1 --players 64 --precision .005
        devote audit correctness --problem 4 --algorithm ser4 --option phi=4e-5 --horizon 180000
    """
    from devote.audit import audit_correctness, audit_worst_case, hard_problems
    from devote.audit.worst_case import PLAYERS
    from devote.cli.audit_view import show_correctness
    from devote.cli.terminal import progress_bar, tell
    from devote.simulator import Scenario
    from devote.studies import parse_players

    sizes = () if players is None else parse_players(players)
    with progress_bar() as progress:
        measuring: dict[str, Any] = {
            "precision": precision,
            "confidence": confidence,
            "allow_long": yes,
            "progress": progress,
            **asked.running,
        }
        if worst_case:
            measuring |= {"eta": asked.eta, "delta": asked.delta, "players": sizes or PLAYERS}
            rows = audit_worst_case(**measuring)
        else:
            problems = hard_problems(asked.epsilon) if hard else (asked.read_problem(),)
            scenarios = [
                Scenario(asked.read_spec(problem.n_arms), problem, n, asked.horizon, asked.engine)
                for problem in problems
                for n in sizes or (asked.players,)
            ]
            rows = [audit_correctness(one, **measuring) for one in scenarios]
    told = {"rows": [row.to_dict() for row in rows], "precision": precision}
    tell(told, asked.json, lambda _: show_correctness(rows, asked.delta))


@audit.command()
@options.scenario_options("engine")
def privacy(
    asked: options.ScenarioOptions,
    runs: Annotated[int, takes("R", "Runs per question, part of which teach.")] = 2_000,
    figure: Annotated[
        Path | None, takes("FILE", "Draw success over eta and N instead, as .svg, .pdf and .png.")
    ] = None,
) -> None:
    """What one device's messages give away to somebody who knows the algorithm.

    Adversaries name its best arm, tell its group, tell whether it is a frequent user; with its own
    messages alone and with everybody's. Of a scheme with `privacy` they see everything that leaves
    one device, each copy with its moment, and tell what its user does: measured beside the promise.

    Examples:
        devote audit privacy --scheme survey --set privacy=1 --runs 20000
        devote audit privacy --problem 1 --players 64
        devote audit privacy --scheme jury --runs 4000 --json
        devote audit privacy --algorithm ser4 --option phi=2e-5 --horizon 100000 --players 32
        devote audit privacy --figure privacy.svg
    """
    from devote.audit import audit_exposure, audit_privacy, promised_epsilon
    from devote.cli.audit_view import show_exposure, show_pictures, show_privacy
    from devote.cli.terminal import progress_bar, tell

    if figure is not None:
        from devote.cli.output_file import draw_sweep
        from devote.studies.sweeps import draw_eta, sweep_eta

        _, pictures, data = draw_sweep(figure, draw_eta, sweep_eta, runs=runs, **asked.running)
        drawn = {"pictures": [str(path) for path in pictures], "data": str(data)}
        return tell(drawn, asked.json, show_pictures)
    spec = asked.read_spec(asked.read_problem().n_arms)
    if promised_epsilon(spec) is not None:
        with progress_bar() as progress:
            rows = audit_exposure(spec, runs=runs, progress=progress, **asked.running)
        exposed = {"spec": spec.to_dict(), "runs": runs, "rows": [row.to_dict() for row in rows]}
        return tell(exposed, asked.json, lambda _: show_exposure(rows, runs))
    scenario = asked.read_scenario()
    spec, problem, n_players = scenario.spec, scenario.problem, scenario.n_players
    how = {"horizon": scenario.horizon, "runs": runs, **asked.running}
    with progress_bar() as progress:
        leaks = audit_privacy(spec, problem, n_players, progress=progress, **how)
    told = {"n_players": n_players, "eta": spec.eta, "leaks": [leak.to_dict() for leak in leaks]}
    return tell(told, asked.json, lambda _: show_privacy(leaks, spec.eta))
