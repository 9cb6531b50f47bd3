"""The experiments there are. To add one, write its folder and add its line here."""

import difflib
from collections.abc import Sequence
from functools import cache
from importlib import import_module

from devote.studies.errors import ExperimentError
from devote.studies.experiment import Experiment

FOLDERS = (
    "problem_1",
    "problem_2",
    "problem_3",
    "median_elimination",
    "mean_gap",
    "mean_gap_switch",
    "switches",
    "radius_forms",
    "theorem_1",
    "frequent_players",
)
"""In the order of the paper; what the paper lacks comes last."""


@cache
def experiments() -> dict[str, Experiment]:
    """Every experiment, by name."""
    found = [import_module(f"devote.studies.{folder}").EXPERIMENT for folder in FOLDERS]
    return {experiment.name: experiment for experiment in found}


def choose(names: Sequence[str]) -> list[Experiment]:
    """The experiments of these names, or all if there are none.

    >>> [experiment.name for experiment in choose(["problem-2"])]
    ['problem-2']
    """
    known = experiments()
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.3)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise ExperimentError(
                f"figure {name!r} is not known.\n{hint}Use any of: {', '.join(known)}."
            )
    return [known[name] for name in dict.fromkeys(names)] if names else list(known.values())
