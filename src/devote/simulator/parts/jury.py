"""The jury in the compiled simulator.

A slot is an arm, for picks; the next one is for claims, and the last counts all picks. While seats
are free everybody claims one when it may; the claim that takes the last seat raises
``trial.version``. So those who hold a claim then are the jurors.
"""

from typing import Any, NamedTuple

from devote.protocol import ExperimentSpec
from devote.rules import COUNT, State, merge
from devote.rules.randomizer import blur
from devote.rules.state import next_alive
from devote.schemes.jury.scheme import Jury
from devote.simulator.part import Ending, Part
from devote.simulator.passes import View, record
from devote.simulator.workspace import STALLED, Setup

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


def picks_on_waking(scheme: Constants, state: State, active: int, noise: float) -> int:
    """The arm that a juror picks when it wakes; -1 if it does not pick now."""
    if scheme.vote_after == 0:
        return next_alive(state, 0) if state.ints[COUNT] == 1 else -1
    if active < scheme.vote_after:
        return -1
    if state.ints[COUNT] == 1:
        return blur(next_alive(state, 0), noise, scheme.truths, len(state.alive))
    return int(noise * len(state.alive))


def claim_or_pick(
    setup: Setup, view: View, state: State, player: Any, active: int, noise: float, t: float
) -> None:
    """Learn of the verdict, or claim a seat, or pick."""
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
    """A juror that is down to one arm picks it; a private one does so later."""
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


def winners(end: Ending) -> list[int]:
    """The verdict; before it all arms, most picks first; after a stall those with picks."""
    kept = [k for k in range(len(end.shared)) if end.shared[k]]
    if end.group["ended"] == STALLED:
        kept = [k for k in kept if end.tally[k] > 0]
    return sorted(kept, key=lambda k: -end.tally[k])


PART = Part(
    winners,
    wake=claim_or_pick,
    learn=pick_when_done,
    needed=messages_lacking,
    apply=apply_picks,
    constants=constants,
    messages=lambda constants, n_arms: 3 * constants.seats,
    events=("elimination", "pick", "claim"),
    sentences={
        "claim": "player {player} claims a seat",
        "pick": "player {player} picks arm {arm}",
        "elimination": "arm {arm} eliminated",
    },
    in_passes=True,
)
