"""The event loop: one pull after another, as in the paper.

Each pull wakes a player, plays and pays an arm, and lets the player learn, by the functions that
devices run: ``compiling`` puts those of the run's subroutine and scheme in the place of the ones of
``part``. So there is no second implementation of a rule here. A call runs through one block
of uniforms, or until the run ends or the trace is full, and can be called again to go on.

Paper: Algorithms 1 and 2.
"""

from typing import Any

from devote.problems import is_suboptimal, pay, pick
from devote.rules import COUNT, RESET, State, start
from devote.simulator.part import (
    apply,
    asks,
    choose,
    enter,
    learn,
    needed,
    observe,
    play,
    reset,
    take,
    wake,
)
from devote.simulator.workspace import (
    ABOUT_ARM,
    AGREED,
    ELIMINATION,
    FAULT,
    OTHER,
    STALLED,
    EventView,
    Setup,
    Tables,
    holds_shared,
    note,
)

AT_ONCE = 4
"""Players whose rows are read together."""

FAR = 8192
"""From so many players on their rows are far away: too many for a fast cache."""


def record(view: EventView, t: float, slot: int) -> None:
    """Count a message at once; ``decide`` applies the decision that it makes, if it does."""
    group, n_arms, tally = view.trial, view.setup.n_arms, view.tables.tally
    if needed(view.setup, group, tally, view.shared, slot) == 1:
        group.pending = 1
    tally[slot] += 1
    if slot <= n_arms:
        group.broadcasts += 1
        if slot < n_arms:
            note(view, ABOUT_ARM, slot)
        else:
            note(view, OTHER, -1)


def decide(setup: Setup, view: EventView, learners: Any) -> None:
    """Apply what messages have decided; whom that settles may decide more."""
    group, tables = view.trial, view.tables
    while group.pending:
        group.pending = 0
        version = group.version
        apply(setup, group, tables.tally, view.shared)
        for k in range(setup.n_arms):
            if tables.before[k] and not view.shared[k]:
                note(view, ELIMINATION, k)
            tables.before[k] = view.shared[k]
        if group.version != version and not setup.one_learner:
            for n in range(setup.n_players):
                enter(setup, view, tables.players[n], tables.voted[n])
    if group.decided == 0 and (group.n_shared == 1 or group.ended == STALLED):
        group.decided = group.time + 1
    if group.n_shared == 1 and not setup.one_learner:
        group.holding = 0
        for n in range(setup.n_players):
            group.holding += holds_shared(learners.alive[n], view.shared)


def pull(
    setup: Setup,
    learners: Any,
    tables: Tables,
    row: int,
    place: int,
    u_choose: float,
    u_pay: float,
    u_noise: float,
) -> int:
    """One activation of the player at a place, whose learner is in this row; the arm it plays."""
    group, player = tables.groups[0], tables.players[place]
    view = EventView(group, tables.shared, tables.out, setup, tables, place)
    state = State(
        learners.alive[row],
        learners.pulls[row],
        learners.sums[row],
        learners.ints[row],
        learners.floats[row],
    )
    subroutine = (setup.rule, choose, observe, asks)
    when = 0 if setup.steady else group.time
    one_shared = group.n_shared == 1 and not setup.one_learner
    held = holds_shared(state.alive, view.shared) if one_shared else 0
    was_done = 1 if state.ints[COUNT] == 1 else 0
    active = player.active + 1
    player.active = active
    if player.term != group.term:
        player.term = group.term
        start(state)
    wake(setup, view, state, player, active, u_noise, when)
    arm = play(subroutine, view, state, player, u_choose)
    if arm < 0 or arm >= setup.n_arms:
        group.ended = FAULT
        return 0
    if setup.steady:
        group.suboptimal += 1 - setup.good[arm]
    else:
        group.suboptimal += is_suboptimal(setup.env, setup.epsilon, when, place, arm)
    reward = pay(setup.env, when, place, arm, u_pay)
    n_out = take(subroutine, view, state, player, arm, reward, u_noise)
    if n_out != 0:
        if n_out < RESET or n_out > setup.n_arms:
            group.ended = FAULT
            return arm
        if n_out == RESET:
            group.resets += 1
            reset(setup, view)
        else:
            learn(setup, view, state, player, tables.voted[row], active, n_out, when)
    if group.pending:
        decide(setup, view, learners)
    elif one_shared:
        group.holding += holds_shared(state.alive, view.shared) - held
    group.time += 1
    if setup.alone:
        group.done += (1 if state.ints[COUNT] == 1 else 0) - was_done
        group.ended = AGREED if group.done == len(learners.alive) else 0
    elif group.n_shared == 1:
        group.ended = AGREED if group.holding == setup.n_players else 0
    return arm


def is_over(setup: Setup, group: Any) -> bool:
    """Whether a run makes no more pulls, whatever its horizon."""
    return bool(group.ended and (not setup.endless or group.ended == FAULT))


def waker(setup: Setup, u: float) -> int:
    """The player that a uniform wakes."""
    if setup.even:
        return int(u * setup.n_players)
    return pick(setup.threshold, setup.alias, u)


def loop(
    setup: Setup,
    learners: Any,
    tables: Tables,
    u_wake: Any,
    u_choose: Any,
    u_pay: Any,
    u_noise: Any,
) -> None:
    """Make one pull per uniform, until the run ends."""
    group = tables.groups[0]
    is_far = len(learners.alive) >= FAR
    room = len(tables.events) - 2 * setup.n_arms - 2
    n_pulls = len(u_wake)
    for i in range(n_pulls):
        if is_far and i % AT_ONCE == 0:
            group.touched = 0
            for j in range(i, min(i + AT_ONCE, n_pulls)):
                group.touched += touch(learners, tables, waker(setup, u_wake[j]))
        place = waker(setup, u_wake[i])
        row = 0 if setup.one_learner else place
        bad, sent = group.suboptimal, group.broadcasts
        arm = pull(setup, learners, tables, row, place, u_choose[i], u_pay[i], u_noise[i])
        if setup.counting:
            of = setup.env.groups[place] if setup.env.n_groups > 1 else 0
            tables.by_group[of, 0] += group.suboptimal - bad
            tables.by_group[of, 1] += group.broadcasts - sent
            tables.arm_pulls[arm] += 1
            tables.player_pulls[place] += 1
        if is_over(setup, group) or (setup.tracing and group.n_events > room):
            return


def touch(learners: Any, tables: Tables, player: int) -> int:
    """Read a word of each row of a player, so that the pulls that follow find them in the cache.

    The reads of several players overlap, those of the pulls themselves would not: with 65,536
    players the loop is almost twice as fast.
    """
    ints, sums = learners.ints[player], learners.sums[player]
    found: int = tables.players[player].active + learners.alive[player, 0]
    found += ints[0] + ints[len(ints) - 1] + int(sums[0] + sums[len(sums) - 1])
    return found
