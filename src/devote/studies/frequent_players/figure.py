"""How often the frequent players' best arm wins, against how many they are."""

from matplotlib.figure import Figure

from devote.studies.drawing import style
from devote.studies.drawing.canvas import footnote, panels
from devote.studies.drawing.labels import EndLabel, write_labels
from devote.studies.frequent_players.claims import found
from devote.studies.frequent_players.sweep import N_PLAYERS, ROUNDS, SHARE, SIZES
from devote.studies.settings import Settings
from devote.studies.table import Table
from devote.studies.variants import FORM, SER3, UGAPEC

SHIFTS = (-0.35, 0.35)
"""Side by side, so that no bar hides another."""


def draw(table: Table, settings: Settings) -> Figure:
    """One panel."""
    figure, [axes] = panels(1, size=(7.2, 4.0), right=0.83, bottom=0.225)
    quorum = SER3.spec().votes_needed
    axes.axvline(quorum, color=style.GREY, linewidth=1.0, dashes=(4, 3))
    axes.text(quorum + 1, 0.5, f"M = {quorum} votes", color=style.GREY, fontsize=8.5)
    line, marker = style.LINES["decentralized"]
    labels = []
    for variant, shift in zip((SER3, UGAPEC), SHIFTS, strict=True):
        colour = style.SUBROUTINES[variant.label]
        places = [size + shift for size in SIZES]
        estimates = [found(table, variant, size) for size in SIZES]
        values = [estimate.value for estimate in estimates]
        style.bars(axes, places, estimates, colour)
        axes.plot(places, values, linestyle=line, marker=marker, color=colour)
        labels.append(EndLabel(SIZES[-1], values[-1], variant.label, colour))
    axes.set_xticks(SIZES)
    axes.set_xlim(SIZES[0] - 2, SIZES[-1] + 2)
    axes.set_ylim(-0.03, 1.05)
    axes.set_xlabel(f"frequent players, of {N_PLAYERS}")
    axes.set_ylabel("runs that end with their best arm")
    axes.set_title("Users with different best arms: do the frequent win?")
    write_labels(axes, labels)
    footnote(
        figure,
        f"Decentralized; the frequent players make {100 * SHARE:g} % of the events. SER3 with "
        f"radius “{FORM}”.\nPoints: share of {ROUNDS * settings.trials} runs. {style.BARS}",
    )
    return figure
