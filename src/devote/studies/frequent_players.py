"""Users with different best arms: whose arm wins, for each number of frequent players.

Paper: section 6, the closing remark on Assumption 2.
"""

from devote.problems import Problem, Split, get_problem
from devote.simulator import Scenario
from devote.simulator.trial import NEVER
from devote.studies import style
from devote.studies.claim import Range, Row, cases_for, judged
from devote.studies.curves import EndLabel, write_labels
from devote.studies.estimates import Estimate, proportion
from devote.studies.study import Plan, Settings, Study, Table
from devote.studies.style import Figure
from devote.studies.variants import DELTA, FORM, QUORUM, SER3, SUBROUTINES, UGAPEC, Variant

N_PLAYERS = 64
SHARE = 0.8
SIZES = (8, 16, 24, 28, 32, 40, 48)
"""How many players are frequent; 28 votes eliminate an arm."""

ROUNDS = 5
"""How many times the trials asked for are run: 20 runs do not show what happens in 95 of 100."""

FREQUENT_ARM = 0
"""The best arm of the frequent players in problem 5."""

SHIFTS = (-0.35, 0.35)
"""Points side by side, so that no bar hides another."""


def scenario(variant: Variant, frequent: int) -> Scenario:
    """64 players, this many of whom make 80 % of the events and have a best arm of their own."""
    fraction = frequent / N_PLAYERS
    theirs, others = (means for _, means in get_problem("5").groups)
    problem = Problem(
        f"frequent-{frequent}",
        activity=Split(fraction=fraction, share=SHARE),
        groups=((fraction, theirs), (1.0 - fraction, others)),
    )
    return Scenario(variant.spec(), problem, N_PLAYERS)


def scenarios(settings: Settings) -> Plan:
    """Problem 5 with frequent players of every number."""
    runs = ROUNDS * settings.trials
    return {scenario(variant, n): runs for variant in SUBROUTINES.values() for n in SIZES}


def found(table: Table, variant: Variant) -> tuple[Estimate, ...]:
    """How often the best arm of the frequent players is the one left, for each number of them."""
    estimates = []
    for size in SIZES:
        result = table[scenario(variant, size)]
        alone = result.leaves(FREQUENT_ARM) & (result.left[:, 1] == NEVER)
        estimates.append(proportion(alone).located(f"{size} of {N_PLAYERS}"))
    return tuple(estimates)


def figure(table: Table) -> Figure:
    """How often the frequent players' best arm wins, against how many they are."""
    drawn, [axes] = style.panels(1, size=(7.2, 4.0), right=0.83, bottom=0.225)
    axes.axvline(QUORUM, color=style.GREY, linewidth=1.0, dashes=(4, 3))
    axes.text(QUORUM + 1, 0.5, f"M = {QUORUM} votes", color=style.GREY, fontsize=8.5)
    line, marker = style.LINES["decentralized"]
    labels = []
    for variant, shift in zip((SER3, UGAPEC), SHIFTS, strict=True):
        colour = style.SUBROUTINES[variant.label]
        places, estimates = [size + shift for size in SIZES], found(table, variant)
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
    style.footnote(
        drawn,
        f"Decentralized; the frequent players make {100 * SHARE:g} % of the events. SER3 with "
        f"radius “{FORM}”.\nPoints: share of {ROUNDS * table.trials} runs. {style.BARS}",
    )
    return drawn


def claims(table: Table) -> list[Row]:
    """What section 6 says about users with different best arms."""
    cases = cases_for(SUBROUTINES, lambda v: found(table, v), Range(low=1 - DELTA))
    numbers = {"share": 100 * SHARE, "players": N_PLAYERS, "least": 1 - DELTA, "quorum": QUORUM}
    runs = ROUNDS * table.trials
    return [judged("best-arm-of-the-frequent", cases, runs=runs, **numbers)]


STUDIES = (Study("frequent-players", scenarios, figure, claims),)
