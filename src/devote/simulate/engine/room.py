"""Whether a trial fits into memory, asked before any of it is taken."""

import os

from devote.simulate.engine.packing import WORD, Layout
from devote.simulate.errors import SweepError
from devote.simulate.scenario import Scenario

EXTRA = 64
"""Bytes of a player beside its learner and its words: lists that only exist at first or at last."""

DEALT = 128
"""Pulls per player that are dealt out at once on a GPU, where time counts pulls."""

SMALL = 1 << 20
"""Players times arms that fit anywhere."""


def bytes_per_player(scenario: Scenario) -> int:
    """What a player takes."""
    engine = scenario.scheme.engine
    if engine is None or engine.one_learner:
        return EXTRA
    if scenario.runs_on == "clocks" and scenario.own_clocks:
        return 2 * Layout(scenario).row_bytes + scenario.spec.n_arms + EXTRA
    fresh = scenario.algorithm.new_state(scenario.spec.n_arms)
    numbers = len(fresh.pulls) + len(fresh.ints) + engine.words
    learner = len(fresh.alive) + 4 * numbers + 8 * (len(fresh.sums) + len(fresh.floats) + 1)
    copies, dealt = 1, 0
    if scenario.runs_on == "cuda":
        copies = 2
        dealt = 0 if scenario.own_clocks else WORD * (DEALT + 1)
    return copies * (learner + len(fresh.alive)) + EXTRA + dealt


def check_room(scenario: Scenario) -> None:
    """Refuse more players than the memory of this machine holds."""
    if scenario.runs_on == "cuda":  # its own memory is asked when it is there
        return
    if scenario.n_players * scenario.spec.n_arms < SMALL:
        return
    needed = bytes_per_player(scenario) * scenario.n_players
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not told here
        return
    if needed > there:
        raise SweepError(
            f"n_players={scenario.n_players:,} takes {needed / 2**30:,.0f} GiB of memory, "
            f"{bytes_per_player(scenario)} bytes each, but there are {there / 2**30:,.0f} GiB.\n"
            f"Use {there // bytes_per_player(scenario):,} players or fewer."
        )
