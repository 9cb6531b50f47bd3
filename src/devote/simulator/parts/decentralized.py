"""Decentralized Elimination in the compiled simulator.

The rules themselves (what is shared, how a player merges) are those that devices run; here is only
the bookkeeping that shows a stall without looking at every player each time. A slot is an arm, for
votes; the last slot counts players who are settled: they have voted against all shared arms but
one at most, and send no more votes (erratum 5).

Paper: Algorithm 2, with errata 1-5 and 14.
"""

from typing import Any, NamedTuple

from devote.protocol import ExperimentSpec
from devote.rules import State, merge, shared_set
from devote.simulator.part import Ending, Part
from devote.simulator.passes import View, record
from devote.simulator.workspace import OTHER, STALLED, EventView, Setup, note


class Constants(NamedTuple):
    """Votes that eliminate an arm."""

    quorum: int


def constants(spec: ExperimentSpec, n_players: int) -> Constants:
    """The quorum."""
    needed = spec.scheme.votes_needed(spec)
    assert needed is not None
    return Constants(needed)


def report_settled(setup: Setup, view: View, player: Any, voted: Any) -> None:
    """Count the shared arms that a player has voted against, and report it if it is settled."""
    if not setup.can_stall:
        return
    against = 0
    for k in range(setup.n_arms):
        if view.shared[k] and voted[k]:
            against += 1
    player.against = against
    if against + 1 >= view.trial.n_shared:
        record(view, 0.0, setup.n_arms + 1)


def read_decision(
    setup: Setup, view: View, state: State, player: Any, active: int, noise: float, t: float
) -> None:
    """Merge what has been decided since the player was last active.

    Paper: Algorithm 2, lines 3-11.
    """
    if player.seen != view.trial.version:
        player.seen = view.trial.version
        player.conflicts += merge(state, view.shared)


def send_votes(
    setup: Setup,
    view: View,
    state: State,
    player: Any,
    voted: Any,
    active: int,
    n: int,
    t: float,
) -> None:
    """Vote against what was eliminated, each arm once.

    Paper: Algorithm 2, lines 14-20.
    """
    for j in range(n):
        arm = view.out[j]
        if not voted[arm]:
            voted[arm] = 1
            record(view, t, arm)
            if player.first_vote < 0:
                player.first_vote = active
            if setup.can_stall and view.shared[arm]:
                player.against += 1
                if player.against == view.trial.n_shared - 1:
                    record(view, t, setup.n_arms + 1)


def votes_lacking(setup: Setup, trial: Any, tally: Any, shared: Any, slot: int) -> int:
    """Votes that an arm still shared lacks; of the last slot, players who are not settled."""
    if slot < setup.n_arms:
        return int(setup.scheme.quorum - tally[slot]) if shared[slot] else 0
    return int(setup.n_players - tally[slot]) if slot > setup.n_arms else 0


def apply_votes(setup: Setup, trial: Any, tally: Any, shared: Any) -> None:
    """Derive the shared set; a stall if it stays as it was and all are settled.

    Paper: Algorithm 2, lines 4-7 and 22.
    """
    n_settled = tally[setup.n_arms + 1]
    tally[setup.n_arms + 1] = 0
    n_out = 0
    for k in range(setup.n_arms):
        if shared[k] and tally[k] >= setup.scheme.quorum:
            n_out += 1
    if n_out > 0:
        trial.n_shared = shared_set(tally[: setup.n_arms], setup.scheme.quorum, shared)
        trial.version += 1
        trial.ended = 0
        # ``report_settled`` counts anew who is settled now.
    elif n_settled >= setup.n_players and trial.n_shared > 1:
        trial.ended = STALLED


def open_term(setup: Setup, view: EventView) -> None:
    """A reset: votes so far no longer count.

    Paper: section 4, DSER4; erratum 14.
    """
    group, tables = view.trial, view.tables
    player = tables.players[view.place]
    group.term += 1
    group.version += 1
    group.decided = group.ended = 0
    group.n_shared = setup.n_arms
    tables.tally[setup.n_arms + 1] = 0
    for k in range(setup.n_arms):
        tables.tally[k] = 0
        tables.shared[k] = tables.before[k] = 1
    for n in range(setup.n_players):
        tables.players[n].against = 0
        for k in range(setup.n_arms):
            tables.voted[n, k] = 0
    player.term = group.term
    player.seen = group.version
    group.broadcasts += 1
    note(view, OTHER, -1)


def winners(end: Ending) -> list[int]:
    """The arms still shared, the fewest votes first."""
    kept = [k for k in range(len(end.shared)) if end.shared[k]]
    return sorted(kept, key=end.tally.__getitem__)


PART = Part(
    winners,
    report_settled,
    read_decision,
    send_votes,
    votes_lacking,
    apply_votes,
    constants,
    can_stall=lambda constants, n_players: n_players <= 2 * constants.quorum - 2,
    messages=lambda constants, n_arms: n_arms * constants.quorum,
    events=("elimination", "vote", "reset"),
    sentences={
        "vote": "player {player} votes against arm {arm}",
        "elimination": "arm {arm} eliminated",
        "reset": "player {player} resets: term {term} begins",
    },
    in_passes=True,
    reset=open_term,
)
