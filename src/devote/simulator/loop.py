"""The event loop: who wakes, what is played and paid, calling the functions that devices run.

The functions of the subroutine and of the scheme's part that are declared first stand for those of
the run at hand: ``compiling`` puts these in their place. So there is no second implementation of
a rule here. A call runs through one block of uniforms, or until the run ends or the trace is full,
and can be called again to go on.

Paper: Algorithms 1 and 2.
"""

from typing import Any

from devote.problems import is_suboptimal, pay, pick
from devote.rules import RESET, Rule, State
from devote.simulator.workspace import FAULT, Game, Setup, Tables, Workspace

AT_ONCE = 4
"""Players whose rows are read together."""


def choose(rule: Rule, state: State, u: float) -> int:
    """The subroutine's ``choose``."""
    raise NotImplementedError


def observe(rule: Rule, state: State, arm: int, reward: float, out: Any) -> int:
    """The subroutine's ``observe``."""
    raise NotImplementedError


def asks(rule: Rule, state: State, arm: int) -> bool:
    """The subroutine's ``asks``."""
    raise NotImplementedError


def wake(work: Workspace, state: State, player: int, noise: float) -> None:
    """The scheme's: what a player does before it plays."""
    raise NotImplementedError


def play(subroutine: Any, work: Workspace, state: State, player: int, u: float) -> int:
    """The scheme's: which arm is played."""
    raise NotImplementedError


def take(
    subroutine: Any,
    work: Workspace,
    state: State,
    player: int,
    arm: int,
    reward: float,
    noise: float,
) -> int:
    """The scheme's: learn from a reward; returns how many arms it eliminates, or RESET."""
    raise NotImplementedError


def learn(work: Workspace, state: State, player: int, n_out: int) -> None:
    """The scheme's: what follows from an elimination or a reset."""
    raise NotImplementedError


def ended(work: Workspace) -> int:
    """The scheme's: AGREED, STALLED or 0; a scheme may have codes of its own above FAULT."""
    raise NotImplementedError


def pull(
    game: Game,
    setup: Setup,
    learners: Any,
    tables: Tables,
    row: int,
    player: int,
    u_choose: float,
    u_pay: float,
    u_noise: float,
) -> int:
    """One activation of a player, whose learner is in this row; returns the arm it played."""
    group = tables.groups[0]
    work = Workspace(
        group,
        tables.players,
        learners.alive,
        tables.voted,
        tables.tally,
        tables.by_arm,
        tables.shared,
        tables.before,
        tables.out,
        tables.events,
        game.scheme,
        setup.n_players,
        setup.tracing,
    )
    state = State(
        learners.alive[row],
        learners.pulls[row],
        learners.sums[row],
        learners.ints[row],
        learners.floats[row],
    )
    subroutine = (game.rule, choose, observe, asks)
    work.players[player].active += 1
    wake(work, state, player, u_noise)
    arm = play(subroutine, work, state, player, u_choose)
    if arm < 0 or arm >= len(work.tally):
        group.ended = FAULT
        return 0
    if setup.steady:
        group.suboptimal += 1 - game.good[arm]
    else:
        group.suboptimal += is_suboptimal(game.env, setup.epsilon, group.time, player, arm)
    reward = pay(game.env, group.time, player, arm, u_pay)
    n_out = take(subroutine, work, state, player, arm, reward, u_noise)
    if n_out != 0:
        if n_out < RESET or n_out > len(work.tally):
            group.ended = FAULT
            return arm
        learn(work, state, player, n_out)
    group.time += 1
    if not setup.endless:
        group.ended = ended(work)
    return arm


def waker(game: Game, setup: Setup, u: float) -> int:
    """The player that a uniform wakes."""
    if setup.even:
        return int(u * setup.n_players)
    return pick(game.threshold, game.alias, u)


def loop(
    game: Game,
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
    one_learner = len(learners.alive) < setup.n_players
    room = len(tables.events) - 2 * len(tables.tally) - 2
    n_pulls = len(u_wake)
    begin = 0
    while begin < n_pulls and not group.ended:
        end = min(begin + AT_ONCE, n_pulls)
        if not one_learner:
            group.touched = 0
            for i in range(begin, end):
                group.touched += touch(learners, tables, waker(game, setup, u_wake[i]))
        for i in range(begin, end):
            player = waker(game, setup, u_wake[i])
            row = 0 if one_learner else player
            arm = pull(
                game, setup, learners, tables, row, player, u_choose[i], u_pay[i], u_noise[i]
            )
            if setup.counting:
                tables.arm_pulls[arm] += 1
                tables.player_pulls[player] += 1
            if group.ended:
                return
            if setup.tracing and group.n_events > room:
                return
        begin = end


def touch(learners: Any, tables: Tables, player: int) -> int:
    """Read a word of each row of a player, so that the pulls that follow find them in the cache.

    The reads of several players overlap, those of the pulls themselves would not: with 65,536
    players the loop is three times as fast.
    """
    ints, sums = learners.ints[player], learners.sums[player]
    found: int = tables.players[player].active + learners.alive[player, 0]
    found += ints[0] + ints[len(ints) - 1] + int(sums[0] + sums[len(sums) - 1])
    return found
