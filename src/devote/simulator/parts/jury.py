"""The jury in the compiled simulator."""

from typing import Any, NamedTuple

from devote.protocol import ExperimentSpec
from devote.rules import COUNT, State, merge
from devote.rules.randomizer import blur
from devote.rules.state import next_alive
from devote.schemes.jury.scheme import Jury
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

CLAIM, PICK = ELIMINATION + 1, ELIMINATION + 2

NOBODY, JUROR, PICKED = range(3)
"""The roles of a player; PICKED is a juror who has picked."""


class Constants(NamedTuple):
    """The numbers of a jury."""

    seats: int
    seat_after: int
    """Activations before a claim."""
    needed: int
    """Picks that decide."""
    vote_after: int
    """Activations before a private pick; 0 without privacy."""
    truths: int
    """How often a private pick is the truth, see ``randomizer.truthful``."""


def constants(spec: ExperimentSpec, n_players: int) -> Constants:
    """The jury's parameters."""
    scheme = spec.scheme
    assert isinstance(scheme, Jury)
    vote_after = 0 if scheme.privacy is None else scheme.vote_after
    needed = scheme.votes_needed(spec)
    truths = scheme.truths(spec.n_arms)
    return Constants(scheme.seats, scheme.seat_after, needed, vote_after, truths)


def wake(work: Workspace, state: State, player: int, noise: float) -> None:
    """Learn of the verdict, or claim a seat, or pick."""
    group, p = work.group, work.players[player]
    if group.n_shared == 1:
        if not p.knows:
            p.knows = 1
            held = holds_shared(state.alive, work.shared)
            group.conflicts += merge(state, work.shared)
            group.holding += 1 - held
        return
    if p.role == NOBODY:
        if group.seated < work.scheme.seats and p.active >= work.scheme.seat_after:
            p.role = JUROR
            group.seated += 1
            send(work, CLAIM, player, -1)
    elif p.role == JUROR:
        arm = picks_on_waking(work.scheme, state, p.active, noise)
        if arm >= 0:
            pick(work, player, arm)


def picks_on_waking(scheme: Constants, state: State, active: int, noise: float) -> int:
    """The arm that a juror picks when it wakes; -1 if it does not pick now."""
    if scheme.vote_after == 0:
        return next_alive(state, 0) if state.ints[COUNT] == 1 else -1
    if active < scheme.vote_after:
        return -1
    if state.ints[COUNT] == 1:
        return blur(next_alive(state, 0), noise, scheme.truths, len(state.alive))
    return int(noise * len(state.alive))


def learn(work: Workspace, state: State, player: int, n_out: int) -> None:
    """A juror that is down to one arm picks it; who plays on after the verdict may hold it."""
    group, p = work.group, work.players[player]
    if group.n_shared > 1:
        if work.scheme.vote_after == 0 and state.ints[COUNT] == 1 and p.role == JUROR:
            pick(work, player, next_alive(state, 0))
    elif not p.knows:
        group.holding += holds_shared(state.alive, work.shared)


def pick(work: Workspace, player: int, arm: int) -> None:
    """Count a pick, and the verdict if it is the one that was missing."""
    group = work.group
    work.players[player].role = PICKED
    work.tally[arm] += 1
    group.picks += 1
    send(work, PICK, player, arm)
    if work.tally[arm] >= work.scheme.needed:
        for k in range(len(work.tally)):
            work.shared[k] = 1 if k == arm else 0
        note_eliminations(work, player)
        group.n_shared = 1
        count_holders(work)
    if group.n_shared == 1 or group.picks == work.scheme.seats:
        group.decided = group.time + 1


def ended(work: Workspace) -> int:
    """AGREED once everybody holds the verdict, STALLED without one after all picks, or 0."""
    group = work.group
    if group.n_shared == 1:
        return AGREED if group.holding == work.n_players else 0
    return STALLED if group.picks == work.scheme.seats else 0


def winners(end: Ending) -> list[int]:
    """The verdict; before it all arms, most picks first; after a stall those with picks."""
    kept = [
        k
        for k in range(len(end.tally))
        if end.shared[k] and (end.tally[k] > 0 or end.code != STALLED)
    ]
    return sorted(kept, key=lambda k: -end.tally[k])


# In passes a slot is an arm, for picks; the next one is for claims, and the last counts all picks.
# While seats are free everybody claims one when it may: the passes are cut when the last is taken,
# which raises ``trial.version``. So those who hold a claim then are the jurors.


def claim_or_pick(
    setup: Setup, view: View, state: State, player: Any, active: int, noise: float, t: float
) -> None:
    """As ``wake``."""
    trial = view.trial
    if trial.n_shared == 1:
        if not player.seen:
            player.seen = 1
            player.conflicts += merge(state, view.shared)
    elif player.role == NOBODY:
        if trial.version == 0 and active >= setup.scheme.seat_after:
            player.role = JUROR
            record(view, t, setup.n_arms)
    elif player.role == JUROR:
        arm = picks_on_waking(setup.scheme, state, active, noise)
        if arm >= 0:
            record_pick(setup, view, player, active, arm, t)


def pick_when_done(
    setup: Setup,
    view: View,
    state: State,
    player: Any,
    voted: Any,
    active: int,
    n: int,
    t: float,
) -> None:
    """As ``learn``."""
    may_pick = view.trial.n_shared > 1 and setup.scheme.vote_after == 0
    if may_pick and state.ints[COUNT] == 1 and player.role == JUROR:
        record_pick(setup, view, player, active, next_alive(state, 0), t)


def record_pick(setup: Setup, view: View, player: Any, active: int, arm: int, t: float) -> None:
    """A juror picks."""
    player.role = PICKED
    if player.first_vote < 0:
        player.first_vote = active
    record(view, t, arm)
    record(view, t, setup.n_arms + 1)


def messages_lacking(setup: Setup, trial: Any, tally: Any, shared: Any, slot: int) -> int:
    """Picks that an arm lacks, claims until no seat is free, picks until all are in."""
    if slot < setup.n_arms:
        return int(setup.scheme.needed - tally[slot])
    return int(setup.scheme.seats - tally[slot])


def apply_picks(setup: Setup, trial: Any, tally: Any, shared: Any) -> None:
    """The verdict, or that all seats are taken, or that all picks are in without one."""
    for arm in range(setup.n_arms):
        if tally[arm] >= setup.scheme.needed and trial.n_shared > 1:
            for k in range(setup.n_arms):
                shared[k] = 1 if k == arm else 0
            trial.n_shared = 1
    if tally[setup.n_arms] >= setup.scheme.seats:
        trial.version = 1
    if trial.n_shared > 1 and tally[setup.n_arms + 1] >= setup.scheme.seats:
        trial.ended = STALLED


PART = Part(
    ended,
    winners,
    wake,
    learn,
    group=("seated", "picks"),
    player=("role", "knows"),
    events=("elimination", "claim", "pick"),
    sentences={
        "claim": "player {player} claims a seat",
        "pick": "player {player} picks arm {arm}",
        "elimination": "arm {arm} eliminated",
    },
    constants=constants,
    passes=Passes(
        wake=claim_or_pick,
        learn=pick_when_done,
        needed=messages_lacking,
        apply=apply_picks,
        messages=lambda constants, n_arms: 3 * constants.seats,
    ),
)
