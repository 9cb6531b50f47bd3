"""Run by ``test_cuda`` in a process of its own, in which plain Python stands in for a GPU.

Prints a line for each setting: its name, and ``equal`` if all trials equal those of the CPU.
"""

from dataclasses import replace

import numpy as np
from tests.reference.merged_clocks import numbers_of
from tests.simulator.settings import PROBLEMS, small_setting
from tests.simulator.test_passes import setting

from devote.simulator import Scenario, numbers, run_trial
from devote.simulator.gpu import run_on_device
from devote.simulator.run import Run
from devote.simulator.streams import trial_key

SEED = 3
TRIALS = [0, 2]
WORDS = (numbers.GAP, numbers.CHOOSE, numbers.PAY, numbers.NOISE)


def fed_event_loop(scenario, trial):
    """The event loop on the CPU, fed with the counted numbers that a thread of a GPU takes."""
    run = Run(replace(scenario, engine="event"))
    key, at = np.uint64(trial_key(SEED, trial)), 0
    while not run.over:
        size = min(256, (scenario.horizon or 10**9) - run.samples)
        run.feed(*(numbers_of(key, at, at + size, word) for word in WORDS))
        at += size
    return run.outcome()


def settings():
    """By name: a scenario for the device, and what makes its trials on the CPU."""

    def in_passes(scenario, trial):
        return run_trial(replace(scenario, engine="passes"), seed=SEED, trial=trial)

    for name, given in {
        "decentralized": ("ser3", "decentralized", PROBLEMS["plain"], 6),
        "a stall": ("ser3", "decentralized", PROBLEMS["equal"], 4),
        "jury, uneven activity": ("ser3", "jury", PROBLEMS["zipf"], 7),
        "private jury": ("ser3", "private jury", PROBLEMS["plain"], 8),
        "isolated": ("ser3", "isolated", PROBLEMS["groups"], 4),
        "elimination in turn": ("successive_elimination", "decentralized", PROBLEMS["plain"], 4),
    }.items():
        yield name, setting(*given), in_passes
    for name, algorithm, scheme, problem, horizon in (
        ("pooled", "ser3", "pooled", "plain", None),
        ("drifting rewards", "ser3", "decentralized", "drift", 400),
        ("switches and resets", "ser4", "decentralized", "switches", 400),
        ("cut at a horizon, isolated", "ser3", "isolated", "zipf", 200),
    ):
        chosen = small_setting(algorithm, scheme, PROBLEMS[problem], n_players=6)
        yield name, replace(chosen, horizon=horizon), fed_event_loop
    spec = small_setting("ser3", "isolated", PROBLEMS["plain"]).spec
    survey = spec.with_(scheme={"name": "survey", "privacy": 8.0}, eta=0.2)
    yield "survey", Scenario(survey, PROBLEMS["plain"], 300, horizon=400), fed_event_loop
    kinds = {"name": "survey", "privacy": 8.0, "segments": ["a", "b", "c"]}
    segments = survey.with_(scheme=kinds, algorithm="betting", options={})
    yield "segments", Scenario(segments, PROBLEMS["groups"], 300, horizon=400), fed_event_loop


def main():
    """Compare all settings."""
    for name, scenario, on_the_cpu in settings():
        [(_, block)] = run_on_device(replace(scenario, engine="cuda"), SEED, TRIALS)
        expected = [on_the_cpu(scenario, trial) for trial in TRIALS]
        print(f"{name}: {'equal' if list(block) == expected else 'DIFFERENT'}", flush=True)


if __name__ == "__main__":
    main()
