"""What an experiment asks to be run: cells, each with its number of trials."""

from collections.abc import Iterable
from dataclasses import dataclass

from devote.studies.settings import Settings
from devote.studies.variants import PROTOCOLS, Variant
from devote.simulate.cell import Cell


@dataclass(frozen=True)
class Planned:
    """A cell to run, and how many times."""

    cell: Cell
    trials: int


def grid(
    settings: Settings,
    *,
    problems: Iterable[str],
    variants: Iterable[Variant],
    protocols: Iterable[str] = tuple(PROTOCOLS),
) -> list[Planned]:
    """Every combination, at every number of players."""
    chosen, ways, problems = tuple(variants), tuple(protocols), tuple(problems)
    return [
        Planned(variant.cell(problem, protocol, n_players), settings.trials)
        for problem in problems
        for variant in chosen
        for protocol in ways
        for n_players in settings.players
    ]
