"""Suboptimal arms that lose value over time: samples of six algorithms.

Paper: the figure "the mean rewards of suboptimal arms linearly decrease", panel (b).
"""

from dataclasses import replace
from itertools import product

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from devote.studies.claim import Claim
from devote.studies.drawing import style
from devote.studies.drawing.canvas import footnote, panels
from devote.studies.drawing.curves import curve, draw_curves
from devote.studies.drawing.labels import write_labels
from devote.studies.drawing.samples import draw_samples, made_of
from devote.studies.estimates import Estimate, mean
from devote.studies.measuring import at_each, by_form, compared
from devote.studies.settings import Settings
from devote.studies.single_learners import shared_learners
from devote.studies.study import Planned, Study, grid
from devote.studies.table import Table
from devote.studies.variants import SCHEMES, SER3, SUBROUTINES, UGAPEC, Variant
from devote.studies.verdicts import Case, Range

WHERE = "section 5.2"
WAYS = ("isolated", "decentralized")
SHIFTS = (0.94, 0.98, 1.02, 1.06)
"""Four curves side by side at each number of players, so that no bar hides another."""


def scenarios(settings: Settings) -> list[Planned]:
    """All six algorithms on problem 3, and on problem 1, the same arms without the drift."""
    crowd = grid(settings, problems=["1", "3"], variants=SUBROUTINES.values())
    return crowd + shared_learners(settings, "3")


def figure(table: Table) -> Figure:
    """Panel (a) the six algorithms, panel (b) the same relative to problem 1."""
    drawn, (left, right) = panels(2, size=(10.0, 4.4), bottom=0.245)
    draw_samples(left, table, problem="3")
    _draw_relative(right, table)
    footnote(
        drawn,
        [
            made_of(table, bound=False),
            "Problem 3: all arms but the best lose 1e-5 per time step, down to 0, so that the "
            "gaps widen. (b) Below 1: the drift makes the problem easier.",
        ],
    )
    return drawn


def _draw_relative(axes: Axes, table: Table) -> None:
    curves = []
    for shift, (scheme, variant) in zip(SHIFTS, product(WAYS, (SER3, UGAPEC)), strict=True):
        item = curve(table, variant=variant, scheme=scheme, problem="3")
        drifting, steady = (table.trials_by_players(variant, scheme, p) for p in ("3", "1"))
        estimates = tuple(mean(column) for column in (drifting / steady).T)
        curves.append(replace(item, estimates=estimates, shift=shift))
    labels = draw_curves(axes, curves)
    style.players_axis(axes, table.players)
    axes.axhline(1.0, color=style.BLACK, linewidth=0.9)
    axes.set_ylabel("samples, problem 3 / problem 1")
    axes.set_title("(b) Problem 3 relative to problem 1")
    write_labels(axes, labels)


def claims(table: Table) -> list[Claim]:
    """What section 5.2 says about decreasing rewards."""
    return [*(_outperformed(table, scheme) for scheme in WAYS), _collapse(table)]


def _outperformed(table: Table, scheme: str) -> Claim:
    name = SCHEMES[scheme]
    return Claim(
        name=f"{name.lower()}-drift",
        quote=f"[When the mean rewards of suboptimal arms are decreasing,] {name} UGapEc [is] "
        f"outperformed by {name} SER3",
        where=WHERE,
        measured=f"samples of {name} UGapEc / samples of {name} SER3 on problem 3",
        asked="above 1",
        cases=_behind(table, scheme),
    )


def _behind(table: Table, scheme: str, label: str = "") -> tuple[Case, ...]:
    """How many times SER3's samples UGapEc takes on problem 3."""
    return by_form(
        lambda v: compared(table, (UGAPEC, scheme, "3"), (v, scheme, "3")),
        Range(low=1.0),
        label=label,
    )


def _lagging(table: Table, scheme: str, label: str) -> tuple[Case, ...]:
    """Trial by trial: how far UGapEc lags behind SER3 with the drift, against without it."""

    def lag(variant: Variant, n: int) -> Estimate:
        drifting, steady = (
            table.samples(UGAPEC, scheme, problem, n) / table.samples(variant, scheme, problem, n)
            for problem in ("3", "1")
        )
        return mean(drifting / steady)

    return by_form(
        lambda v: at_each(table.players, lag, v),
        Range(low=1.0),
        "against SER3, relative to problem 1",
        label,
    )


def _collapse(table: Table) -> Claim:
    return Claim(
        name="ugapec-collapses",
        quote="in comparison to SER3 the performances of UGapEc, which is not designed for "
        "non-stationary rewards, collapse",
        where=WHERE,
        measured="samples of UGapEc / samples of SER3 on problem 3: after a colon the paper goes "
        "on with the two rows above",
        asked="above 1",
        cases=(
            *(case for way in WAYS for case in _behind(table, way, f"{SCHEMES[way]}, ")),
            *(case for way in WAYS for case in _lagging(table, way, f"{SCHEMES[way]}, ")),
            *(
                Case(
                    SCHEMES[way],
                    compared(table, (UGAPEC, way, "3"), (UGAPEC, way, "1")),
                    Range(low=1.0),
                    reading="UGapEc alone, relative to problem 1",
                )
                for way in WAYS
            ),
        ),
        across="scheme",
    )


STUDIES = (Study("problem-3", scenarios, figure, claims),)
