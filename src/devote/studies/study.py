"""What a study is: what to run, how to draw it, and what it must show."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devote.simulate import Scenario
from devote.studies.claim import Claim
from devote.studies.settings import Settings
from devote.studies.table import Table
from devote.studies.variants import SCHEMES, Variant

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Planned:
    """A scenario to run, and how many times."""

    scenario: Scenario
    trials: int


def no_claims(table: Table) -> list[Claim]:
    """For a study that no sentence of the paper is about."""
    return []


@dataclass(frozen=True)
class Study:
    """One figure with the sentences that it bears on.

    ``scenarios`` says what to run and is the only part that may: ``figure`` and ``claims`` read
    results.
    """

    name: str
    scenarios: Callable[[Settings], list[Planned]]
    figure: "Callable[[Table], Figure]"
    claims: Callable[[Table], list[Claim]] = no_claims


def grid(
    settings: Settings,
    *,
    problems: Iterable[str],
    variants: Iterable[Variant],
    schemes: Iterable[str] = tuple(SCHEMES),
) -> list[Planned]:
    """Every combination, at every number of players."""
    chosen, ways = tuple(variants), tuple(schemes)
    return [
        Planned(variant.scenario(problem, scheme, n_players), settings.trials)
        for problem in problems
        for variant in chosen
        for scheme in ways
        for n_players in settings.players
    ]
