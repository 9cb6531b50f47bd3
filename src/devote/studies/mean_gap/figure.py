"""The gap now and then below zero, its mean never."""

from matplotlib.figure import Figure

from devote.studies.drawing.gap_plot import draw_gaps
from devote.studies.mean_gap.sweep import GAPS, REMAINING
from devote.studies.settings import Settings
from devote.studies.table import Table


def draw(table: Table, settings: Settings) -> Figure:
    """The mean gap over time."""
    return draw_gaps(GAPS, REMAINING, "Assumption 4 holds: the mean gap stays positive")
