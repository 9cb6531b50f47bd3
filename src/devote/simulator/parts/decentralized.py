"""Decentralized Elimination in the compiled simulator.

The rules themselves (what is shared, how a player merges) are those that devices run; here is only
the bookkeeping that shows the end of a run without looking at every player each time.

Paper: Algorithm 2, with errata 1-5 and 14.
"""

from typing import Any, NamedTuple

from devote.protocol import ExperimentSpec
from devote.rules import RESET, State, merge, shared_set, start
from devote.simulator.parts.part import Ending, Part, Passes
from devote.simulator.passes import Setup, View, record
from devote.simulator.workspace import (
    AGREED,
    ELIMINATION,
    STALLED,
    Workspace,
    count_holders,
    holds_shared,
    note_eliminations,
    send,
)

VOTE, RESET_EVENT = ELIMINATION + 1, ELIMINATION + 2


class Constants(NamedTuple):
    """Votes that eliminate an arm."""

    quorum: int


def constants(spec: ExperimentSpec, n_players: int) -> Constants:
    """The quorum."""
    needed = spec.scheme.votes_needed(spec)
    assert needed is not None
    return Constants(needed)


def wake(work: Workspace, state: State, player: int, noise: float) -> None:
    """Read what has changed since the player was last active.

    Paper: Algorithm 2, lines 3-11.
    """
    group, p = work.group, work.players[player]
    if p.seen == group.version:
        return
    held = holds_shared(state.alive, work.shared)
    p.seen = group.version
    if p.seen_term != group.term:
        p.seen_term = group.term
        start(state)
    group.conflicts += merge(state, work.shared)
    if group.n_shared == 1 and not held:
        group.holding += 1


def learn(work: Workspace, state: State, player: int, n_out: int) -> None:
    """Vote against what was eliminated, or open the next term.

    Paper: Algorithm 2, lines 14-20.
    """
    if n_out == RESET:
        open_term(work, player)
        return
    sent = 0
    for j in range(n_out):
        sent += vote(work, player, work.out[j])
    if sent > 0:
        update_shared(work, player)


def vote(work: Workspace, player: int, arm: int) -> int:
    """Send one vote, unless it has been sent before; returns 1 if it was sent now.

    Paper: Algorithm 2, line 18.
    """
    if work.voted[player, arm]:
        return 0
    work.voted[player, arm] = 1
    work.tally[arm] += 1
    if work.shared[arm]:
        p = work.players[player]
        p.against += 1
        if p.against == work.group.n_shared - 1:
            work.group.settled += 1
    send(work, VOTE, player, arm)
    return 1


def update_shared(work: Workspace, player: int) -> None:
    """Derive the shared set from the tally, and what follows when it has changed.

    Paper: Algorithm 2, lines 4-7.
    """
    group = work.group
    group.n_shared = shared_set(work.tally, work.scheme.quorum, work.shared)
    if note_eliminations(work, player) > 0:
        group.version += 1
        count_settled(work)
        if group.n_shared == 1:
            count_holders(work)
    if group.decided == 0 and (group.n_shared == 1 or group.settled >= work.n_players):
        group.decided = group.time + 1


def count_settled(work: Workspace) -> None:
    """Count the players who have voted against all shared arms but one at most.

    These are settled: they send no more votes (erratum 5).
    """
    work.group.settled = 0
    for n in range(len(work.players)):
        against = 0
        for k in range(len(work.tally)):
            if work.shared[k] and work.voted[n, k]:
                against += 1
        work.players[n].against = against
        if against + 1 >= work.group.n_shared:
            work.group.settled += 1


def open_term(work: Workspace, player: int) -> None:
    """A reset: votes so far no longer count.

    Paper: section 4, DSER4; erratum 14.
    """
    group, p = work.group, work.players[player]
    group.resets += 1
    group.term += 1
    group.version += 1
    group.decided = 0
    group.n_shared = len(work.tally)
    for k in range(len(work.tally)):
        work.tally[k] = 0
        work.shared[k] = work.before[k] = 1
        for n in range(len(work.voted)):
            work.voted[n, k] = 0
    p.seen_term = group.term
    p.seen = group.version
    count_settled(work)
    send(work, RESET_EVENT, player, -1)


def ended(work: Workspace) -> int:
    """AGREED, STALLED or 0.

    Paper: Algorithm 2, line 22; erratum 5.
    """
    group = work.group
    if group.n_shared == 1:
        return AGREED if group.holding == work.n_players else 0
    return STALLED if group.settled >= work.n_players else 0


def winners(end: Ending) -> list[int]:
    """The arms still shared, the fewest votes first."""
    kept = [k for k in range(len(end.tally)) if end.shared[k]]
    return sorted(kept, key=end.tally.__getitem__)


# In passes a slot is an arm, for votes; the last slot counts players who are settled. Each says so
# once in every pass, as what is settled changes with the shared set.


def report_settled(setup: Setup, view: View, player: Any, voted: Any) -> None:
    """Count the shared arms a player has voted against, and say if it is settled."""
    if not setup.can_stall:
        return
    against = 0
    for k in range(setup.n_arms):
        if view.shared[k] and voted[k]:
            against += 1
    player.against = against
    if against + 1 >= view.trial.n_shared:
        record(view, view.trial.start, setup.n_arms + 1)


def read_decision(
    setup: Setup, view: View, state: State, player: Any, active: int, noise: float, t: float
) -> None:
    """As ``wake``: merge what has been decided since the player was last active."""
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
    """As ``learn``: vote against what was eliminated, each arm once."""
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
    """Votes that an arm still shared lacks; of the last slot, all players."""
    if slot < setup.n_arms:
        return int(setup.scheme.quorum - tally[slot]) if shared[slot] else 0
    return setup.n_players if slot > setup.n_arms else 0


def apply_votes(setup: Setup, trial: Any, tally: Any, shared: Any) -> None:
    """As ``update_shared``: derive the shared set; a stall if all are settled all the same."""
    settled = tally[setup.n_arms + 1]
    tally[setup.n_arms + 1] = 0
    n_shared = shared_set(tally[: setup.n_arms], setup.scheme.quorum, shared)
    if n_shared < trial.n_shared:
        trial.n_shared = n_shared
        trial.version += 1
        # Who is settled now is reported in the next pass.
    elif settled >= setup.n_players:
        trial.ended = STALLED


PART = Part(
    ended,
    winners,
    wake,
    learn,
    group=("settled",),
    player=("seen", "seen_term", "against"),
    events=("elimination", "vote", "reset"),
    sentences={
        "vote": "player {player} votes against arm {arm}",
        "elimination": "arm {arm} eliminated",
        "reset": "player {player} resets: term {term} begins",
    },
    constants=constants,
    passes=Passes(
        report_settled,
        read_decision,
        send_votes,
        votes_lacking,
        apply_votes,
        can_stall=lambda constants, n_players: n_players <= 2 * constants.quorum - 2,
        messages=lambda constants, n_arms: n_arms * constants.quorum,
    ),
)
