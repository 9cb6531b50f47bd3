"""Where every pull concerns all: the event loop itself, a thread for each trial.

That is so where all players share one learner. The loop is that of ``loop.make_loop``, fed with the
clocks of all players merged into one.
"""

from collections.abc import Callable

from numba import cuda

from devote.kernels import Algorithm, State
from devote.kernels.tables import ACTIVE, ENDED, SUBOPTIMAL, TIME, Arena
from devote.problems import is_suboptimal, pay, pick
from devote.protocol.engine import Engine
from devote.simulate.engine.gpu.in_order import CHOOSE, NOISE, PAY, WAKE
from devote.simulate.engine.numbers import unit, word_at


def make_events(algorithm: Algorithm, engine: Engine, known: int) -> Callable[..., None]:
    """The kernel that makes up to ``most`` pulls of each trial."""
    wake, learn, ended = engine.wake, engine.learn, engine.ended
    one_learner, apart = engine.one_learner, engine.apart or not engine.one_learner
    play, take, choose, observe = engine.choose, engine.observe, algorithm.choose, algorithm.observe
    asks = algorithm.asks

    def events(  # type: ignore[no-untyped-def]
        env, rule, waking, setting, shape, learners, tables, keys, most, busy
    ):
        trial = cuda.grid(1)
        if trial >= shape.n_trials or tables.counters[trial, ENDED] != 0:
            return
        counters = tables.counters[trial]
        threshold, alias = waking
        arena = Arena(
            shape.n_players,
            setting.epsilon,
            setting.endless,
            int(len(alias) == 1),
            0,
            setting.steady,
            0,
            0,
            setting.scheme,
            counters,
            learners.alive[trial],
            tables.own[trial],
            tables.voted[trial],
            tables.first_vote[trial],
            tables.tally[trial],
            tables.by_arm[trial],
            tables.shared[trial],
            tables.before[trial],
            tables.out[trial],
            setting.good,
            setting.events,
            setting.good,
            setting.good,
        )
        subroutine = (rule, choose, observe, asks)
        suboptimal = 0
        begin = counters[TIME]
        end = begin + most
        if 0 < setting.horizon < end:
            end = setting.horizon
        t = begin
        going = True
        while going and t < end:
            u = unit(word_at(keys[trial, WAKE], t))
            player = int(u * shape.n_players) if arena.even else pick(threshold, alias, u)
            row = 0 if one_learner else player
            n = player if apart else 0
            state = State(
                learners.alive[trial, row],
                learners.pulls[trial, row],
                learners.sums[trial, row],
                learners.ints[trial, row],
                learners.floats[trial, row],
            )
            counters[TIME] = t
            arena.own[n, ACTIVE] += 1
            noise = unit(word_at(keys[trial, NOISE], t)) if setting.noisy else 0.0
            wake(arena, state, n, noise)
            arm = play(subroutine, arena, state, n, unit(word_at(keys[trial, CHOOSE], t)))
            if arena.steady:
                suboptimal += 1 - arena.good[arm]
            else:
                suboptimal += is_suboptimal(env, arena.epsilon, t, player, arm)
            reward = pay(env, t, player, arm, unit(word_at(keys[trial, PAY], t)))
            n_out = take(subroutine, arena, state, n, arm, reward, noise)
            if n_out != 0:
                learn(arena, state, n, n_out)
            t += 1
            if setting.endless == 0:
                counters[ENDED] = ended(arena)
                going = counters[ENDED] == 0
        counters[TIME] = t
        counters[SUBOPTIMAL] += suboptimal
        if known < 0 or (going and (setting.horizon == 0 or t < setting.horizon)):
            busy[0] = 1

    return events
