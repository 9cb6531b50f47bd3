"""Half of the players generates 80 % of the events: samples of six algorithms.

Paper: the figure "50 % of players generates 80 % of events", panel (a).
"""

from functools import partial

import numpy as np

from devote.simulator.estimates import Estimate, exponent, mean, mean_count, ratio, slopes
from devote.studies.claim import CLEARLY, Case, Range, Row, cases_for, judged
from devote.studies.drawing.curves import curve, draw_counts, samples_figure
from devote.studies.drawing.style import Axes, Figure
from devote.studies.study import Plan, Settings, Study, Table, grid
from devote.studies.variants import RADIUS_FORMS, SER3, SUBROUTINES, UGAPEC, Variant

DIP = (32, 64)
"""Paper: "between 32 to 64 players"."""
STATIONARY = ("1", "2")


def scenarios(settings: Settings) -> Plan:
    """All six algorithms on problem 2, and on problem 1, with which the paper compares it."""
    return grid(settings, STATIONARY, shared=["2"])


def figure(table: Table) -> Figure:
    """Panel (a) the six algorithms, panel (b) both problems side by side."""
    return samples_figure(
        table,
        "2",
        _draw_both_problems,
        "Problem 2: half of the players generates 80 % of the events. With 32 players the 28 "
        "votes an arm needs must wait for rare players; with 64 they need not.",
    )


def _draw_both_problems(axes: Axes, table: Table) -> None:
    curves = []
    for variant in (SER3, UGAPEC):
        for problem, look in (("2", {}), ("1", {"marker": "", "width": 1.0})):
            look["label"] = f"{variant.label}, problem {problem}"
            curves.append(curve(table, variant, scheme="decentralized", problem=problem, **look))
    draw_counts(axes, table, curves)
    axes.set_title("(b) Decentralized, problems 1 and 2")


def claims(table: Table) -> list[Row]:
    """What section 5.2 says about problem 2, and about UGapEc against SER3 on problems 1 and 2.

    A case that needs numbers of players which were not run has no estimates.
    """
    above, below = Range(low=1.0), Range(high=1.0)
    sizes = table.players
    more = tuple(n for n in sizes if n >= DIP[1])

    def growth(variant: Variant) -> tuple[Estimate, ...]:
        curves = {p: table.trials_by_players(variant, "isolated", p) for p in STATIONARY}
        found = (exponent(sizes, some).located(f"problem {p}") for p, some in curves.items())
        return tuple(found) if len(sizes) > 1 else ()

    def uneven(variant: Variant, scheme: str, players: tuple[int, ...]) -> tuple[Estimate, ...]:
        return table.compared((variant, scheme, "2"), (variant, scheme, "1"), players)

    def dip(variant: Variant) -> tuple[Estimate, ...]:
        if not set(DIP) <= set(sizes):
            return ()
        few, many = (table.samples(variant, "decentralized", "2", n) for n in DIP)
        return (ratio(many, few),)

    def rare_voters(variant: Variant, n_players: int) -> tuple[Estimate, ...]:
        if n_players not in sizes:
            return ()
        result = table[variant.scenario("2", "decentralized", n_players)]
        weights = np.array(result.problem.activity.weights(n_players))
        rare = weights < weights.max()
        voters = (result.first_vote[:, rare] >= 0).sum(axis=1)
        return (mean_count(voters, most=float(rare.sum())),)

    votes, alone = (partial(uneven, scheme=scheme) for scheme in ("decentralized", "isolated"))
    faster = cases_for(SUBROUTINES, partial(votes, players=more), below)
    if more != sizes:
        reading = "with 32 players too"
        faster += cases_for(SUBROUTINES, partial(votes, players=sizes), below, reading=reading)
    rare = {n: partial(rare_voters, n_players=n) for n in DIP}
    worse = cases_for(SUBROUTINES, partial(alone, players=sizes), above)
    return [
        judged("1-privacy-super-linear", cases_for(SUBROUTINES, growth, above)),
        judged("1-privacy-uneven", worse),
        judged("decentralized-uneven", faster),
        judged("dip-32-64", cases_for(SUBROUTINES, dip, below)),
        judged("linear-from-64", _linear(table, more)),
        judged("waits-for-rare-players", cases_for(SUBROUTINES, rare[32], above)),
        judged("no-wait-with-64", cases_for(SUBROUTINES, rare[64], below)),
        *_ugapec_against_ser3(table),
    ]


def _linear(table: Table, players: tuple[int, ...]) -> tuple[Case, ...]:
    """Whether samples grow along a straight line; and, as another reading, as a power of N."""
    if len(players) < 3:
        return ()
    n, middle = np.array(players, dtype=np.float64), len(players) // 2

    def trials(variant: Variant) -> np.ndarray:
        return table.trials_by_players(variant, "decentralized", "2", players)

    def straight(variant: Variant) -> tuple[Estimate, ...]:
        samples = trials(variant)
        early = (samples[:, middle] - samples[:, 0]) / (n[middle] - n[0])
        late = (samples[:, -1] - samples[:, middle]) / (n[-1] - n[middle])
        return (mean(late / early),)

    power = "as a power of N, exponent from .9 to 1.1"
    return cases_for(SUBROUTINES, straight, Range(0.8, 1.25)) + cases_for(
        SUBROUTINES, lambda v: (exponent(players, trials(v)),), Range(0.9, 1.1), reading=power
    )


def _ugapec_against_ser3(table: Table) -> list[Row]:
    """On the two stationary problems."""

    def slower(ser3: Variant, problem: str) -> tuple[Estimate, ...]:
        return table.compared((ser3, "isolated", problem), (UGAPEC, "isolated", problem))

    def per_doubling(ser3: Variant, problem: str) -> tuple[Estimate, ...]:
        if len(table.players) < 2:
            return ()
        both = (ser3, UGAPEC)
        logs = [np.log2(table.trials_by_players(v, "isolated", problem)) for v in both]
        doublings = np.log2(np.array(table.players, dtype=np.float64))
        return (mean(100 * (2 ** slopes(doublings, logs[0] - logs[1]) - 1)),)

    def faster(ser3: Variant, problem: str) -> tuple[Estimate, ...]:
        return table.compared((UGAPEC, "decentralized", problem), (ser3, "decentralized", problem))

    rows = []
    for name, measure, least in (
        ("1-privacy-ugapec-better", slower, CLEARLY),
        ("1-privacy-ugapec-gain-grows", per_doubling, 0.0),
        ("decentralized-ser3-better", faster, CLEARLY),
    ):
        cases: tuple[Case, ...] = ()
        for p in STATIONARY:
            there = partial(measure, problem=p)
            cases += cases_for(RADIUS_FORMS, there, Range(low=least), label=f"problem {p}, ")
        rows.append(judged(name, cases, clearly=CLEARLY))
    return rows


STUDIES = (Study("problem-2", scenarios, figure, claims),)
