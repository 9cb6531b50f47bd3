"""What a study is: what to run, how to draw it, and what it must show; and what it is given."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from devote.errors import DevoteError
from devote.simulator import Result, Scenario
from devote.studies.claim import Row
from devote.studies.estimates import Estimate, ratio
from devote.studies.style import Figure
from devote.studies.variants import QUORUM, SCHEMES, SUBROUTINES, Variant

PAPER_PLAYERS = (32, 64, 128, 256, 512, 1024)
"""Paper: Figures 6 to 8; the numbers of players run from 32, in powers of two."""

PAPER_TRIALS = 20
"""Paper: section 5.1, "averaged over 20 trials"."""

MOST_PLAYERS = 1 << 20

ALONE_FACTOR = 50
"""How many times the trials asked for a single learner makes: it is cheap, and its spread is the
question."""

Floats: TypeAlias = NDArray[np.float64]

Line: TypeAlias = tuple[Variant, str, str]
"""A curve: subroutine, scheme, problem."""

Plan: TypeAlias = dict[Scenario, int]
"""Scenarios to run, and how many times each."""


class StudyError(DevoteError, ValueError):
    """A figure that does not exist, or settings or a folder that cannot be used."""


@dataclass(frozen=True)
class Settings:
    """Trials, numbers of players and the seed of one reproduction."""

    players: tuple[int, ...] = PAPER_PLAYERS
    trials: int = PAPER_TRIALS
    seed: int = 0

    def __post_init__(self) -> None:
        if self.trials < 2:
            raise StudyError(
                f"trials={self.trials} gives no interval.\nUse at least 2; the paper has 20."
            )
        if not self.players:
            raise StudyError("There are no numbers of players.\nGive some, such as 32..1024.")
        object.__setattr__(self, "players", tuple(sorted(set(self.players))))
        for n in self.players:
            if not QUORUM <= n <= MOST_PLAYERS:
                raise StudyError(
                    f"{n} players: the paper's settings need {QUORUM} votes to eliminate an arm.\n"
                    f"Use from {QUORUM} to {MOST_PLAYERS:,} players; the paper has 32..1024."
                )

    @property
    def missing(self) -> tuple[int, ...]:
        """The paper's numbers of players that are left out: verdicts may differ without them.

        >>> Settings(players=(32, 64, 128)).missing
        (256, 512, 1024)
        """
        return tuple(n for n in PAPER_PLAYERS if n not in self.players)

    @property
    def extremes(self) -> tuple[int, ...]:
        """The smallest and the largest number of players."""
        return tuple(sorted({self.players[0], self.players[-1]}))


def parse_players(text: str) -> tuple[int, ...]:
    """Numbers of players: a list such as ``32,64``, or ``32..1024``, doubling from the first.

    >>> parse_players("32..256")
    (32, 64, 128, 256)
    >>> parse_players("32,1024")
    (32, 1024)
    """
    first, dots, last = text.partition("..")
    try:
        if not dots:
            return tuple(int(part) for part in text.split(","))
        start, end = int(first), int(last)
    except ValueError:
        raise StudyError(
            f"players={text!r} is not a list of numbers.\nWrite 32..1024 or 32,64,128."
        ) from None
    if not 1 <= start <= end:
        raise StudyError(
            f"players={text!r} runs backwards or from nothing.\nWrite the smaller number first."
        )
    return tuple(start << i for i in range((end // start).bit_length()))


class Table:
    """Results by the scenario they came from: what figures and claims read.

    A scenario that was not run is a ``KeyError``. Samples are the paper's: until all players are
    done.
    """

    def __init__(self, results: Iterable[Result], settings: Settings) -> None:
        self._results = {result.scenario: result for result in results}
        self.players, self.extremes = settings.players, settings.extremes
        self.trials = settings.trials

    def __len__(self) -> int:
        return len(self._results)

    def __getitem__(self, scenario: Scenario) -> Result:
        return self._results[scenario]

    def samples_of(self, scenario: Scenario) -> Floats:
        """The samples of each trial."""
        return self[scenario].samples_until_all_know.astype(np.float64)

    def samples(self, variant: Variant, scheme: str, problem: str, n_players: int) -> Floats:
        """The samples of each trial of one point of a curve."""
        return self.samples_of(variant.scenario(problem, scheme, n_players))

    def shared(self, variant: Variant, problem: str = "1") -> Floats:
        """The samples of each trial of the one learner of 0-privacy."""
        return self.samples_of(variant.shared(problem))

    def trials_by_players(
        self, variant: Variant, scheme: str, problem: str, players: Iterable[int] | None = None
    ) -> Floats:
        """The samples of a curve, all of it by default: a row per trial, a column per number."""
        sizes = self.players if players is None else players
        return np.stack([self.samples(variant, scheme, problem, n) for n in sizes], axis=1)

    def at_each(
        self, measure: Callable[..., Estimate], *what: object, players: Iterable[int] | None = None
    ) -> tuple[Estimate, ...]:
        """``measure(*what, n)`` for each number of players."""
        sizes = self.players if players is None else players
        return tuple(measure(*what, n).located(f"N = {n}") for n in sizes)

    def compared(self, above: Line, below: Line, **players: Any) -> tuple[Estimate, ...]:
        """The samples of one curve relative to another's, at each number of players."""
        return self.at_each(
            lambda n: ratio(self.samples(*above, n), self.samples(*below, n)), **players
        )


@dataclass(frozen=True)
class Study:
    """One figure with the sentences that it bears on.

    ``scenarios`` says what to run and is the only part that may: ``figure`` and ``claims`` read
    results.
    """

    name: str
    scenarios: Callable[[Settings], Plan]
    figure: Callable[[Table], Figure]
    claims: Callable[[Table], list[Row]] = lambda _: []


def grid(
    settings: Settings,
    problems: Iterable[str],
    *,
    variants: Sequence[Variant] = tuple(SUBROUTINES.values()),
    schemes: Sequence[str] = tuple(SCHEMES),
    shared: Iterable[str] = (),
) -> Plan:
    """Every combination, at every number of players.

    On the problems in ``shared`` also the one learner of the 0-privacy baseline, by itself.
    """
    points = product(variants, problems, schemes, settings.players)
    crowd = {v.scenario(p, scheme, n): settings.trials for v, p, scheme, n in points}
    learners = [variant.shared(p) for p in shared for variant in SUBROUTINES.values()]
    return crowd | dict.fromkeys(learners, ALONE_FACTOR * settings.trials)
