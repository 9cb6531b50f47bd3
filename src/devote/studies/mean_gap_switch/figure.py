"""The mean gap falls to zero and below."""

from matplotlib.figure import Figure

from devote.studies.drawing.gap_plot import draw_gaps
from devote.studies.mean_gap_switch.sweep import GAPS, REMAINING
from devote.studies.settings import Settings
from devote.studies.table import Table


def draw(table: Table, settings: Settings) -> Figure:
    """The mean gap over time."""
    return draw_gaps(GAPS, REMAINING, "Assumption 4 does not hold: a switch occurs")
