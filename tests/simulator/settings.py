"""Small settings that between them use every feature of problems, schemes and subroutines."""

from devote.problems import Problem, Split, Weights, Zipf
from devote.protocol import ExperimentSpec
from devote.rules.algorithm import ALGORITHMS
from devote.simulator import Scenario, run_players, run_trial

MEANS = (0.9, 0.6, 0.3, 0.1)
HORIZON = 9_000
LONG = {"median_elimination": 15_000}
"""Subroutines that need more pulls for their fixed budgets."""

PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem("plain", MEANS),
        Problem("drift", (0.5, 0.6, 0.3, 0.1), drift=(0.0, -2e-3, 1e-3, -1e-3)),
        Problem("switches", MEANS, switches=((150, MEANS[::-1]), (400, (0.1, 0.9, 0.1, 0.5)))),
        Problem("groups", groups=((0.5, MEANS), (0.25, MEANS[::-1]), (0.25, (0.2,) * 4))),
        Problem("split", MEANS, activity=Split(0.25, 0.7)),
        Problem("zipf", MEANS, activity=Zipf(1.1)),
        Problem("beta", MEANS, rewards="beta"),
        Problem("uniform", MEANS, rewards="uniform"),
        Problem(
            "replay", replay=((0.9, 0.1, 0.4, 0.2), (1.0, 0.3, 0.5, 0.0), (0.2, 0.2, 0.1, 1.0))
        ),
        Problem("samples", samples=((1.0, 0.8, 0.9), (0.6,), (0.3, 0.1), (0.0, 0.2, 0.1, 0.1))),
        Problem("tied", (0.7, 0.7, 0.1, 0.1), activity=Weights((3, 1, 2, 2, 1, 1, 4, 1))),
        Problem("equal", (0.5, 0.5, 0.5, 0.5)),
    )
}


def small_setting(algorithm, scheme, problem, *, n_players=8, votes=3, options=None):
    """Few arms, few players, a large epsilon: a run of some thousand pulls at most."""
    endless = ALGORITHMS[algorithm].endless
    parameters = {"quorum": votes} if scheme == "decentralized" else {}
    spec = ExperimentSpec(
        arms=4,
        algorithm=algorithm,
        epsilon=0.95 if algorithm in LONG else 0.6,
        eta=0.9,
        scheme={"name": scheme, **parameters},
        options={**(options or {}), **({"phi": 2e-3} if endless else {})},
    )
    horizon = 2_000 if endless else LONG.get(algorithm, HORIZON)
    return Scenario(spec, problem, n_players, horizon)


def both(setting, *, seed=0, trial=0, record=False):
    """The same trial by the engine and by ``Player`` objects."""
    engine = run_trial(setting, seed=seed, trial=trial, trace=True, record=record)
    players = run_players(
        setting.spec,
        setting.problem,
        setting.n_players,
        seed=seed,
        trial=trial,
        horizon=setting.horizon,
        trace=True,
        record=record,
    )
    return engine, players
