"""Loud activations of a phase: made in passing by each player, put in order afterwards.

A player that runs alone makes its loud activations against copies of the tables as they are at the
start of the window, and notes what each of them adds (``hear``). That is what happens, unless they
add up to a decision. So they are put in the order of time and added up until one is made
(``Clocks.due``). From there on nothing is certain: the window is run again, to just before the
loud activation that decides, which is then made for all (``merge``).
"""

from typing import Any

from devote.kernels.jitable import jitable
from devote.kernels.tables import N_COUNTERS, OWN, Arena
from devote.simulate.engine.gpu.tables import pick_up_votes

N_OWN = N_COUNTERS - OWN
"""How many counters are the scheme's own."""

N_SAID, N_KEPT = N_OWN, N_OWN + 1
"""What a player keeps while it runs: the scheme's own counters before its last loud activation, and
how many of its activations were loud."""


@jitable
def prepare(log: Any, arena: Arena) -> None:
    """Bring copies of the tables up to date, and what the player has said, before it is loud."""
    trials, players, trial, _, number, kept = log
    for k in range(len(arena.tally)):
        arena.tally[k] = trials.tally[trial, k]
        arena.before[k] = trials.before[trial, k]
    if kept[N_SAID] == 0:
        pick_up_votes(players, number, arena.voted, arena.first_vote)
    for j in range(N_OWN):
        kept[j] = arena.counters[OWN + j]


@jitable
def put_in_order(when: Any, n: int, me: int, mates: int, order: Any) -> None:
    """Put the places of some of the first n into the order of time."""
    for j in range(me, n, mates):
        mine, rank = when[j], 0
        for one in range(n):
            rank += int(when[one] < mine) + int(when[one] == mine and one < j)
        order[rank] = j


@jitable
def add_up(
    adds: Any, order: Any, begin: int, end: int, me: int, mates: int, tally: Any, counters: Any
) -> None:
    """Add some loud activations to tables; each thread does some columns.

    ``counters`` are those from the scheme's own on; none, where they have been added already.
    """
    n_arms = len(tally)
    for column in range(me, n_arms + len(counters), mates):
        total = 0
        for e in range(begin, end):
            total += adds[order[e], column]
        if column < n_arms:
            tally[column] += total
        else:
            counters[column - n_arms] += total


@jitable
def note_said(players: Any, number: int) -> None:
    """What a player has said in this phase is certain."""
    for k in range(players.voted.shape[2]):
        players.voted[0, number, k] = players.voted[1, number, k]
    players.first_vote[0, number] = players.first_vote[1, number]
