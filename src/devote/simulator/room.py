"""Whether a trial fits into memory, asked before any of it is taken."""

import os

from devote.simulator.errors import SweepError
from devote.simulator.scenario import Scenario

EXTRA = 64
"""Bytes of a player beside its learner and its record: lists that exist at first or at last."""

SMALL = 1 << 20
"""Players times arms that fit anywhere."""


def bytes_per_player(scenario: Scenario) -> int:
    """What a player takes."""
    part = scenario.part
    if part is None or part.one_learner:
        return EXTRA
    fresh = scenario.algorithm.new_state(scenario.spec.n_arms)
    learner = 2 * len(fresh.alive) + 4 * (len(fresh.pulls) + len(fresh.ints))
    learner += 8 * (len(fresh.sums) + len(fresh.floats))
    copies = 1 if scenario.runs_on == "event" else 2
    return copies * (learner + EXTRA)


def check_room(scenario: Scenario) -> None:
    """Refuse more players than the memory of this machine holds."""
    if scenario.n_players * scenario.spec.n_arms < SMALL:
        return
    needed = bytes_per_player(scenario) * scenario.n_players
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not known here
        return
    if needed > there:
        raise SweepError(
            f"n_players={scenario.n_players:,} takes {needed / 2**30:,.0f} GiB of memory, "
            f"{bytes_per_player(scenario)} bytes each, but there are {there / 2**30:,.0f} GiB.\n"
            f"Use {there // bytes_per_player(scenario):,} players or fewer."
        )
