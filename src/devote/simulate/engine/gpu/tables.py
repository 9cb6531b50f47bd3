"""What lies in the memory of the device: all players of many trials, and how each trial stands.

Player n of trial t is number ``t * n_players + n``. Neighbours run side by side, so the numbers
of one kind lie next to each other for all players, unlike on the CPU, where a player's row does.
"""

from typing import Any, NamedTuple

from devote.kernels import State
from devote.kernels.jitable import jitable
from devote.kernels.tables import N_COUNTERS, OWN, Arena
from devote.problems.rewards import Environment
from devote.simulate.engine.windows import Desk


class Shape(NamedTuple):
    """How large it all is; ``blocks_each`` is how many blocks a trial takes, 0 if it shares one."""

    n_trials: int
    n_players: int
    blocks_each: int


class Players(NamedTuple):
    """As ``windows.Rows``: ``[half, place, number]``, with ``own`` and ``voted`` by number first.

    ``pulls`` and ``ints`` of a learner are in ``ints``, ``sums`` and ``floats`` in ``reals``.
    ``voted`` and ``first_vote`` have what is certain first, and then what was said in this phase.
    ``dealt[trial]`` has the pulls of a window by player, if time counts pulls (``deal``); ``ends``
    says where a player's end, which is where those of the next one begin.
    """

    alive: Any
    ints: Any
    reals: Any
    own: Any
    next: Any
    half: Any
    moved: Any
    voted: Any
    first_vote: Any
    place: Any
    dealt: Any
    ends: Any


class Trials(NamedTuple):
    """A row for each trial: what ``Plan``, ``Arena`` and ``Desk`` have of it.

    ``keep``: whether it is certain that players are where the last phase has brought them.
    ``keys`` are those of the players' numbers, ``streams`` those of the trial's. ``heard``: see
    there.
    """

    keys: Any
    streams: Any
    counters: Any
    past: Any
    added: Any
    last: Any
    keep: Any
    words: Any
    times: Any
    tally: Any
    by_arm: Any
    shared: Any
    seen: Any
    before: Any
    heard: Any


CROWD = 256
"""Loud activations of a trial in a window, at most, if it is to count."""


def room_of(threads: int) -> int:
    """The same where so many threads merge a trial; many of them have many players to hear."""
    return CROWD * max(1, threads // 32)


class Heard(NamedTuple):
    """Loud activations of each trial in a phase, in no order: ``[trial, place]``.

    Who made it; its number among the player's, or its pull where time counts pulls; when that was;
    whether it decides by itself; and what it adds to ``tally`` and to the scheme's own counters.
    """

    who: Any
    mark: Any
    when: Any
    decides: Any
    adds: Any


def n_columns(n_arms: int) -> int:
    """How many numbers a loud activation may add to."""
    return n_arms + N_COUNTERS - OWN


class Fresh(NamedTuple):
    """One row of ``Trials`` for a trial that has not begun."""

    counters: Any
    words: Any
    times: Any


class Merged(NamedTuple):
    """What trials have whose clocks are merged into one, a row each, beside their learners."""

    counters: Any
    own: Any
    voted: Any
    first_vote: Any
    tally: Any
    by_arm: Any
    shared: Any
    before: Any
    out: Any


class Setting(NamedTuple):
    """What is the same in all trials."""

    epsilon: float
    endless: int
    steady: int
    scheme: tuple[int, ...]
    noisy: int
    horizon: int
    good: Any
    events: Any
    shared: Any


@jitable
def arena_of_one(
    n_players: int,
    setting: Setting,
    endless: int,
    steady: int,
    counters: Any,
    alive: Any,
    own: Any,
    voted: Any,
    first_vote: Any,
    tally: Any,
    by_arm: Any,
    shared: Any,
    before: Any,
    out: Any,
) -> Arena:
    """The tables with the row of one player."""
    return Arena(
        n_players,
        setting.epsilon,
        endless,
        1,
        0,
        steady,
        0,
        0,
        setting.scheme,
        counters,
        alive,
        own,
        voted,
        first_vote,
        tally,
        by_arm,
        shared,
        before,
        out,
        setting.good,
        setting.events,
        setting.good,
        setting.good,
    )


@jitable
def desk_of(
    state: State,
    alive: Any,
    own: Any,
    voted: Any,
    first_vote: Any,
    out: Any,
    scratch: Any,
    added: Any,
    last: Any,
) -> Desk:
    """A desk at which a row is as wide as at work; ``scratch`` stands for what is not used."""
    return Desk(
        scratch,
        alive,
        state.pulls,
        state.sums,
        state.ints,
        state.floats,
        own,
        scratch,
        voted,
        first_vote,
        out,
        scratch,
        scratch,
        scratch,
        added,
        scratch,
        last,
    )


@jitable
def environment_of(
    kind: int, n_arms: int, n_groups: int, n_segments: int, resampled: int, buffers: Environment
) -> Environment:
    """The environment, of which the first words are known when it is compiled."""
    return Environment(
        kind,
        n_arms,
        n_groups,
        n_segments,
        resampled,
        buffers.n_rows,
        buffers.means,
        buffers.slopes,
        buffers.starts,
        buffers.groups,
        buffers.table,
        buffers.firsts,
        buffers.lengths,
    )


@jitable
def look_at(players: Players, half: int, number: int, state: State, own: Any) -> None:
    """Copy what is asked of a player that does not move: its remaining arms and its own words."""
    for k in range(len(state.alive)):
        state.alive[k] = players.alive[half, k, number]
    for i in range(own.shape[1]):
        own[0, i] = players.own[half, number, i]


@jitable
def pick_up(
    players: Players, half: int, number: int, counts_pulls: bool, state: State, own: Any
) -> None:
    """Copy a player to where it is worked on; its pulls only if they are asked for."""
    look_at(players, half, number, state, own)
    n_arms = len(state.alive)
    for k in range(n_arms):
        if counts_pulls:
            state.pulls[k] = players.ints[half, k, number]
        state.sums[k] = players.reals[half, k, number]
    for i in range(len(state.ints)):
        state.ints[i] = players.ints[half, n_arms + i, number]
    for i in range(players.reals.shape[1] - n_arms):
        state.floats[i] = players.reals[half, n_arms + i, number]


@jitable
def pick_up_votes(players: Players, number: int, voted: Any, first_vote: Any) -> None:
    """Copy what a player has said to where it is worked on."""
    for k in range(voted.shape[1]):
        voted[0, k] = players.voted[0, number, k]
    first_vote[0] = players.first_vote[0, number]


@jitable
def put_votes(players: Players, certain: int, number: int, voted: Any, first_vote: Any) -> None:
    """Copy it back: 0 where it is certain, 1 where it is not yet."""
    for k in range(voted.shape[1]):
        players.voted[certain, number, k] = voted[0, k]
    players.first_vote[certain, number] = first_vote[0]


@jitable
def put_own(players: Players, half: int, number: int, own: Any) -> None:
    """Copy a player's own words back."""
    for i in range(own.shape[1]):
        players.own[half, number, i] = own[0, i]


@jitable
def put_clock(
    players: Players, half: int, number: int, following: float, cell: int, made: int
) -> None:
    """Note how far a player's clock has come."""
    players.next[half, number] = following
    players.place[half, number, 0] = cell
    players.place[half, number, 1] = made


@jitable
def put_down(
    players: Players, half: int, number: int, counts_pulls: bool, state: State, own: Any
) -> None:
    """Copy a player back."""
    n_arms = len(state.alive)
    for k in range(n_arms):
        players.alive[half, k, number] = state.alive[k]
        if counts_pulls:
            players.ints[half, k, number] = state.pulls[k]
        players.reals[half, k, number] = state.sums[k]
    for i in range(len(state.ints)):
        players.ints[half, n_arms + i, number] = state.ints[i]
    for i in range(players.reals.shape[1] - n_arms):
        players.reals[half, n_arms + i, number] = state.floats[i]
    put_own(players, half, number, own)
