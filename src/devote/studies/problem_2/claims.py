"""What section 5.2 says about uneven players: who suffers, who gains, and the two regimes."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from devote.studies.claim import Claim
from devote.studies.estimates import Estimate, exponent, mean, ratio
from devote.studies.measuring import compared
from devote.studies.problem_2.subroutines import subroutine_claims
from devote.studies.problem_2.waiting import waiting_claims
from devote.studies.settings import Settings
from devote.studies.table import Table
from devote.studies.variants import SUBROUTINES, Variant
from devote.studies.verdicts import Case, Range

WHERE = "section 5.2"
DIP = (32, 64)
"""Paper: "between 32 to 64 players"."""


def claims(table: Table, settings: Settings) -> list[Claim]:
    """The rows."""
    return [
        _super_linear(table, settings),
        _uneven(
            table,
            settings,
            name="1-privacy-uneven",
            quote="Worse, when the distribution of players moves away from the uniformity [...], "
            "the performances of 1-privacy baselines decreases",
            protocol="isolated",
            asked=("above 1", Range(low=1.0)),
        ),
        _uneven(
            table,
            settings,
            name="decentralized-uneven",
            quote="Contrary to 1-privacy baselines, the performances of Decentralized UGapEc and "
            "Decentralized SER3 increases in Problem 2",
            protocol="decentralized",
            asked=("below 1 from 64 players", Range(high=1.0)),
            least=DIP[1],
            note="The paper's next sentence sets 32 players apart: there the sample complexity "
            "is higher.",
        ),
        _dip(table, settings),
        _linear(table, settings),
        *waiting_claims(table, settings),
        *subroutine_claims(table, settings),
    ]


def _for_each_subroutine(
    measure: Callable[[Variant], tuple[Estimate, ...]], asked: Range
) -> tuple[Case, ...]:
    return tuple(Case(name, measure(v), asked, v.form) for name, v in SUBROUTINES.items())


def _super_linear(table: Table, settings: Settings) -> Claim:
    def growth(variant: Variant) -> tuple[Estimate, ...]:
        if len(settings.players) < 2:
            return ()
        return tuple(
            exponent(
                settings.players,
                table.trials_by_players(variant, "isolated", problem, settings.players),
            ).located(f"problem {problem}")
            for problem in ("1", "2")
        )

    return Claim(
        name="1-privacy-super-linear",
        quote="the sample efficiency of 1-privacy baselines is horrendous on both problems: it "
        "increases super-linearly as the number of players increases",
        where=WHERE,
        measured="exponent b of samples ~ N^b",
        asked="above 1",
        cases=_for_each_subroutine(growth, Range(low=1.0)),
        across="subroutine",
        along="problem",
    )


def _uneven(
    table: Table,
    settings: Settings,
    *,
    name: str,
    quote: str,
    protocol: str,
    asked: tuple[str, Range],
    least: int = 0,
    note: str = "",
) -> Claim:
    words, wanted = asked

    def change(variant: Variant, players: tuple[int, ...]) -> tuple[Estimate, ...]:
        return compared(players, table, (variant, protocol, "2"), (variant, protocol, "1"))

    meant = tuple(n for n in settings.players if n >= least)
    cases = _for_each_subroutine(lambda v: change(v, meant), wanted)
    if meant != settings.players:
        whole = _for_each_subroutine(lambda v: change(v, settings.players), wanted)
        cases += tuple(replace(case, reading="with 32 players too") for case in whole)
    return Claim(
        name=name,
        quote=quote,
        where=WHERE,
        measured="samples on problem 2 / samples on problem 1",
        asked=words,
        cases=cases,
        across="subroutine",
        note=note,
    )


def _dip(table: Table, settings: Settings) -> Claim:
    def change(variant: Variant) -> tuple[Estimate, ...]:
        if not set(DIP) <= set(settings.players):
            return ()
        few, more = (table.samples(variant, "decentralized", "2", n) for n in DIP)
        return (ratio(more, few),)

    return Claim(
        name="dip-32-64",
        quote="first the sample complexity decreases (between 32 to 64 players)",
        where=WHERE,
        measured="samples of Decentralized Elimination on problem 2 with 64 players / with 32",
        asked="below 1",
        cases=_for_each_subroutine(change, Range(high=1.0)),
        across="subroutine",
        over_players=False,
    )


def _linear(table: Table, settings: Settings) -> Claim:
    players = [n for n in settings.players if n >= DIP[1]]
    middle = len(players) // 2

    def proportional(variant: Variant) -> tuple[Estimate, ...]:
        trials = table.trials_by_players(variant, "decentralized", "2", players)
        return (exponent(players, trials),)

    def straight(variant: Variant) -> tuple[Estimate, ...]:
        trials = table.trials_by_players(variant, "decentralized", "2", players)
        n = np.array(players, dtype=np.float64)
        early = (trials[:, middle] - trials[:, 0]) / (n[middle] - n[0])
        late = (trials[:, -1] - trials[:, middle]) / (n[-1] - n[middle])
        return (mean(late / early),)

    cases: tuple[Case, ...] = ()
    if len(players) >= 3:
        cases = tuple(
            Case(name, measure(variant), wanted, variant.form, reading)
            for reading, measure, wanted in (
                ("", straight, Range(0.8, 1.25)),
                ("as a power of N, exponent from .9 to 1.1", proportional, Range(0.9, 1.1)),
            )
            for name, variant in SUBROUTINES.items()
        )
    return Claim(
        name="linear-from-64",
        quote="and then the sample complexity linearly increases with the number of players",
        where=WHERE,
        measured="samples per further player of Decentralized Elimination on problem 2 from 64 "
        "players: late half of the range / early half",
        asked="a straight line: from .8 to 1.25",
        cases=cases,
        across="subroutine",
    )
