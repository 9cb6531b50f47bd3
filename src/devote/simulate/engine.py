"""Many trials of one setting, at the speed of compiled code."""

from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.simulate.result import Result
from devote.simulate.run import Run
from devote.simulate.setting import Setting
from devote.simulate.streams import NAMES, numpy_stream
from devote.simulate.trial import Trial


def simulate(
    spec: ExperimentSpec,
    problem: Problem,
    n_players: int,
    protocol: str | None = None,
    *,
    trials: int = 20,
    seed: int = 0,
    horizon: int | None = None,
    trace: bool = False,
) -> Result:
    """Run trials 0, 1, ... of one setting and gather what each came to.

    ``protocol`` is the specification's unless another is given, such as a baseline.

    >>> from devote.problems import PROBLEMS
    >>> result = simulate(ExperimentSpec(arms=10), PROBLEMS["1"], 32, trials=2, seed=1)
    >>> result.broadcasts.tolist()
    [252, 252]
    """
    setting = Setting.of(spec, problem, n_players, protocol, horizon)
    runs = [run_trial(setting, seed=seed, trial=trial, trace=trace) for trial in range(trials)]
    return Result.of(setting, runs, seed=seed)


def run_trial(setting: Setting, *, seed: int, trial: int, trace: bool = False) -> Trial:
    """One trial, from its own named streams."""
    run = Run(setting, tracing=trace)
    streams = [numpy_stream(seed, trial, name) for name in NAMES]
    while not run.over:
        size = run.next_block()
        run.advance(*(stream.random(size) for stream in streams))
    return run.outcome()
