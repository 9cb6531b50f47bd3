"""One trial in passes on the CPU: its arrays, and the threads that share its players."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from devote.rules import State
from devote.simulator import passes
from devote.simulator.compiling import Function, compile_loop, of_scheme
from devote.simulator.errors import rule_fault
from devote.simulator.outcomes import End, own_answers
from devote.simulator.passes import (
    DONE,
    PLAYER,
    TRIAL,
    Mail,
    Rows,
    View,
    current_half,
    visit,
)
from devote.simulator.run import new_learners, new_setup
from devote.simulator.scenario import Scenario
from devote.simulator.streams import trial_key
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
        h = current_half(view.trial, rows, n)
        g = 1 - h
        state = State(
            rows.alive[n, g], rows.pulls[n, g], rows.sums[n, g], rows.ints[n, g], rows.floats[n, g]
        )
        visit(setup, view, players[n, h], players[n, g], rows, state, rows.voted[n, g], h, n, n)


def end_pass(
    setup: Setup,
    trials: Any,
    tally: Any,
    shared: Any,
    mail: Mail,
    needs: Any,
    times: Any,
    slots: Any,
    n: int,
) -> None:
    """What follows from a pass of the one trial."""
    view = View(trials[0], shared, mail, 0, needs)
    passes.end_pass(setup, view, tally, needs, times, slots, n)


def begin(trials: Any, key: Any, n_arms: int) -> None:
    """Before the first pass of the one trial."""
    passes.open_trial(trials[0], key, n_arms)


def of_passes(scenario: Scenario) -> dict[Function, Function]:
    """What the functions that passes name stand for."""
    assert scenario.part is not None
    return of_scheme(scenario.algorithm, scenario.part)


def room_for_messages(scenario: Scenario) -> int:
    """Messages of a pass that a place has room for; of more, the window is made shorter."""
    assert scenario.part is not None
    constants = scenario.part.constants(scenario.spec, scenario.n_players)
    each = scenario.part.messages(constants, scenario.spec.n_arms)
    return SPARE_MESSAGES + 4 * each


def new_mail(places: int, room: int, new: Callable[..., Any] = np.zeros) -> Mail:
    """Empty buffers for the messages of a pass."""
    return Mail(
        counts=new(places, np.int64),
        times=new((places, room), np.float64),
        slots=new((places, room), np.int32),
        ends=new(places, np.float64),
        active=new(places, np.int64),
        faults=new(places, np.int64),
    )


def new_rows(scenario: Scenario, n_rows: int, new: Callable[..., Any] = np.zeros) -> Rows:
    """Players before the first pass, which starts them."""
    k = scenario.spec.n_arms
    return Rows(
        *new_learners(scenario.algorithm, k, n_rows, 2, new=new),
        voted=new((n_rows, 2, k), np.int8),
        half=new(n_rows, np.int8),
        moved=new(n_rows, np.int8),
    )


class PassesPlan:
    """What all trials of a scenario have in common: constants, compiled functions, messages."""

    def __init__(self, scenario: Scenario, threads: int) -> None:
        self.scenario = scenario
        self.threads = max(1, min(threads, scenario.n_players // ROWS_PER_THREAD))
        self.setup = new_setup(scenario)
        given, name = of_passes(scenario), scenario.algorithm.name
        self.sweep = compile_loop(sweep, given, f"sweep_{name}")
        self.end_pass = compile_loop(end_pass, given, f"end_pass_{scenario.scheme.name}")
        self.begin = compile_loop(begin, given, "begin")
        self.mail = new_mail(self.threads, room_for_messages(scenario))
        self.out = np.zeros((self.threads, scenario.spec.n_arms), dtype=np.int32)

    def run(self, seed: int, trial: int) -> End:
        """Play one trial to its end."""
        with ThreadPoolExecutor(self.threads) as pool:
            return PassesRun(self, seed, trial, pool).play()


class PassesRun:
    """One trial in passes."""

    def __init__(self, plan: PassesPlan, seed: int, trial: int, pool: ThreadPoolExecutor) -> None:
        self.plan, self.pool = plan, pool
        k = plan.scenario.spec.n_arms
        self.trials = np.zeros(1, dtype=TRIAL).view(np.recarray)
        self.tally = np.zeros(k + 2, dtype=np.int64)
        self.shared = np.ones(k, dtype=np.int8)
        self.needs = np.zeros(k + 2, dtype=np.int64)
        self.players = np.zeros((plan.scenario.n_players, 2), dtype=PLAYER).view(np.recarray)
        self.rows = new_rows(plan.scenario, plan.scenario.n_players)
        plan.begin(self.trials, np.uint64(trial_key(seed, trial)), k)

    def play(self) -> End:
        """Make passes until the run has ended."""
        trial = self.trials[0]
        while trial["phase"] != DONE:
            self.make_pass()
            # A player has one activation in a unit of time, on average.
            samples = int(trial["start"] * self.plan.setup.n_players)
            self.plan.scenario.check_goes_on(samples, int(trial["broadcasts"]))
        if trial["ended"] == FAULT:
            raise rule_fault(self.plan.scenario.spec.algorithm)
        return self._end()

    def make_pass(self) -> None:
        """Take all players through one pass, and decide on it."""
        plan, mail = self.plan, self.plan.mail
        for counted in (mail.counts, mail.ends, mail.active):
            counted[:] = 0
        n, threads = plan.setup.n_players, plan.threads
        work = [(c, c * n // threads, (c + 1) * n // threads) for c in range(threads)]
        run = self.pool.map if threads > 1 else map
        for _ in run(self._sweep, *zip(*work, strict=True)):
            pass
        mail.ends[0], mail.active[0] = mail.ends.max(), mail.active.sum()
        mail.faults[0] = mail.faults.max()
        fits = (mail.counts <= mail.times.shape[1]).all()
        kept = [int(c) for c in mail.counts] if fits else [0] * threads
        times = np.concatenate([row[:c] for row, c in zip(mail.times, kept, strict=True)])
        slots = np.concatenate([row[:c] for row, c in zip(mail.slots, kept, strict=True)])
        order = np.argsort(times)
        plan.end_pass(
            *(plan.setup, self.trials, self.tally, self.shared, mail, self.needs),
            *(times[order], slots[order], int(mail.counts.sum())),
        )

    def _sweep(self, place: int, begin: int, end: int) -> None:
        plan = self.plan
        plan.sweep(
            *(plan.setup, self.trials, self.shared, self.players, self.rows, plan.mail, plan.out),
            *(place, begin, end),
        )

    def _end(self) -> End:
        trial, rows = self.trials[0], self.rows
        half = rows.half ^ (rows.moved if trial["commit"] else np.int8(0))
        n, k = self.plan.setup.n_players, self.plan.setup.n_arms
        where = np.arange(n)
        players = self.players[where, half]
        held, answers = np.ones(k, dtype=bool), np.zeros(0, dtype=np.int32)
        if self.plan.setup.alone:
            alive = rows.alive[where, half]
            held, answers = alive.any(axis=0), own_answers(alive)
        samples = int(players["active"].sum(dtype=np.int64))
        return End(
            group=end_record(
                ended=int(trial["ended"]),
                broadcasts=int(trial["broadcasts"]),
                decided=int(trial["decided"]),
                samples=samples,
                conflicts=int(players["conflicts"].sum(dtype=np.int64)),
                suboptimal=int(players["suboptimal"].sum(dtype=np.int64)),
            ),
            tally=self.tally[:k],
            by_arm=np.zeros((k, 1), dtype=np.int64),
            shared=self.shared,
            held=held,
            first_vote=players["first_vote"],
            player_answers=answers,
        )


def end_record(
    *, ended: int, broadcasts: int, decided: int, samples: int, conflicts: int, suboptimal: int
) -> dict[str, int]:
    """The numbers of a group at the end of a trial, as in ``workspace.GROUP``."""
    return {
        "time": samples,
        "broadcasts": broadcasts,
        "conflicts": conflicts,
        "resets": 0,
        "suboptimal": suboptimal,
        "ended": ended or AGREED,
        "decided": samples if ended else decided,
    }
