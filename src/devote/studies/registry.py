"""The list of studies. To add one, write its module and add its line here."""

from collections.abc import Sequence
from functools import cache
from importlib import import_module

from devote.errors import did_you_mean
from devote.studies.study import Study, StudyError

MODULES = (
    "problem_1",
    "problem_2",
    "problem_3",
    "median_elimination",
    "mean_gap",
    "switches",
    "radius_forms",
    "theorem_1",
    "frequent_players",
)
"""In the order of the paper; what the paper lacks comes last. Each has a list ``STUDIES``."""


@cache
def studies() -> dict[str, Study]:
    """Every study, by name."""
    modules = [import_module(f"devote.studies.{name}") for name in MODULES]
    return {study.name: study for module in modules for study in module.STUDIES}


def choose(names: Sequence[str]) -> list[Study]:
    """The studies of these names, or all if there are none.

    >>> [study.name for study in choose(["problem-2"])]
    ['problem-2']
    """
    known = studies()
    for name in names:
        if name not in known:
            raise StudyError(
                f"figure {name!r} is not known.\n{did_you_mean(name, known)}"
                f"Use any of: {', '.join(known)}."
            )
    return [known[name] for name in dict.fromkeys(names)] if names else list(known.values())
