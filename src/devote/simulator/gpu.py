"""Many trials at once on an NVIDIA GPU, with the functions that the CPU runs.

Passes have a thread for each player of each trial (``passes``). What passes cannot run, as every
pull concerns all players or rewards change with time, has a thread for each trial, which makes one
pull after another (``loop``) with counted random numbers.

With ``NUMBA_ENABLE_CUDASIM=1`` numba's simulator runs the same kernels in plain Python.
"""

import warnings
from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from devote.protocol import SpecError
from devote.rules import State
from devote.simulator import loop as event
from devote.simulator import passes
from devote.simulator.block import Block
from devote.simulator.compiling import Function, Linker, of_event_loop
from devote.simulator.errors import SweepError, rule_fault
from devote.simulator.numbers import CHOOSE, GAP, NOISE, PAY, uniform
from devote.simulator.outcomes import block_of
from devote.simulator.part import Ending
from devote.simulator.passes import (
    ACTIVE,
    DONE,
    PLAYER,
    SENT,
    View,
    end_pass,
    new_trials,
    settle_half,
    visit,
)
from devote.simulator.passes_run import (
    TOTALS,
    end_of_passes,
    new_mail,
    new_rows,
    of_passes,
    room_for_messages,
)
from devote.simulator.run import Run, end_of, new_setup
from devote.simulator.scenario import Scenario
from devote.simulator.streams import trial_key
from devote.simulator.trial import NEVER
from devote.simulator.trials import bytes_per_player
from devote.simulator.workspace import FAULT, Tables

try:
    from numba import cuda
except ImportError:  # ``check_device`` says so
    cuda = None

REMEDY = "Use engine passes or event, or a machine with an NVIDIA GPU."
THREADS = 128
PASSES_AT_ONCE = 4
"""Passes between two looks at whether trials are left."""

PULLS_AT_ONCE = 100_000
"""Pulls of a trial between two looks."""

SHARE_OF_MEMORY = 0.8
PER_TRIAL = 4096
"""Bytes of a trial beside its players and messages."""


def check_device() -> None:
    """Refuse if there is no device, no driver, or no compiler for it."""
    if why := why_no_device():
        raise SpecError(f"engine='cuda' cannot run here: {why}.\n{REMEDY}")


@cache
def why_no_device() -> str:
    """Why nothing can run on a device; empty if it can."""
    if cuda is None:
        return "numba-cuda is not installed (pip install 'devote[gpu]')"
    try:
        if not cuda.is_available():
            return "there is no NVIDIA GPU, or no driver for it"
        cuda.current_context()
    except Exception as error:  # whatever a driver that does not work may raise
        return f"the NVIDIA driver does not work ({type(error).__name__})"
    return ""


def free_bytes() -> int:
    """How much memory of the device is free."""
    free = cuda.current_context().get_memory_info()[0]
    return 1 << 30 if free == float("inf") else int(free)  # the simulator has no limit


def run_on_device(
    scenario: Scenario, seed: int, trials: Sequence[int]
) -> Iterator[tuple[Sequence[int], Block]]:
    """Trials and what they came to, as many at once as there is room for."""
    check_device()
    run = _run_pulls if scenario.why_no_passes else _run_passes
    each = bytes_per_player(scenario) * scenario.n_players + PER_TRIAL
    if not scenario.why_no_passes:
        each += 24 * room_for_messages(scenario)
    size = int(SHARE_OF_MEMORY * free_bytes()) // each
    if size < 1:
        raise SweepError(
            f"A trial of {scenario.n_players:,} players takes {each / 2**30:,.1f} GiB of the GPU's "
            f"memory, and {free_bytes() / 2**30:,.1f} GiB are free.\nUse fewer players."
        )
    for begin in range(0, len(trials), size):
        some = trials[begin : begin + size]
        with warnings.catch_warnings():
            # A small grid is what was asked for.
            warnings.filterwarnings("ignore", message="Grid size")
            yield some, block_of(scenario, run(scenario, seed, some))


def atomic_add(array: Any, place: int, column: int, value: int) -> int:
    """In place of ``passes.add_at``."""
    before: int = cuda.atomic.add(array, (place, column), value)
    return before


def atomic_raise(array: Any, place: int, value: float) -> None:
    """In place of ``passes.raise_at``."""
    cuda.atomic.max(array, place, value)


ATOMIC: dict[Function, Function] = {passes.add_at: atomic_add, passes.raise_at: atomic_raise}


def _device_function(function: Function) -> Function:
    made: Function = cuda.jit(device=True)(function)
    return made


_kernels: dict[str, Any] = {}
"""Kernels by the key of their code."""


def kernel(function: Function, given: dict[Function, Function]) -> Any:
    """A kernel, which numba compiles for the types of each first launch."""
    linked, key = Linker(_device_function, given | ATOMIC).link(function)
    if key not in _kernels:
        _kernels[key] = cuda.jit(linked)
    return _kernels[key]


def sweep_kernel(n_arms: int, n_ints: int, n_floats: int) -> Function:
    """A pass, for learners of this size: a thread's own arrays have fixed lengths."""

    def sweep(setup: Any, trials: Any, players: Any, shared: Any, rows: Any, mail: Any) -> None:
        row = cuda.grid(1)
        if row >= len(rows.half):
            return
        place = row // setup.n_players
        if trials[place].phase == DONE:
            return
        out = cuda.local.array(n_arms, np.int32)
        view = View(trials[place], shared[place], mail, place, out)
        state = State(
            cuda.local.array(n_arms, np.int8),
            cuda.local.array(n_arms, np.int32),
            cuda.local.array(n_arms, np.float64),
            cuda.local.array(n_ints, np.int32),
            cuda.local.array(n_floats, np.float64),
        )
        voted = cuda.local.array(n_arms, np.int8)
        g = 1 - settle_half(view.trial, rows, row)
        if visit(setup, view, players, rows, state, voted, row, row % setup.n_players):
            for k in range(n_arms):
                rows.alive[row, g, k] = state.alive[k]
                rows.pulls[row, g, k] = state.pulls[k]
                rows.sums[row, g, k] = state.sums[k]
                rows.voted[row, g, k] = voted[k]
            for i in range(n_ints):
                rows.ints[row, g, i] = state.ints[i]
            for i in range(n_floats):
                rows.floats[row, g, i] = state.floats[i]

    return sweep


def sort_kernel(sums: Any, sent_times: Any, sent_slots: Any, times: Any, slots: Any) -> None:
    """Put the messages of each trial in the order of time, a thread for each place of a message."""
    place, i = cuda.grid(2)
    n = min(sums[place, SENT], times.shape[1])
    if i >= n:
        return
    t, rank = sent_times[place, i], 0
    for j in range(n):
        other = sent_times[place, j]
        if other < t or (other == t and j < i):
            rank += 1
    times[place, rank] = t
    slots[place, rank] = sent_slots[place, i]


def decide_kernel(
    setup: Any,
    trials: Any,
    tally: Any,
    shared: Any,
    mail: Any,
    times: Any,
    slots: Any,
    needs: Any,
) -> None:
    """What follows from a pass, a thread for each trial."""
    place = cuda.grid(1)
    if place >= len(trials) or trials[place].phase == DONE:
        return
    view = View(trials[place], shared[place], mail, place, needs[place])
    end_pass(setup, view, tally[place], needs[place], times[place], slots[place])
    mail.sums[place, SENT] = mail.sums[place, ACTIVE] = 0
    mail.ends[place] = 0.0


def gather_kernel(
    trials: Any, players: Any, rows: Any, n_players: int, totals: Any, held: Any, by_player: Any
) -> None:
    """Add up what players did, a thread for each; ``held`` marks the arms that somebody holds.

    ``by_player`` gets the first vote of each player, and its one remaining arm or -1.
    """
    row = cuda.grid(1)
    if row >= len(rows.half):
        return
    place = row // n_players
    h = settle_half(trials[place], rows, row)
    player = players[row, h]
    by_player[0, row] = player.first_vote
    cuda.atomic.add(totals, (place, 0), player.active)
    cuda.atomic.add(totals, (place, 1), player.conflicts)
    cuda.atomic.add(totals, (place, 2), player.suboptimal)
    n_held = 0
    for k in range(held.shape[1]):
        if rows.alive[row, h, k]:
            held[place, k] = 1
            n_held += 1
            by_player[1, row] = k if n_held == 1 else NEVER


def _run_passes(scenario: Scenario, seed: int, trials: Sequence[int]) -> list[Ending]:
    """Trials in passes."""
    setup, given = new_setup(scenario), of_passes(scenario)
    n_trials, n, k = len(trials), scenario.n_players, scenario.spec.n_arms
    n_rows, room = n_trials * n, room_for_messages(scenario)
    rows = new_rows(scenario, n_rows, partial(cuda.device_array, order="F"))
    rows = rows._replace(half=_zeros(n_rows, kind=np.int8), moved=_zeros(n_rows, kind=np.int8))
    players = cuda.device_array((n_rows, 2), PLAYER, order="F")
    mail = new_mail(n_trials, room, cuda.device_array)
    mail = mail._replace(sums=_zeros(n_trials, 3, kind=np.int64), ends=_zeros(n_trials))
    times, slots = cuda.device_array_like(mail.times), cuda.device_array_like(mail.slots)
    # Arrays cost a launch 12 microseconds each, so no kernel gets any that it does not read.
    setup = _setup_to_device(setup._replace(threshold=0, alias=0))
    alike = setup._replace(env=0, spans=0, good=0)
    states = cuda.to_device(new_trials([trial_key(seed, trial) for trial in trials], k))
    shared = cuda.to_device(np.ones((n_trials, k), np.int8))
    tally, needs = _zeros(n_trials, k + 2, kind=np.int64), _zeros(n_trials, k + 2, kind=np.int64)
    per_row = (n_rows + THREADS - 1) // THREADS, THREADS
    per_trial = (n_trials + 31) // 32, 32
    per_message = (n_trials, (room + THREADS - 1) // THREADS), (1, THREADS)
    sweep = kernel(sweep_kernel(k, rows.ints.shape[2], rows.floats.shape[2]), given)
    order, decide = kernel(sort_kernel, given), kernel(decide_kernel, given)
    while True:
        for _ in range(PASSES_AT_ONCE):
            sweep[per_row](setup, states, players, shared, rows, mail)
            order[per_message](mail.sums, mail.times, mail.slots, times, slots)
            decide[per_trial](alike, states, tally, shared, mail, times, slots, needs)
        reached = states.copy_to_host()
        if (reached["phase"] == DONE).all():
            break
        samples = int(reached["start"].max() * n)
        scenario.check_goes_on(samples, int(reached["broadcasts"].max()))
    if (reached["ended"] == FAULT).any():
        raise rule_fault(scenario.spec.algorithm)
    totals, held = _zeros(n_trials, len(TOTALS), kind=np.int64), _zeros(n_trials, k, kind=np.int8)
    by_player = cuda.device_array((2, n_rows), np.int32)
    kernel(gather_kernel, given)[per_row](states, players, rows, n, totals, held, by_player)
    kept = by_player[1 if setup.alone else 0].copy_to_host().reshape(n_trials, n)
    ends = zip(
        *(reached, totals.copy_to_host().tolist(), tally.copy_to_host()[:, :k]),
        *(shared.copy_to_host(), held.copy_to_host() != 0, kept),
        strict=True,
    )
    return [end_of_passes(setup, *end) for end in ends]


def pull_kernel(
    setup: Any,
    learners: Any,
    groups: Any,
    players: Any,
    tables: Any,
    keys: Any,
    horizon: int,
    most: int,
) -> None:
    """Up to ``most`` pulls of a trial, a thread for each."""
    place = cuda.grid(1)
    if place >= len(keys):
        return
    own = State(
        learners.alive[place],
        learners.pulls[place],
        learners.sums[place],
        learners.ints[place],
        learners.floats[place],
    )
    mine = Tables(
        groups[place],
        players[place],
        tables.voted[place],
        tables.tally[place],
        tables.by_arm[place],
        tables.shared[place],
        tables.before[place],
        tables.out[place],
        tables.events[0],
        tables.arm_pulls[0],
        tables.player_pulls[0],
        tables.by_group[0],
    )
    group = groups[place, 0]
    key = keys[place]
    for _ in range(most):
        if event.is_over(setup, group) or group.time >= horizon:
            return
        i = group.time
        player = event.waker(setup, uniform(key, i, GAP))
        row = 0 if setup.one_learner else player
        event.pull(
            setup,
            own,
            mine,
            row,
            player,
            uniform(key, i, CHOOSE),
            uniform(key, i, PAY),
            uniform(key, i, NOISE),
        )


def _run_pulls(scenario: Scenario, seed: int, trials: Sequence[int]) -> list[Ending]:
    """Trials pull by pull."""
    first, n_trials = Run(scenario), len(trials)
    tables, log = first.tables, first.tables.voted
    if first.part.keeps_log:  # which cannot grow on a device
        each = first.part.messages_of_a_player(first.setup.scheme)
        log = np.zeros((scenario.n_players * each, log.shape[1]), dtype=np.int8)
    here = tables._replace(voted=log)
    on_device = Tables(*(cuda.to_device(np.stack([array] * n_trials)) for array in here))
    # Records are passed to a kernel as arrays of their own: the simulator wants it.
    plain = on_device._replace(groups=0, players=0)
    learners: Any = State(
        *(cuda.to_device(np.stack([array] * n_trials)) for array in first.learners)
    )
    setup = _setup_to_device(first.setup)
    keys = np.array([trial_key(seed, trial) for trial in trials], dtype=np.uint64)
    launch = kernel(pull_kernel, of_event_loop(scenario.algorithm, first.part))
    per_trial = (n_trials + 31) // 32, 32
    horizon = scenario.horizon or np.iinfo(np.int64).max
    keys_there = cuda.to_device(keys)
    while True:
        launch[per_trial](
            *(setup, learners, on_device.groups, on_device.players, plain),
            *(keys_there, horizon, PULLS_AT_ONCE),
        )
        groups = on_device.groups.copy_to_host()[:, 0]
        ended = (groups["ended"] == FAULT) | ((groups["ended"] != 0) & (setup.endless == 0))
        going = groups[~ended & (groups["time"] < horizon)]
        if not len(going):
            break
        scenario.check_goes_on(int(going["time"].max()), int(going["broadcasts"].min()))
    if (groups["ended"] == FAULT).any():
        raise rule_fault(scenario.spec.algorithm)
    ended = [array.copy_to_host() for array in on_device]
    learned = [array.copy_to_host() for array in learners]
    return [
        end_of(
            first.part,
            first.setup,
            State(*(array[i] for array in learned)),
            Tables(*(array[i] for array in ended)),
        )
        for i in range(n_trials)
    ]


def _zeros(*shape: int, kind: Any = np.float64) -> Any:
    return cuda.to_device(np.zeros(shape, kind))


def _to_device(values: Any) -> Any:
    """A buffer on the device; a single number travels with each launch."""
    return cuda.to_device(values) if len(values) > 1 else tuple(values.tolist())


def _setup_to_device(record: Any) -> Any:
    """The constants of a run, with all arrays on the device, those of tuples inside too."""
    values = {}
    for name, value in record._asdict().items():
        if isinstance(value, np.ndarray):
            values[name] = _to_device(value)
        elif hasattr(value, "_asdict"):
            values[name] = _setup_to_device(value)
    return record._replace(**values)
