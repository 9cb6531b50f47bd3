"""Suboptimal arms that lose value over time: samples of six algorithms.

Paper: the figure "the mean rewards of suboptimal arms linearly decrease", panel (b).
"""

from functools import partial
from itertools import product

from devote.simulator.estimates import Estimate, mean
from devote.studies.claim import Case, Range, Row, cases_for, judged
from devote.studies.drawing import style
from devote.studies.drawing.curves import curve, draw_curves, samples_figure, write_labels
from devote.studies.drawing.style import Axes, Figure
from devote.studies.study import Plan, Settings, Study, Table, grid
from devote.studies.variants import RADIUS_FORMS, SCHEMES, SER3, UGAPEC, Variant

WAYS = ("isolated", "decentralized")
SHIFTS = (0.94, 0.98, 1.02, 1.06)
"""Four curves side by side at each number of players, so that no bar hides another."""


def scenarios(settings: Settings) -> Plan:
    """All six algorithms on problem 3, and on problem 1, the same arms without the drift."""
    return grid(settings, ["1", "3"], shared=["3"])


def figure(table: Table) -> Figure:
    """Panel (a) the six algorithms, panel (b) the same relative to problem 1."""
    return samples_figure(
        table,
        "3",
        _draw_relative,
        "Problem 3: all arms but the best lose 1e-5 per time step, down to 0, so that the "
        "gaps widen. (b) Below 1: the drift makes the problem easier.",
    )


def _draw_relative(axes: Axes, table: Table) -> None:
    curves = []
    for shift, (scheme, variant) in zip(SHIFTS, product(WAYS, (SER3, UGAPEC)), strict=True):
        drifting, steady = (table.trials_by_players(variant, scheme, p) for p in ("3", "1"))
        relative = tuple(mean(column) for column in (drifting / steady).T)
        look = {"estimates": relative, "shift": shift}
        curves.append(curve(table, variant, scheme=scheme, problem="3", **look))
    labels = draw_curves(axes, curves)
    style.players_axis(axes, table.players)
    axes.axhline(1.0, color=style.BLACK, linewidth=0.9)
    axes.set_ylabel("samples, problem 3 / problem 1")
    axes.set_title("(b) Problem 3 relative to problem 1")
    write_labels(axes, labels)


def claims(table: Table) -> list[Row]:
    """What section 5.2 says about decreasing rewards."""
    above = Range(low=1.0)

    def behind(ser3: Variant, scheme: str) -> tuple[Estimate, ...]:
        """How many times SER3's samples UGapEc takes on problem 3."""
        return table.compared((UGAPEC, scheme, "3"), (ser3, scheme, "3"))

    def lagging(ser3: Variant, scheme: str) -> tuple[Estimate, ...]:
        """Trial by trial: how far UGapEc lags behind SER3 with the drift, against without it."""

        def lag(n: int) -> Estimate:
            drifting, steady = (
                table.samples(UGAPEC, scheme, p, n) / table.samples(ser3, scheme, p, n)
                for p in ("3", "1")
            )
            return mean(drifting / steady)

        return table.at_each(lag)

    collapse: tuple[Case, ...] = ()
    for measure, reading in ((behind, ""), (lagging, "against SER3, relative to problem 1")):
        for way in WAYS:
            look = {"reading": reading, "label": f"{SCHEMES[way]}, "}
            collapse += cases_for(RADIUS_FORMS, partial(measure, scheme=way), above, **look)
    alone = "UGapEc alone, relative to problem 1"
    for way in WAYS:
        slower = table.compared((UGAPEC, way, "3"), (UGAPEC, way, "1"))
        collapse += (Case(SCHEMES[way], slower, above, "", alone),)
    drift = {w: cases_for(RADIUS_FORMS, partial(behind, scheme=w), above) for w in WAYS}
    return [
        *(judged(f"{SCHEMES[way].lower()}-drift", cases) for way, cases in drift.items()),
        judged("ugapec-collapses", collapse),
    ]


STUDIES = (Study("problem-3", scenarios, figure, claims),)
