"""Half of the players generates 80 % of the events: samples of six algorithms.

Paper: the figure "50 % of players generates 80 % of events", panel (a).
"""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from devote.simulate.estimates import Estimate, exponent, mean, mean_count, ratio, slopes
from devote.studies.claim import CLEARLY, Case, Claim, Range, cases_for, judged
from devote.studies.drawing.curves import curve, draw_counts, samples_figure
from devote.studies.study import Planned, Settings, Study, Table, grid
from devote.studies.variants import RADIUS_FORMS, SER3, SUBROUTINES, UGAPEC, Variant

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DIP = (32, 64)
"""Paper: "between 32 to 64 players"."""
STATIONARY = ("1", "2")


def scenarios(settings: Settings) -> list[Planned]:
    """All six algorithms on problem 2, and on problem 1, with which the paper compares it."""
    return grid(settings, STATIONARY, shared=["2"])


def figure(table: Table) -> "Figure":
    """Panel (a) the six algorithms, panel (b) both problems side by side."""
    return samples_figure(
        table,
        "2",
        _draw_both_problems,
        "Problem 2: half of the players generates 80 % of the events. With 32 players the 28 "
        "votes an arm needs must wait for rare players; with 64 they need not.",
    )


def _draw_both_problems(axes: "Axes", table: Table) -> None:
    curves = [
        curve(
            table,
            variant,
            scheme="decentralized",
            problem=problem,
            label=f"{variant.label}, problem {problem}",
            **look,
        )
        for variant in (SER3, UGAPEC)
        for problem, look in (("2", {}), ("1", {"marker": "", "width": 1.0}))
    ]
    draw_counts(axes, table, curves)
    axes.set_title("(b) Decentralized, problems 1 and 2")


def claims(table: Table) -> list[Claim]:
    """What section 5.2 says about problem 2, and about UGapEc against SER3 on problems 1 and 2."""
    above, below = Range(low=1.0), Range(high=1.0)
    more = tuple(n for n in table.players if n >= DIP[1])

    def growth(variant: Variant) -> tuple[Estimate, ...]:
        if len(table.players) < 2:
            return ()
        curves = {p: table.trials_by_players(variant, "isolated", p) for p in STATIONARY}
        return tuple(
            exponent(table.players, curve).located(f"problem {p}") for p, curve in curves.items()
        )

    def uneven(
        scheme: str, asked: Range, players: tuple[int, ...], reading: str = ""
    ) -> tuple[Case, ...]:
        return cases_for(
            SUBROUTINES,
            lambda v: table.compared((v, scheme, "2"), (v, scheme, "1"), players),
            asked,
            reading=reading,
        )

    def dip(variant: Variant) -> tuple[Estimate, ...]:
        if not set(DIP) <= set(table.players):
            return ()
        few, many = (table.samples(variant, "decentralized", "2", n) for n in DIP)
        return (ratio(many, few),)

    faster = uneven("decentralized", below, more)
    if more != table.players:
        faster += uneven("decentralized", below, table.players, "with 32 players too")
    return [
        judged("1-privacy-super-linear", cases_for(SUBROUTINES, growth, above)),
        judged("1-privacy-uneven", uneven("isolated", above, table.players)),
        judged("decentralized-uneven", faster),
        judged("dip-32-64", cases_for(SUBROUTINES, dip, below)),
        judged("linear-from-64", _linear(table, more)),
        judged("waits-for-rare-players", _rare_voters(table, 32, above)),
        judged("no-wait-with-64", _rare_voters(table, 64, below)),
        *_ugapec_against_ser3(table),
    ]


def _linear(table: Table, players: tuple[int, ...]) -> tuple[Case, ...]:
    """Whether samples grow along a straight line; and, as another reading, as a power of N."""
    if len(players) < 3:
        return ()
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

    power = "as a power of N, exponent from .9 to 1.1"
    return cases_for(SUBROUTINES, straight, Range(0.8, 1.25)) + cases_for(
        SUBROUTINES, proportional, Range(0.9, 1.1), reading=power
    )


def _rare_voters(table: Table, n_players: int, asked: Range) -> tuple[Case, ...]:
    """Whose votes problem 2 waits for."""

    def rare_voters(variant: Variant) -> tuple[Estimate, ...]:
        if n_players not in table.players:
            return ()
        result = table[variant.scenario("2", "decentralized", n_players)]
        weights = np.array(result.problem.activity.weights(n_players))
        rare = weights < weights.max()
        voters = (result.first_vote[:, rare] >= 0).sum(axis=1)
        return (mean_count(voters, most=float(rare.sum())),)

    return cases_for(SUBROUTINES, rare_voters, asked)


def _ugapec_against_ser3(table: Table) -> list[Claim]:
    """On the two stationary problems."""

    def slower(ser3: Variant, problem: str) -> tuple[Estimate, ...]:
        return table.compared((ser3, "isolated", problem), (UGAPEC, "isolated", problem))

    def per_doubling(ser3: Variant, problem: str) -> tuple[Estimate, ...]:
        if len(table.players) < 2:
            return ()
        above, below = (
            np.log2(table.trials_by_players(v, "isolated", problem)) for v in (ser3, UGAPEC)
        )
        doublings = np.log2(np.array(table.players, dtype=np.float64))
        return (mean(100 * (2 ** slopes(doublings, above - below) - 1)),)

    def faster(ser3: Variant, problem: str) -> tuple[Estimate, ...]:
        return table.compared((UGAPEC, "decentralized", problem), (ser3, "decentralized", problem))

    return [
        judged(
            name,
            (
                case
                for p in STATIONARY
                for case in cases_for(
                    RADIUS_FORMS,
                    partial(measure, problem=p),
                    Range(low=least),
                    label=f"problem {p}, ",
                )
            ),
            clearly=CLEARLY,
        )
        for name, measure, least in (
            ("1-privacy-ugapec-better", slower, CLEARLY),
            ("1-privacy-ugapec-gain-grows", per_doubling, 0.0),
            ("decentralized-ser3-better", faster, CLEARLY),
        )
    ]


STUDIES = (Study("problem-2", scenarios, figure, claims),)
