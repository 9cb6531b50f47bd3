"""Trials in passes on the CPU: their arrays, and the threads that share their players."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from devote.rules import State
from devote.simulator import passes
from devote.simulator.compiling import Function, compile_loop, of_scheme
from devote.simulator.errors import rule_fault
from devote.simulator.outcomes import own_answers
from devote.simulator.part import Ending
from devote.simulator.passes import (
    DONE,
    PLAYER,
    SENT,
    Mail,
    Rows,
    View,
    new_trials,
    settle_half,
    visit,
)
from devote.simulator.run import new_learners, new_setup
from devote.simulator.scenario import Scenario
from devote.simulator.streams import trial_key
from devote.simulator.trial import NEVER
from devote.simulator.workspace import AGREED, FAULT, Setup

ROWS_PER_THREAD = 2048
"""A thread has at least so many players: fewer are not worth handing out."""

SPARE_MESSAGES = 1024


def sweep(
    setup: Setup,
    trials: Any,
    shared: Any,
    players: Any,
    rows: Rows,
    mail: Mail,
    out: Any,
    place: int,
    begin: int,
    end: int,
) -> None:
    """Take some players of the one trial through a pass."""
    view = View(trials[0], shared, mail, place, out[place])
    for n in range(begin, end):
        g = 1 - settle_half(view.trial, rows, n)
        state = State(
            rows.alive[n, g], rows.pulls[n, g], rows.sums[n, g], rows.ints[n, g], rows.floats[n, g]
        )
        visit(setup, view, players, rows, state, rows.voted[n, g], n, n)


def end_pass(
    setup: Setup,
    trials: Any,
    tally: Any,
    shared: Any,
    mail: Mail,
    needs: Any,
    times: Any,
    slots: Any,
) -> None:
    """What follows from a pass of the one trial."""
    view = View(trials[0], shared, mail, 0, needs)
    passes.end_pass(setup, view, tally, needs, times, slots)


def of_passes(scenario: Scenario) -> dict[Function, Function]:
    """What the functions that passes name stand for."""
    assert scenario.part is not None
    return of_scheme(scenario.algorithm, scenario.part)


def room_for_messages(scenario: Scenario) -> int:
    """Messages of a pass that a place has room for; of more, the window is made shorter."""
    assert scenario.part is not None
    constants = scenario.part.constants(scenario.spec, scenario.n_players)
    return SPARE_MESSAGES + 4 * scenario.part.messages(constants, scenario.spec.n_arms)


def new_mail(places: int, room: int, new: Callable[..., Any] = np.zeros) -> Mail:
    """Buffers for the messages of a pass."""
    return Mail(
        sums=new((places, 3), np.int64),
        ends=new(places, np.float64),
        times=new((places, room), np.float64),
        slots=new((places, room), np.int32),
    )


def new_rows(scenario: Scenario, n_rows: int, new: Callable[..., Any] = np.zeros) -> Rows:
    """Players before the first pass, which starts them; ``half`` and ``moved`` begin at 0."""
    k = scenario.spec.n_arms
    return Rows(
        *new_learners(scenario.algorithm, k, n_rows, 2, new=new),
        voted=new((n_rows, 2, k), np.int8),
        half=new(n_rows, np.int8),
        moved=new(n_rows, np.int8),
    )


class Passes:
    """Trials of one scenario in passes, one after another."""

    def __init__(self, scenario: Scenario, threads: int) -> None:
        self.scenario, self.setup = scenario, new_setup(scenario)
        self.threads = max(1, min(threads, scenario.n_players // ROWS_PER_THREAD))
        given = of_passes(scenario)
        self._sweep = compile_loop(sweep, given, f"sweep_{scenario.algorithm.name}")
        self._end_pass = compile_loop(end_pass, given, f"end_pass_{scenario.scheme.name}")
        self.mail = new_mail(self.threads, room_for_messages(scenario))

    def run(self, seed: int, trial: int) -> Ending:
        """Play one trial to its end."""
        self.start(seed, trial)
        state = self.trials[0]
        with ThreadPoolExecutor(self.threads) as pool:
            while state["phase"] != DONE:
                self.make_pass(pool)
                # A player has one activation in a unit of time, on average.
                samples = int(state["start"] * self.setup.n_players)
                self.scenario.check_goes_on(samples, int(state["broadcasts"]))
        return self._end()

    def start(self, seed: int, trial: int) -> None:
        """The arrays of a trial before its first pass."""
        n, k = self.setup.n_players, self.setup.n_arms
        self.trials = new_trials([trial_key(seed, trial)], k)
        self.tally, self.needs = np.zeros((2, k + 2), dtype=np.int64)
        self.shared = np.ones(k, dtype=np.int8)
        self.out = np.zeros((self.threads, k), dtype=np.int32)
        self.players = np.zeros((n, 2), dtype=PLAYER).view(np.recarray)
        self.rows = new_rows(self.scenario, n)

    def make_pass(self, pool: ThreadPoolExecutor | None) -> None:
        """Take all players through one pass, and decide on it."""
        mail, n, threads = self.mail, self.setup.n_players, self.threads
        mail.sums[:] = 0
        mail.ends[:] = 0

        def take(place: int) -> None:
            own = place, place * n // threads, (place + 1) * n // threads
            given = self.setup, self.trials, self.shared, self.players, self.rows, mail, self.out
            self._sweep(*given, *own)

        list(pool.map(take, range(threads)) if pool and threads > 1 else map(take, range(threads)))
        sent = mail.sums[:, SENT].tolist()
        kept = sent if max(sent) <= mail.times.shape[1] else [0] * threads
        times = np.concatenate([row[:c] for row, c in zip(mail.times, kept, strict=True)])
        slots = np.concatenate([row[:c] for row, c in zip(mail.slots, kept, strict=True)])
        order = np.argsort(times)
        mail.sums[0], mail.ends[0] = mail.sums.sum(axis=0), mail.ends.max()
        self._end_pass(
            *(self.setup, self.trials, self.tally, self.shared, mail, self.needs),
            *(times[order], slots[order]),
        )

    def _end(self) -> Ending:
        trial, rows, k = self.trials[0], self.rows, self.setup.n_arms
        if trial["ended"] == FAULT:
            raise rule_fault(self.scenario.spec.algorithm)
        half = rows.half ^ (rows.moved if trial["commit"] else np.int8(0))
        where = np.arange(self.setup.n_players)
        players, alive = self.players[where, half], rows.alive[where, half]
        totals = [players[name].sum(dtype=np.int64) for name in TOTALS]
        kept = own_answers(alive) if self.setup.alone else players["first_vote"]
        return end_of_passes(
            self.setup, trial, totals, self.tally[:k], self.shared, alive.any(axis=0), kept
        )


TOTALS = ("active", "conflicts", "suboptimal")
"""What is added up over the players of a trial."""


def end_of_passes(
    setup: Setup, trial: Any, totals: Any, tally: Any, shared: Any, held: Any, kept: Any
) -> Ending:
    """How a trial ended.

    ``kept`` has each player's answer where nobody sends anything, else its first vote.
    """
    samples, conflicts, suboptimal = map(int, totals)
    ended = int(trial["ended"])
    return Ending(
        group={
            "time": samples,
            "broadcasts": int(trial["broadcasts"]),
            "conflicts": conflicts,
            "resets": 0,
            "suboptimal": suboptimal,
            "ended": ended or AGREED,
            "decided": samples if ended else int(trial["decided"]),
        },
        tally=tally,
        by_arm=np.zeros((setup.n_arms, 1), dtype=np.int64),
        shared=shared,
        held=held if setup.alone else np.ones(setup.n_arms, dtype=bool),
        first_vote=np.broadcast_to(np.int32(NEVER), setup.n_players) if setup.alone else kept,
        player_answers=kept if setup.alone else (),
    )
